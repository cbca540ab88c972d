"""When a worker gives back a piece of the work that is not done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from bohrbug.exploration.learning import Learner
from bohrbug.exploration.parallel import crew as crews
from bohrbug.exploration.parallel.crew import LOOK_EVERY, Chief, Crew, _Hired
from bohrbug.exploration.parallel.messages import Channel, Piece
from bohrbug.exploration.parallel.shared import SharedNumbers
from bohrbug.exploration.parallel.worker import AT_LEAST, AT_MOST, COST, Task, Worker
from bohrbug.search.dfs import DepthFirst

SHARED = SharedNumbers(2)
TASK = Task(1, False, 10.0, (), (), None)
LARGE = DepthFirst()
LARGE.restore({**LARGE.state(), "subtrees": {"prefixes": [["0"], ["1"]], "paths": []}})


def worker(strategy: DepthFirst) -> Worker:
    return Worker(TASK, cast(Learner, None), strategy, cast(Channel, None), SHARED)


@pytest.fixture(autouse=True)
def asked() -> None:
    SHARED.ask(0, False)
    SHARED.ask(1, True)


def test_it_gives_back_what_is_enough_for_two_when_it_is_asked() -> None:
    assert worker(LARGE).gives_back(Piece({}, 9), 2 * AT_LEAST, 0.0)
    assert not worker(DepthFirst()).gives_back(Piece({}, 9), 2 * AT_LEAST, 0.0)
    SHARED.ask(1, False)
    SHARED.ask(0, True)
    assert not worker(LARGE).gives_back(Piece({}, 9), 2 * AT_LEAST, 0.0)


def test_it_keeps_a_piece_for_longer_than_it_takes_to_hand_it_over() -> None:
    assert not worker(LARGE).gives_back(Piece({}, 9), AT_LEAST / 2, 0.0)
    assert not worker(LARGE).gives_back(Piece({}, 9), 0.5, 0.6 / COST)
    assert worker(LARGE).gives_back(Piece({}, 9), 0.7, 0.6 / COST)


def test_it_gives_back_now_and_then_what_nobody_has_asked_for() -> None:
    SHARED.ask(1, False)
    assert worker(DepthFirst()).gives_back(Piece({}, 9), 1.1 * AT_MOST, 0.0)
    assert not worker(DepthFirst()).gives_back(Piece({}, 9), 0.9 * AT_MOST, 0.0)
    assert not worker(DepthFirst()).gives_back(Piece({}, 9), 1.1 * AT_MOST, AT_MOST / COST)
    assert worker(DepthFirst()).gives_back(Piece({}, 9), 1.1 * AT_MOST, AT_MOST / COST / 10)


def test_it_keeps_a_piece_over_which_another_has_died() -> None:
    """Or nobody would see that the next one dies over it, too."""
    assert not worker(LARGE).gives_back(Piece({}, 9, died=1), 10 * AT_MOST, 0.0)


def test_who_has_had_a_piece_longest_is_asked_when_another_has_nothing_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(crews, "_now", lambda: now)
    chief = SimpleNamespace(executions_left=100, stops_at_first_failure=False)
    strategy = DepthFirst()
    assert strategy.take_piece(10) is not None
    crew = Crew(4, cast(Chief, chief), cast(Learner, None), strategy, TASK)

    def hired(number: int, since: float, piece: Piece | None) -> _Hired:
        return _Hired(number, 0, cast(Channel, None), piece, since)

    crew._hired = [hired(each, 99.0 - each, Piece({}, 5)) for each in range(3)]
    crew._hired.append(hired(3, 0.0, None))
    crew._assign()
    assert [crew._shared.is_asked(each) for each in range(4)] == [False, False, True, False]
    crew._assign()
    assert [crew._shared.is_asked(each) for each in range(4)] == [False, False, True, False]
    # It did not answer, as it has not enough for two.
    now += 2 * LOOK_EVERY
    crew._assign()
    assert [crew._shared.is_asked(each) for each in range(4)] == [False, True, True, False]


def test_what_workers_are_told_is_told_to_each() -> None:
    SHARED.set_executions(0, 5)
    SHARED.set_executions(1, 7)
    assert SHARED.executions() == 12
    assert SHARED.is_asked(1)
    assert not SHARED.is_asked(0)
