"""Data races that fail a test: what is reported of them, and that they can be replayed."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

import bohrbug
from bohrbug.exploration.reproduction import read_reproduction
from bohrbug.exploration.result import Failure
from bohrbug.model.outcome import Race
from bohrbug.platforms.threads.replaying import replay
from bohrbug.report.naming import Names
from bohrbug.report.schedule import End, Line, schedule_of
from bohrbug.report.text import failure_text
from bohrbug.report.verdict import races_in_words
from tests.programs.together import together
from tests.unit.test_findings import race

lock = threading.Lock()


class Till:
    def __init__(self) -> None:
        self.coins = 0
        self.notes = 0

    def pay(self) -> None:
        with lock:
            self.coins += 1
        self.notes += 1
        with lock:
            self.coins += 1


def paying() -> None:
    till = Till()
    together(till.pay, till.pay)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("races")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = bohrbug.explore(paying, races="fail", keep_going=True, write=True).failures
    return [folder / failure.reproduction for failure in found if failure.reproduction]


@pytest.fixture
def failures(files: list[Path]) -> list[Failure]:
    """As they are read from files, with nothing of the exploration."""
    return [read_reproduction(file).failure for file in files]


def test_both_accesses_stand_where_they_were_made_and_nothing_after_them(
    failures: list[Failure],
) -> None:
    failure = failures[0]
    rows = schedule_of(failure.trace, (), Names(failure.trace)).rows
    *_, first, second = [row for row in rows if isinstance(row, Line) and row.conflicting]
    assert [first.task, second.task] == ["0.1", "0.2"]
    assert first.source == second.source == "self.notes += 1"
    assert first.operations[-1].endswith("Till.notes")
    end = rows[-1]
    assert isinstance(end, End)
    assert rows[-2] is second
    assert (end.task, end.place, end.message) == ("0.2", "", "data race on Till.notes")
    # All of it on request.
    full = schedule_of(failure.trace, (), Names(failure.trace), full=True).rows
    assert len(full) > len(rows)
    assert full[: len(rows)] == rows


def test_no_place_is_made_up_where_it_is_not_known_when_they_were_made(
    failures: list[Failure],
) -> None:
    outcome = failures[0].outcome
    assert isinstance(outcome.race, Race)
    unknown = replace(outcome.race, second=replace(outcome.race.second, step=None))
    trace = failures[0].trace.with_outcome(replace(outcome, race=unknown))
    end = schedule_of(trace, (), Names(trace)).rows[-1]
    assert isinstance(end, End)
    assert (end.task, end.place) == (None, "")


def test_the_report_speaks_of_no_exception_and_names_the_lock(failures: list[Failure]) -> None:
    report = failure_text(failures[0])
    assert report.startswith("✗ Data race on Till.notes ━")
    assert "Where it was raised" not in report
    assert "Lock lock" in report
    assert "before:" not in report


def test_each_race_has_a_file_of_its_own_that_replays_it(files: list[Path]) -> None:
    assert len(set(files)) == len(files) > 1
    for file in files:
        assert replay(read_reproduction(file), paying).reproduced == 1


def test_one_race_is_enough_unless_all_are_asked_for() -> None:
    result = bohrbug.explore(paying, races="fail")
    assert len(result.failures) == 1
    assert len(result.races) > 1


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ("a", "1 data race seen, on a (-v shows more)"),
        ("aba", "3 data races seen, on a and b (-v shows more)"),
        ("abcd", "4 data races seen, on a, b, c and d (-v shows more)"),
        ("abcde", "5 data races seen, on a, b, c and 2 more (-v shows more)"),
    ],
)
def test_races_in_words(labels: str, words: str) -> None:
    assert races_in_words([race(label) for label in labels]) == words
    assert races_in_words([race("a")], verbose=True) == "1 data race seen, on a"
