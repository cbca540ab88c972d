"""How large a search is, from what others have met of it."""

from __future__ import annotations

import pytest

from bohrbug.search.auto_piece import Piece, PieceWork
from bohrbug.search.novelty import Novelty
from bohrbug.search.portfolio import Member
from bohrbug.search.recapture import LEAST_SHOWN, Recapture
from bohrbug.search.registry import Options, strategy_named
from bohrbug.search.surw import SelectivelyUniform
from tests.simulated import Instruction, Program, execute


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


def locks_taken(times: int) -> tuple[Instruction, ...]:
    return (Instruction("acquire", "l"), Instruction("release", "l")) * times


THREE_TAKE_A_LOCK = Program(
    (("0", locks_taken(3)), ("0.1", locks_taken(3)), ("0.2", locks_taken(2)))
)


def test_a_space_is_executed_whole_though_the_estimate_of_its_tree_is_too_high() -> None:
    """Of 559 executions dpor has not made 343 where its own estimate says more than are left."""
    strategy = strategy_named("auto", Options(executions=1_000))
    executed = 0
    while executed < 1_000 and (plan := strategy.next_plan()) is not None:
        strategy.observe(execute(THREE_TAKE_A_LOCK, plan)[0])
        executed += 1
    assert strategy.complete
    assert executed < 1_000


@pytest.mark.parametrize("is_compared", [False, True])
def test_workers_tell_what_the_search_has_shown_that_is_compared(is_compared: bool) -> None:
    piece, novelty = Piece(member=0, charged=1), Novelty()
    member = Member(strategy_named("dpor", Options()))
    work = PieceWork(piece, member, False, is_compared, novelty, SelectivelyUniform())
    plan = work.next_plan()
    assert plan is not None
    trace = execute(THREE_TAKE_A_LOCK, plan)[0]
    work.observe(trace)
    assert [row[0] for row in piece.seen] == [novelty.class_of(trace) if is_compared else None]
