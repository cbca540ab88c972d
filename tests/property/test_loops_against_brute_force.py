"""Event loops: what systematic strategies reach is what brute force over all arrivals reaches.

Each program runs on asyncio itself, too, with sleeps that take other numbers of turns: what that
comes to is reached as well.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.platforms.threads.platform import explorer_of
from tests.thoroughness import examples

OPERATIONS = (
    ("read", 0),
    ("write", 0),
    ("add", 0),
    ("pause", 0),
    ("pause", 0),
    ("lock", 0),
    ("set", 0),
    ("wait", 0),
    ("put", 0),
    ("get", 0),
    ("call", 0),
    ("guard", 0),
    ("spawn", 0),
    ("sleep", 1),
    ("sleep", 2),
    ("join", 0),
)

Program = tuple[tuple[tuple[str, int], ...], ...]


def size(program: Program) -> int:
    """How many choices there may be, about: brute force takes all of them."""
    weights = {"pause": 1, "lock": 1, "spawn": 2, "sleep": 1}
    return sum(weights.get(kind, 0) for operations in program for kind, _ in operations)


programs = (
    st.lists(
        st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=4).map(tuple),
        min_size=2,
        max_size=3,
    )
    .map(tuple)
    .filter(lambda program: size(program) <= 5)
)


class State:
    """What the tasks of one execution share."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.value = 0
        self.lock = asyncio.Lock()
        self.event = asyncio.Event()
        self.guard = threading.Lock()
        self.queue: asyncio.Queue[int] = asyncio.Queue(1)
        self.made: list[asyncio.Task[None]] = []


Pause = Callable[[], Any]


async def _pause() -> None:
    await asyncio.sleep(0)


async def work(
    state: State, name: str, operations: tuple[tuple[str, int], ...], pause: Pause
) -> None:
    """What a task of a program does."""
    kept = 0
    for kind, argument in operations:
        if kind == "read":
            kept = state.value
            state.log.append((name, kept))
        elif kind == "write":
            state.value = kept + 1
        elif kind == "add":
            state.value += 10
        elif kind == "pause":
            await pause()
        elif kind == "lock":
            async with state.lock:
                kept = state.value
                await pause()
                state.value = kept + 1
        elif kind == "set":
            state.event.set()
        elif kind == "wait":
            await state.event.wait()
        elif kind == "put":
            await state.queue.put(state.value)
        elif kind == "get":
            state.log.append((name, "got", await state.queue.get()))
        elif kind == "guard":
            # In the middle of what the loop runs, as far as threads are concerned.
            with state.guard:
                state.value += 100
        elif kind == "call":
            asyncio.get_running_loop().call_soon(state.log.append, (name, "called"))
        elif kind == "spawn":
            child = work(state, f"{name}.", (("pause", 0), ("read", 0), ("write", 0)), pause)
            state.made.append(asyncio.ensure_future(child))
        elif kind == "sleep":
            await asyncio.sleep(argument)
        elif kind == "join" and state.made:
            await state.made[0]
    state.log.append((name, "end"))


def outcome_of(program: Program, pause: Pause, patience: float = 50) -> tuple[Any, ...]:
    """Run a program once, by whatever event loop is in control."""

    async def main() -> tuple[Any, ...]:
        state = State()
        tasks = [
            asyncio.create_task(work(state, str(number), operations, pause))
            for number, operations in enumerate(program)
        ]
        # What waits for ever is cut off here.
        await asyncio.wait([*tasks], timeout=patience)
        stuck = tuple(not task.done() for task in tasks)
        for task in (*tasks, *state.made):
            task.cancel()
        return (*state.log, state.value, stuck)

    return asyncio.run(main())


def reached(program: Program, strategy: str) -> set[tuple[Any, ...]]:
    """All that a strategy comes to, to its end."""
    found: set[tuple[Any, ...]] = set()

    def test() -> None:
        found.add(outcome_of(program, _pause))

    options = ExploreOptions(
        strategy=strategy, executions=20_000, bound=None, timeouts="late", seconds=60
    )
    result = explorer_of(test, "program", options).explore()
    assert not result.failures
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    return found


def by_asyncio(program: Program) -> set[tuple[Any, ...]]:
    """What asyncio itself comes to, where pauses take one to three turns."""
    found = set()
    for seed in range(30):
        draw = random.Random(seed)

        async def pause(draw: random.Random = draw) -> None:
            for _ in range(draw.choice((1, 1, 2, 3))):
                await asyncio.sleep(0)

        found.add(outcome_of(program, pause, patience=0.02))
    return found


@pytest.mark.parametrize("strategy", ["dpor", "ipb", "idb"])
@given(program=programs)
@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_every_strategy_reaches_what_brute_force_does(strategy: str, program: Program) -> None:
    assert reached(program, strategy) == reached(program, "dfs")


@given(program=programs)
@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_what_asyncio_comes_to_is_reached(program: Program) -> None:
    # Real time would take its own choices.
    program = tuple(
        tuple(("pause", 0) if kind == "sleep" else (kind, number) for kind, number in operations)
        for operations in program
    )
    assert by_asyncio(program) <= reached(program, "dpor")
