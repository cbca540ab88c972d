"""Failures for other tools: trace-event JSON, SARIF, Mermaid, GitHub Actions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pysarif
import pytest

from bohrbug.exploration.result import Failure
from bohrbug.report.formats import FORMATS, in_format
from bohrbug.report.formats.github import annotated_lines, summary
from bohrbug.report.formats.mermaid import mermaid
from bohrbug.report.formats.sarif import sarif
from bohrbug.report.formats.told import Told
from bohrbug.report.formats.trace_events import STEP, trace_events
from tests.unit.report_samples import GOLD, lock_cycle, lost_notify, lost_update

HOSTILE = 'a"b <script>alert(1)</script> `x` %0A::error::; #1 \n next\\'


@pytest.fixture(params=[lost_update, lock_cycle, lost_notify])
def failure(request: pytest.FixtureRequest) -> Failure:
    made: Failure = request.param()
    return made


def events_of(failure: Failure, phase: str) -> list[dict[str, Any]]:
    document = json.loads(trace_events(failure, "a test"))
    return [event for event in document["traceEvents"] if event["ph"] == phase]


# -- trace-event JSON ------------------------------------------------------------------


def test_each_step_is_a_slice_in_the_lane_of_its_task(failure: Failure) -> None:
    trace = failure.trace
    slices = [event for event in events_of(failure, "X") if event["cat"] != "waits"]
    lanes = {
        event["args"]["name"].split()[1]: event["tid"]
        for event in events_of(failure, "M")
        if event["name"] == "thread_name"
    }
    assert [event["ts"] for event in slices] == [step * STEP for step in range(len(trace))]
    assert [event["tid"] for event in slices] == [lanes[task] for task in trace.tasks]
    assert [event["cat"] for event in slices] == [each.kind.name for each in trace.operations]
    assert all(event["dur"] < STEP for event in slices)


def test_preemptions_and_the_failure_are_instants(failure: Failure) -> None:
    instants = events_of(failure, "i")
    preempted = [event["ts"] for event in instants if event["cat"] == "preemption"]
    assert preempted == [step * STEP - 1 for step in failure.trace.preemptions()]
    assert [event["cat"] for event in instants].count("failure") == 1


def test_arrows_join_steps_of_two_tasks_in_their_order(failure: Failure) -> None:
    starts = {event["id"]: event for event in events_of(failure, "s")}
    ends = {event["id"]: event for event in events_of(failure, "f")}
    assert starts
    assert starts.keys() == ends.keys()
    operations = failure.trace.operations
    for id, start in starts.items():
        assert start["ts"] < ends[id]["ts"]
        assert start["tid"] != ends[id]["tid"]
        before, after = operations[start["ts"] // STEP], operations[ends[id]["ts"] // STEP]
        assert before.resource == after.resource or before.kind.name == "spawn"
        assert before.kind.is_write or after.kind.is_write


def test_who_waits_at_the_end_waits_until_then() -> None:
    failure = lock_cycle()
    waits = [event for event in events_of(failure, "X") if event["cat"] == "waits"]
    assert len(waits) == len(failure.trace.final_pending) > 1
    assert {event["ts"] + event["dur"] for event in waits} == {(len(failure.trace) + 1) * STEP}
    assert all(event["name"].startswith("waits for ") for event in waits)


# -- SARIF -------------------------------------------------------------------------------


def read(text: str, folder: Path) -> Any:
    path = folder / "log.sarif"
    path.write_text(text, encoding="utf-8")
    return pysarif.load_from_file(path)


def test_a_failure_is_a_result_with_a_flow_for_each_task(failure: Failure, tmp_path: Path) -> None:
    run = read(sarif([Told(failure, "a test", "bohrbug replay x")], GOLD), tmp_path).runs[0]
    (result,) = run.results
    assert run.tool.driver.rules[result.rule_index].id == result.rule_id
    assert result.message.text.startswith("a test: ")
    assert result.message.text.endswith("Replay: bohrbug replay x")
    flows = result.code_flows[0].thread_flows
    assert [flow.id for flow in flows] == sorted({*failure.trace.tasks} & {f.id for f in flows})
    orders = [location.execution_order for flow in flows for location in flow.locations]
    assert len(orders) == len(set(orders))
    for flow in flows:
        own = [location.execution_order for location in flow.locations]
        assert own == sorted(own)
        assert {failure.trace.tasks[order - 1] for order in own} == {flow.id}


def test_steps_that_matter_are_essential(tmp_path: Path) -> None:
    failure = lost_update()
    run = read(sarif([Told(failure, "t")], GOLD), tmp_path).runs[0]
    flows = run.results[0].code_flows[0].thread_flows
    essential = {
        location.execution_order - 1
        for flow in flows
        for location in flow.locations
        if location.importance == "essential"
    }
    assert failure.essential
    assert essential & set(failure.essential)


def test_the_fingerprint_is_that_of_the_failure_and_not_of_its_lines() -> None:
    failure = lost_update()

    def fingerprint(failure: Failure, test: str) -> str:
        result = json.loads(sarif([Told(failure, test)], GOLD))["runs"][0]["results"][0]
        return str(result["partialFingerprints"]["bohrbug/failure"])

    other = replace(failure, outcome=replace(failure.outcome, message="AssertionError: another"))
    assert fingerprint(failure, "t") == fingerprint(replace(failure, execution=99), "t")
    assert fingerprint(failure, "t") != fingerprint(failure, "u")
    assert fingerprint(failure, "t") != fingerprint(other, "t")


def test_a_log_without_failures_is_one_too(tmp_path: Path) -> None:
    assert read(sarif([], GOLD), tmp_path).runs[0].results == []


# -- Mermaid ------------------------------------------------------------------------------


def test_the_diagram_has_each_task_and_ends_with_the_failure(failure: Failure) -> None:
    lines = mermaid(failure).splitlines()
    assert lines[0] == "sequenceDiagram"
    for task in dict.fromkeys(failure.trace.tasks):
        name = "T" + task.replace(".", "_")
        assert any(line.startswith(f"    participant {name} as task {task}") for line in lines)
    assert lines[-1].startswith("    Note over ")
    assert "✗ " in lines[-1]


def test_nothing_in_names_means_anything_to_mermaid() -> None:
    failure = lost_update()
    failure.outcome = replace(failure.outcome, message=HOSTILE)
    text = mermaid(failure, HOSTILE)
    title, diagram = text.removeprefix("---\n").split("---\n", 1)
    assert json.loads(title.removeprefix("title: ")).startswith('a"b <script>')
    assert "<script" not in diagram
    assert ";" not in diagram.replace("#35;", "").replace("#59;", "").replace("#lt;", "").replace(
        "#gt;", ""
    ).replace("#quot;", "").replace("#37;", "")


# -- GitHub Actions -----------------------------------------------------------------------


def test_an_annotation_names_the_line_relative_to_the_root(failure: Failure) -> None:
    (line,) = annotated_lines([Told(failure, "test_x.py::test", "bohrbug replay x")], GOLD)
    assert line.startswith("::error title=Bohrbug%3A test_x.py%3A%3Atest,file=")
    assert f"file={GOLD}" not in line
    assert line.endswith("%0Abohrbug replay x")


def test_nothing_in_names_ends_an_annotation() -> None:
    failure = lost_update()
    failure.outcome = replace(failure.outcome, message=HOSTILE)
    (line,) = annotated_lines([Told(failure, HOSTILE, HOSTILE)], GOLD)
    properties, _, text = line.removeprefix("::error ").partition("::")
    assert "\n" not in line
    assert "%0A::error" not in properties
    assert "%250A::error" in text


def test_the_summary_counts_and_shows_each_failure(failure: Failure) -> None:
    text = summary([Told(failure, "test_x", "bohrbug replay x")], {"holds": 2, "failed": 1})
    assert "2 holds · 1 failed" in text
    assert "### `test_x`" in text
    assert "```mermaid\n" in text
    assert "```sh\nbohrbug replay x\n```" in text


def test_nothing_in_names_is_html_in_a_summary() -> None:
    failure = lost_update()
    failure.outcome = replace(failure.outcome, message=HOSTILE)
    text = summary([Told(failure, HOSTILE)], {"failed": 1})
    for line in text.splitlines():
        if "<script>" in line and not line.startswith("title: "):
            assert line.lstrip("# ").startswith("``")


def test_each_format_has_a_name() -> None:
    told = Told(lost_update(), "t")
    for name in FORMATS:
        assert in_format(name, told)
