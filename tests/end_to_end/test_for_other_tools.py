"""What other tools are given: SARIF logs, diagrams, traces, GitHub's annotations and summaries."""

from __future__ import annotations

import json
from pathlib import Path

import pysarif

from tests.end_to_end.conftest import Folder
from tests.end_to_end.programs import LOCKED, LOST_UPDATE


def test_explain_prints_the_formats(folder: Folder) -> None:
    file = folder.write_failing("test_counter.py", LOST_UPDATE, "test_counter:test_add")
    trace = json.loads(folder.bohrbug("explain", "--format", "trace-events", str(file)).out)
    lanes = [each for each in trace["traceEvents"] if each["name"] == "thread_name"]
    assert len(lanes) == 3
    assert folder.bohrbug("explain", "--format=mermaid", str(file)).out.startswith("---\ntitle: ")
    log = folder.path / "one.sarif"
    log.write_text(folder.bohrbug("explain", "--format=sarif", str(file)).out, "utf-8")
    assert len(pysarif.load_from_file(log).runs[0].results) == 1
    page = folder.path / "page.html"
    folder.bohrbug("explain", "--format=mermaid", "--html", str(page), str(file))
    assert page.read_text("utf-8").startswith("<!doctype html>")
    refused = folder.bohrbug("explain", "--format=pdf", str(file))
    assert refused.code == 2
    assert "'trace-events'" in refused.err


def test_a_session_writes_its_failures_as_sarif(folder: Folder) -> None:
    folder.write("test_counter.py", LOST_UPDATE)
    folder.write("test_locks.py", LOCKED)
    done = folder.pytest("--bohrbug", "--bohrbug-sarif=logs/out.sarif")
    assert done.code == 1
    (run,) = pysarif.load_from_file(folder.path / "logs" / "out.sarif").runs
    (result,) = run.results
    assert "bohrbug replay " in result.message.text
    place = result.locations[0].physical_location
    assert place.artifact_location.uri == "test_counter.py"
    assert place.artifact_location.uri_base_id in run.original_uri_base_ids


def test_a_session_that_passes_clears_the_log(folder: Folder) -> None:
    folder.write("test_locks.py", LOCKED)
    folder.pytest("--bohrbug", "--bohrbug-sarif=out.sarif")
    assert pysarif.load_from_file(folder.path / "out.sarif").runs[0].results == []


def test_a_log_that_can_not_be_written_is_told(folder: Folder) -> None:
    folder.write("test_locks.py", LOCKED)
    done = folder.pytest("--bohrbug", "--bohrbug-sarif=test_locks.py/out.sarif")
    assert "bohrbug: " in done.out
    assert "test_locks.py" in done.out
    assert done.code == 0


def test_github_actions_gets_annotations_and_a_summary(folder: Folder, tmp_path: Path) -> None:
    folder.write("test_counter.py", f"def test_alone(): pass\n\n{LOST_UPDATE}")
    summary = tmp_path / "summary.md"
    folder.environment["GITHUB_STEP_SUMMARY"] = str(summary)
    folder.pytest("--bohrbug")
    assert not summary.exists()
    folder.environment["GITHUB_ACTIONS"] = "true"
    done = folder.pytest("--bohrbug", "-n", "2", "-p", "xdist")
    (line,) = [line for line in done.lines if line.startswith("::error ")]
    assert "file=test_counter.py,line=" in line
    text = summary.read_text("utf-8")
    assert text.startswith("## Bohrbug\n\n1 failed · 1 holds\n")
    assert "sequenceDiagram" in text
