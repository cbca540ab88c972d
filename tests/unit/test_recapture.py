"""How large a search is, from what others have met of it."""

from __future__ import annotations

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.search.recapture import LEAST_SHOWN, Recapture
from tests.programs.correct.threads import executor_initialiser_and_locals


def shows(classes: int, executions_each: int = 1) -> Recapture:
    """A search that has shown so many classes, one after the other."""
    recapture = Recapture()
    for number in range(classes):
        recapture.add(number, (number + 1) * executions_each)
    return recapture


@pytest.mark.parametrize("each", [1, 3])
def test_who_has_shown_half_of_what_is_met_has_half_behind_it(each: int) -> None:
    recapture = shows(100, each)
    assert recapture.size(100 * each, range(200)) == 200 * each


def test_what_nobody_else_has_met_does_not_count() -> None:
    assert shows(100).size(100, range(50, 150)) == 200


def test_a_few_classes_say_nothing() -> None:
    recapture = shows(LEAST_SHOWN - 1)
    assert recapture.size(LEAST_SHOWN, range(200)) is None
    recapture.add(LEAST_SHOWN - 1, LEAST_SHOWN)
    assert recapture.size(LEAST_SHOWN, range(200)) == 200


def test_a_search_that_shows_nothing_else_any_more_may_go_on_for_ever() -> None:
    recapture = shows(100)
    assert recapture.size(110, range(110)) == pytest.approx(121)
    assert recapture.size(1_000, range(110)) is None


def test_the_first_time_counts() -> None:
    recapture = shows(100)
    for number in range(100):
        recapture.add(number, 1_000)
    assert recapture.size(1_000, range(110)) is None


def test_it_is_the_same_as_before_it_was_saved() -> None:
    recapture = Recapture()
    recapture.merge(shows(100).to_json())
    assert recapture.size(100, range(200)) == 200
    assert recapture.to_json() == shows(100).to_json()


@pytest.mark.parametrize(("workers", "executions"), [(1, 1_000), (2, 1_300)])
def test_a_pool_with_few_orders_is_explored_whole(workers: int, executions: int) -> None:
    """Of its 477 executions dpor has 252 behind it when its own estimate says 2,000."""
    result = bohrbug.explore(
        executor_initialiser_and_locals,
        minimise=False,
        causes=0,
        workers=workers,
        executions=executions,
    )
    assert result.verdict.kind is VerdictKind.HOLDS
