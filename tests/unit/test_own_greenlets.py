"""Tasks that come to scheduling points within greenlets of the program go on there."""

from __future__ import annotations

import bohrbug
from bohrbug.model.outcome import OutcomeKind
from bohrbug.report.text import failure_text
from tests.programs import own_greenlets


def test_what_is_right_holds() -> None:
    result = bohrbug.explore(own_greenlets.safe, executions=60)
    assert not result.failures
    assert not result.verdict.caveats


def test_what_is_wrong_fails_in_every_replay() -> None:
    (failure,) = bohrbug.explore(own_greenlets.lost_update).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    assert failure.confirmed == 3
    assert "assert account.balance == 4" in failure_text(failure, width=100)


def test_greenlets_are_unwound_and_who_waits_is_told_once() -> None:
    result = bohrbug.explore(own_greenlets.both_ways)
    assert own_greenlets.unwound == ["here"]
    (failure,) = result.failures
    report = " ".join(failure_text(failure, width=200).split())
    assert "Deadlock: 2 tasks wait for each other" in report, report
    assert "a future" not in report
    assert report.count("holds Lock first") == 1
