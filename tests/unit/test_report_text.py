"""Whole reports, compared with the files in ``gold``.

After a wanted change: ``BOHRBUG_WRITE_GOLD=1 python -m pytest tests/unit/test_report_text.py``,
then read the difference.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from bohrbug.exploration.result import Failure, Result, Verdict, VerdictKind
from bohrbug.model.operation import Site
from bohrbug.report.text import failure_text, render_failure, render_races, render_result
from tests.unit.report_samples import GOLD, SAMPLES, balance_race, livelock, lost_update

COMMAND = "bohrbug replay .bohrbug/failure-1.json"


@pytest.fixture(autouse=True)
def _in_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    # Reports show paths relative to the current directory.
    monkeypatch.chdir(GOLD)


def check(name: str, text: str) -> None:
    """Compare with a gold file, or write it when asked to."""
    file: Path = GOLD / f"{name}.txt"
    if os.environ.get("BOHRBUG_WRITE_GOLD"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def written(failure: Failure, width: int, encoding: str = "utf-8", full: bool = False) -> str:
    return failure_text(
        failure,
        width=width,
        encoding=encoding,
        replay_command=COMMAND,
        test="test_bank.py::test_deposit",
        executions=36,
        seconds=0.25,
        full=full,
    )


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("name", SAMPLES)
def test_failure(name: str, width: int) -> None:
    check(f"{name}-{width}", written(SAMPLES[name](), width))


def test_wide() -> None:
    check("lost_update-160", written(lost_update(), 160))


def test_ascii() -> None:
    check("lock_cycle-ascii", written(SAMPLES["lock_cycle"](), 100, "ascii"))


def test_result_and_races() -> None:
    result = Result(
        "test_deposit",
        Verdict(
            VerdictKind.FAILED,
            ("all schedules with at most 1 preemption at 12 scheduling points",),
            ("a child process ran outside our control",),
        ),
        failures=[lost_update()],
        races=[balance_race()],
        executions=36,
        points=12,
        tasks=3,
        seconds=2.0,
    )
    console = Console(file=io.StringIO(), width=100, color_system=None)
    render_result(result, console, verbose=True, replay_commands=[COMMAND])
    assert isinstance(console.file, io.StringIO)
    check(
        "result", "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"
    )


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(SAMPLES)),
    width=st.integers(40, 220),
    encoding=st.sampled_from(["utf-8", "ascii", "latin-1", "cp437", "no such encoding"]),
)
def test_fits_and_can_be_printed_everywhere(name: str, width: int, encoding: str) -> None:
    text = written(SAMPLES[name](), width, encoding)
    for line in text.splitlines():
        if COMMAND not in line:
            assert cell_len(line) <= width
    text.encode("ascii" if encoding == "no such encoding" else encoding)


@pytest.mark.parametrize("name", SAMPLES)
def test_says_the_essentials(name: str) -> None:
    failure = SAMPLES[name]()
    text = written(failure, 100)
    assert COMMAND in text
    assert "reproduced in 3 of 3 replays" in text
    for index in failure.essential:
        if index not in failure.early_timeouts:
            assert f"{failure.trace.tasks[index - 1]} preempted" in text


def test_color_changes_nothing_but_color() -> None:
    plain = failure_text(lost_update(), width=100)
    colored = Console(
        file=io.StringIO(), width=100, force_terminal=True, color_system="standard", no_color=False
    )
    render_failure(lost_update(), colored)
    assert isinstance(colored.file, io.StringIO)
    escaped = colored.file.getvalue()
    assert "\x1b[" in escaped
    assert re.sub(r"\x1b\[[0-9;]*m", "", escaped) == plain


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = failure_text(lost_update(), color=True)
    assert "\x1b[31m" not in text
    assert "\x1b[36m" not in text


def test_long_execution_is_cut_unless_asked_for() -> None:
    failure = SAMPLES["many_tasks"]()
    cut = written(failure, 100)
    assert "steps not shown; all: bohrbug explain FILE --full" in cut
    assert len(cut.splitlines()) < 60
    full = written(failure, 100, full=True)
    assert "not shown" not in full
    assert len(full.splitlines()) > 2 * len(cut.splitlines())


def test_loop_is_shown_once() -> None:
    short = written(livelock(200), 100).splitlines()
    long = written(livelock(5000), 100).splitlines()
    assert len(short) == len(long)
    assert any("4,999 times" in line for line in long)


def test_loop_is_shown_once_where_only_its_end_has_stacks() -> None:
    failure = livelock(5000)
    operations = failure.trace.operations
    header = Site("/usr/include/lock.h", 7, "lock")
    operations[200:-200] = [o._replace(place=header) for o in operations[200:-200]]
    lines = written(failure, 100).splitlines()
    assert any("4,999 times" in line for line in lines)


def test_program_text_is_made_harmless() -> None:
    failure = lost_update()
    failure.trace.task_infos["0.1"] = type(failure.trace.task_infos["0.1"])(
        "0.1", "[bold]\x1b[31mred\x07 \N{SNOWMAN}[/bold]", "work"
    )
    text = failure_text(failure, encoding="ascii")
    assert "\x1b" not in text
    assert "[bold]" in text
    assert "\\u2603" in text


def test_no_races_no_output() -> None:
    console = Console(file=io.StringIO(), width=100)
    render_races([], console)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == ""
