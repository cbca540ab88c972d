"""The workflow for GitHub Actions in ``examples``: what its steps run does what the others need."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.documentation import ROOT, commands_of
from tests.end_to_end.conftest import Folder
from tests.end_to_end.programs import LOCKED, LOST_UPDATE
from tests.unit.test_documented_blocks import read_by_pytest

FILE = ROOT / "examples" / "github-actions" / "bohrbug.yml"
VALUES = {"github.run_number": "7", "github.ref_name": "main"}


@pytest.fixture
def steps() -> list[dict[str, Any]]:
    (job,) = yaml.safe_load(FILE.read_text("utf-8"))["jobs"].values()
    return list(job["steps"])


def using(steps: list[dict[str, Any]], action: str) -> dict[str, Any]:
    """The inputs of the only step that uses an action."""
    (step,) = (step for step in steps if step.get("uses", "").partition("@")[0] == action)
    return dict(step["with"])


def test_the_page_shows_the_file() -> None:
    page = (ROOT / "docs/how-to/ci.md").read_text("utf-8")
    _, _, shown = FILE.read_text("utf-8").partition("name: interleavings\n")
    assert f"```yaml\nname: interleavings\n{shown}```\n" in page


def test_what_is_saved_is_what_is_restored(steps: list[dict[str, Any]]) -> None:
    saved, restored = using(steps, "actions/cache/save"), using(steps, "actions/cache/restore")
    assert saved["path"] == restored["path"] == ".bohrbug"
    assert saved["key"] == restored["key"]
    prefixes = restored["restore-keys"].splitlines()
    assert all(restored["key"].startswith(prefix) for prefix in prefixes)


def test_steps_write_what_later_ones_take(steps: list[dict[str, Any]], folder: Folder) -> None:
    explored = [step["run"] for step in steps if "--bohrbug" in step.get("run", "")]
    assert len(explored) == 2
    folder.write("test_it.py", LOST_UPDATE + LOCKED.replace("test_add", "test_locked"))
    summary = folder.path / "summary.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    scripts = f"{Path(sys.executable).parent}:{folder.environment['PATH']}"
    outs = []
    for text in explored:
        command = re.sub(r"\$\{\{ (\S+) \}\}", lambda found: VALUES[found[1]], text)
        (words,) = commands_of(command)
        read_by_pytest(words[1:])
        done = folder.run(["bash", "-e", "-c", command], **github, PATH=scripts)
        assert done.code == 1, done.out + done.err
        outs.append(done.out)
        assert "test_it.py::test_add" in summary.read_text("utf-8")
        summary.unlink()
        assert (
            folder.path / using(steps, "github/codeql-action/upload-sarif")["sarif_file"]
        ).exists()
        for path in using(steps, "actions/upload-artifact")["path"].split():
            assert list(folder.path.glob(path)), path
        assert (folder.path / using(steps, "actions/cache/save")["path"]).is_dir()
    # The second goes on with what the first has left behind, as from the cache.
    assert "found by a remembered schedule" in outs[1]
    assert "not explored again" not in outs[1]
