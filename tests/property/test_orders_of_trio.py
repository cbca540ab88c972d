"""Exploring a program of trio shows the orders of steps that trio can come to, and no others."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bohrbug
from bohrbug.exploration.result import VerdictKind

trio = pytest.importorskip("trio")
pytest.importorskip("trio.testing")

Task = tuple[str, ...]
"""The actions of a task."""

_ACTIONS = ("pause", "set", "wait", "lock", "send", "receive", "spawn")
_tasks = st.lists(
    st.lists(st.sampled_from(_ACTIONS), max_size=3).map(tuple), min_size=2, max_size=3
)


def _program(
    tasks: list[Task],
    shown: Callable[[tuple[object, ...]], None],
    waiters: Callable[[], set[Any]] = set,
) -> Callable[[], None]:
    """A program of trio; what its tasks do, in order, is shown at the end.

    Parameters:
        tasks: what each of them does.
        shown: is given the log of an execution.
        waiters: makes the set in which an event has those who wait for it.
    """

    async def main() -> None:
        log: list[object] = []
        event, lock = trio.Event(), trio.Lock()
        event._tasks = waiters()
        sender, receiver = trio.open_memory_channel[int](1)

        async def act(name: object, actions: Task) -> None:
            for number, action in enumerate(actions):
                log.append((name, number))
                match action:
                    case "pause":
                        await trio.lowlevel.checkpoint()
                    case "set":
                        event.set()
                    case "wait":
                        await event.wait()
                    case "lock":
                        async with lock:
                            await trio.lowlevel.checkpoint()
                    case "send":
                        await sender.send(1)
                    case "receive":
                        await receiver.receive()
                    case _:
                        nursery.start_soon(act, (name, number), ("pause",))
            log.append((name, "end"))

        with trio.move_on_after(1):
            async with trio.open_nursery() as nursery:
                for number, actions in enumerate(tasks):
                    nursery.start_soon(act, number, actions)
        shown(tuple(log))

    return lambda: trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


class _Choices(random.Random):
    """Random numbers that go through all sequences of "in reverse" and "in order"."""

    def __init__(self) -> None:
        super().__init__(0)
        self._taken: list[tuple[int, int]] = []
        self._made = 0

    def choose(self, arity: int) -> int:
        """One of so many values."""
        if self._made == len(self._taken):
            self._taken.append((0, arity))
        self._made += 1
        return self._taken[self._made - 1][0]

    def random(self) -> float:
        """By which trio decides on the order of a turn."""
        if len(sys._getframe(1).f_locals["batch"]) < 2:
            return 1.0
        return 0.0 if self.choose(2) else 1.0

    def next(self) -> bool:
        """Go to the next sequence; false if that was the last one."""
        del self._taken[self._made :]
        self._made = 0
        while self._taken and self._taken[-1][0] + 1 == self._taken[-1][1]:
            self._taken.pop()
        if not self._taken:
            return False
        value, arity = self._taken.pop()
        self._taken.append((value + 1, arity))
        return True


class _Unordered(set[Any]):
    """A set that gives its items in any order, as one of addresses does."""

    def __init__(self, choices: _Choices) -> None:
        super().__init__()
        self._choices = choices

    def __iter__(self) -> Iterator[Any]:
        left = sorted(super().__iter__(), key=lambda task: task._counter)
        while left:
            yield left.pop(self._choices.choose(len(left)))


_MOST = 200


def _natively(tasks: list[Task], patched: Any) -> set[object] | None:
    """The logs that trio itself can come to; ``None`` if these are very many."""
    logs: set[object] = set()
    choices = _Choices()
    run = _program(tasks, logs.add, lambda: _Unordered(choices))
    patched.setattr(trio._core._run, "_r", choices)
    # Hypothesis has set it.
    patched.setattr(trio._core._run, "_ALLOW_DETERMINISTIC_SCHEDULING", False)
    for _ in range(_MOST):
        run()
        if not choices.next():
            return logs
    return None


@pytest.mark.parametrize("strategy", ["dfs", "dpor", "ipb"])
@settings(max_examples=25, deadline=None)
@given(tasks=_tasks)
def test_all_orders_are_explored_and_no_others(strategy: str, tasks: list[Task]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        expected = _natively(tasks, patched)
    if expected is None:
        return
    logs: set[object] = set()
    result = bohrbug.explore(
        _program(tasks, logs.add), strategy=strategy, executions=3_000, timeouts="late"
    )
    assert not result.failures
    assert not any("diverged" in caveat for caveat in result.verdict.caveats)
    assert logs <= expected
    if result.verdict.kind is VerdictKind.HOLDS:
        assert logs == expected
