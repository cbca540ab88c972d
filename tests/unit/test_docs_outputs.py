"""The documentation: what it shows of some commands is what they print."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bohrbug.cli import main
from tests.unit.test_docs import ROOT

HOW_TO = ROOT / "docs" / "how-to"
TUTORIAL = ROOT / "docs" / "tutorial.md"
PAGES = [
    TUTORIAL,
    HOW_TO / "choose-what-is-a-scheduling-point.md",
    HOW_TO / "data-races.md",
    HOW_TO / "gil-or-free-threaded.md",
    HOW_TO / "tests-that-are-not-deterministic.md",
]

PROGRAM = re.compile(r"`(\w+\.py)`[^\n]*:\n\n```python\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ bohrbug (run [^\n|]*)(?:\|[^\n]*)?\n(.*?)(?=^\$|^```)", re.M | re.DOTALL)

ELISION = re.compile(r"^ *\.\.\.$", re.MULTILINE)
AMPLE = "--seconds 600 --causes-seconds 600"
"""So that nothing is cut short on a slow machine."""


def shown_in(page: Path) -> list[tuple[str, str]]:
    """The explorations that a page shows, and what it says that they print."""
    return COMMAND.findall(page.read_text("utf-8"))


def comparable(text: str) -> str:
    """Without times, and without line breaks, which follow from how long the times are."""
    text = re.sub(r"[\d.]+ s\b|\([\d,]+ per second\)", "", " ".join(text.split()))
    return " ".join(text.split())


def put_programs(page: Path, folder: Path) -> None:
    """Write the programs of a page to files, the first of each name."""
    for name, text in PROGRAM.findall(page.read_text("utf-8")):
        if not (folder / name).exists():
            (folder / name).write_text(text, "utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def output_of(command: str) -> str:
    arguments = command.replace("run ", f"run {AMPLE} ", 1).split()
    done = CliRunner().invoke(main, arguments, env={"COLUMNS": "80"})
    assert done.exit_code in (0, 1), done.output
    return comparable(done.output)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_explorations_print_what_is_shown(page: Path, folder: Path) -> None:
    for source in (page, TUTORIAL):
        put_programs(source, folder)
    shown = shown_in(page)
    assert shown
    for command, text in shown:
        printed = output_of(command)
        for part in ELISION.split(text):
            assert comparable(part) in printed


def test_the_report_of_the_tutorial_is_what_is_printed(folder: Path) -> None:
    put_programs(TUTORIAL, folder)
    text = TUTORIAL.read_text("utf-8")
    report = text[text.index("  It fails if and only if") : text.index("\nTraceback\n")]
    command, _ = shown_in(TUTORIAL)[0]
    assert comparable(report) in output_of(command).replace(
        "✗ AssertionError Traceback", "✗ AssertionError: assert 2 == 1 Traceback"
    )
