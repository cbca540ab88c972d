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
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.platforms.threads.platform import explorer_of
from bohrbug.runtime.threads.loops import turns
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
    weights = {"pause": 1, "lock": 1, "spawn": 2, "sleep": 1, "wait within": 2, "lock within": 2}
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


ALL_WAYS = 256
"""So many ways in which long pauses can be taken are tried one after the other."""

SOME_WAYS = 60
"""If there are more, so many are tried at random."""


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
        elif kind in ("wait within", "lock within"):
            try:
                async with asyncio.timeout(argument):
                    if kind == "wait within":
                        await state.event.wait()
                    else:
                        async with state.lock:
                            state.value += 1
                state.log.append((name, "in time"))
            except TimeoutError:
                state.log.append((name, "too late"))
        elif kind == "join" and state.made:
            await state.made[0]
    state.log.append((name, "end"))


class LoopWithoutTime(asyncio.SelectorEventLoop):
    """Asyncio's own loop, by whose clock each turn takes a second.

    How loaded the machine is makes no difference to what is over first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0
        select = self._selector.select  # type: ignore[attr-defined]
        self._selector.select = lambda _: select(0)  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.turns

    def _run_once(self) -> None:
        self.turns += 1
        super()._run_once()  # type: ignore[misc]


def outcome_of(
    program: Program,
    pause: Pause,
    make_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> tuple[Any, ...]:
    """Run a program once, by whatever event loop is in control."""

    async def main() -> tuple[Any, ...]:
        state = State()
        tasks = [
            asyncio.create_task(work(state, str(number), operations, pause))
            for number, operations in enumerate(program)
        ]
        # What waits for ever is cut off here.
        await asyncio.wait([*tasks], timeout=50)
        stuck = tuple(not task.done() for task in tasks)
        for task in (*tasks, *state.made):
            task.cancel()
        return (*state.log, state.value, stuck)

    with asyncio.Runner(loop_factory=make_loop) as runner:
        return runner.run(main())


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
    """What asyncio itself comes to, where pauses take up to four turns: all ways, if these are few.

    All but the shortest come as what arrives from outside does, at the end of a turn.
    """
    found = set()
    taken: list[int] = []
    for run in range(ALL_WAYS + SOME_WAYS):
        given, taken = taken, []
        draw = random.Random(run)

        async def pause(
            run: int = run,
            given: list[int] = given,
            taken: list[int] = taken,
            draw: random.Random = draw,
        ) -> None:
            if run < ALL_WAYS:
                taken.append(given[len(taken)] if len(taken) < len(given) else 0)
                await asyncio.sleep(taken[-1])
            else:
                await asyncio.sleep(draw.choice((0, 0, 1, 2, 3)))

        found.add(outcome_of(program, pause, LoopWithoutTime))
        if run < ALL_WAYS:
            # The next way, as of a counter.
            while taken and taken[-1] == 3:
                taken.pop()
            if not taken:
                break
            taken[-1] += 1
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


# In which turn the second task ran shows only in what comes after.
@example(
    program=(
        (("pause", 0), ("pause", 0), ("call", 0)),
        (("pause", 0), ("call", 0)),
        (("pause", 0), ("read", 0)),
    )
)
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


TIMED = (
    ("read", 0),
    ("write", 0),
    ("pause", 0),
    ("set", 0),
    ("lock", 0),
    ("sleep", 1),
    ("sleep", 2),
    ("wait within", 1),
    ("wait within", 2),
    ("lock within", 1),
    ("lock within", 2),
)

timed_programs = (
    st.lists(
        st.lists(st.sampled_from(TIMED), min_size=1, max_size=3).map(tuple), min_size=2, max_size=3
    )
    .map(tuple)
    .filter(lambda program: size(program) <= 4)
)


def reached_early(program: Program, strategy: str) -> set[tuple[Any, ...]]:
    """All that a strategy comes to where timers may be over before their time."""
    found: set[tuple[Any, ...]] = set()

    async def main() -> None:
        state = State()
        works = [
            work(state, str(number), operations, _pause)
            for number, operations in enumerate(program)
        ]
        await asyncio.gather(*works)
        found.add((*state.log, state.value))

    options = ExploreOptions(strategy=strategy, executions=20_000, bound=None, seconds=60)
    result = explorer_of(lambda: asyncio.run(main()), "program", options).explore()
    assert not result.failures
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    return found


@pytest.mark.parametrize("strategy", ["dpor", "ipb", "idb"])
@given(program=timed_programs)
@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_so_it_does_where_timers_are_over_early(strategy: str, program: Program) -> None:
    """A timeout that came in time could have fired, though its timer never did."""
    assert reached_early(program, strategy) == reached_early(program, "dfs")


JOINING = ("gather", "gather all", "wait", "wait for failure", "wait for first", "group")

joined_programs = (
    st.tuples(
        st.sampled_from(JOINING),
        st.lists(
            st.lists(
                st.sampled_from((*OPERATIONS, *OPERATIONS[:5], ("fail", 0), ("stop", 0))),
                min_size=1,
                max_size=3,
            ).map(tuple),
            min_size=2,
            max_size=3,
        ).map(tuple),
        # Beside them, one that is not waited for.
        st.lists(st.sampled_from(OPERATIONS), max_size=3).map(tuple),
    )
    .filter(lambda case: size((*case[1], case[2])) <= 4)
    .filter(lambda case: 2 <= size((*case[1], case[2])))
)

Joined = tuple[str, Program, tuple[tuple[str, int], ...]]


async def _failing(
    state: State, name: str, operations: tuple[tuple[str, int], ...], tasks: list[asyncio.Task[Any]]
) -> None:
    for operation in operations:
        if operation[0] == "fail":
            raise ValueError(name)
        if operation[0] == "stop":
            tasks[0].cancel()
        else:
            await work(state, name, (operation,), _pause)


async def _join(how: str, state: State, program: Program, tasks: list[asyncio.Task[Any]]) -> None:
    """Make tasks of a program, and wait for all of them together."""
    if how == "group":
        async with asyncio.TaskGroup() as group:
            for number, operations in enumerate(program):
                coroutine = _failing(state, str(number), operations, tasks)
                tasks.append(group.create_task(coroutine))
        return
    for number, operations in enumerate(program):
        tasks.append(asyncio.create_task(_failing(state, str(number), operations, tasks)))
    if how.startswith("gather"):
        state.log.append(len(await asyncio.gather(*tasks, return_exceptions=how != "gather")))
        return
    condition = {"wait": "ALL_COMPLETED", "wait for failure": "FIRST_EXCEPTION"}
    name = condition.get(how, "FIRST_COMPLETED")
    done, _ = await asyncio.wait(tasks, return_when=getattr(asyncio, name))
    state.log.append(sum(each in done for each in tasks))


def outcome_of_joining(case: Joined) -> tuple[Any, ...]:
    """Run tasks that are waited for together, and one beside them."""
    how, program, beside = case

    async def main() -> tuple[Any, ...]:
        state = State()
        other = asyncio.create_task(work(state, "beside", beside, _pause))
        tasks: list[asyncio.Task[Any]] = []
        joining = asyncio.create_task(_join(how, state, program, tasks))
        await asyncio.wait([other, joining], timeout=50)
        if joining.done() and not joining.cancelled():
            state.log.append(type(joining.exception()).__name__)
        state.log.append((joining.done(), other.done()))
        result = (*state.log, state.value)
        # Else they would be cancelled in the order of a set.
        for task in (*tasks, *state.made, joining, other):
            task.cancel()
        return result

    return asyncio.run(main())


def reached_joining(case: Joined, strategy: str, timeouts: str) -> set[tuple[Any, ...]]:
    """All that a strategy comes to, to its end."""
    found: set[tuple[Any, ...]] = set()
    options = ExploreOptions(
        strategy=strategy, executions=20_000, bound=None, timeouts=timeouts, seconds=60
    )
    explorer = explorer_of(lambda: found.add(outcome_of_joining(case)), "program", options)
    result = explorer.explore()
    assert not result.failures
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    return found


def compare_with_all_varied(case: Joined, timeouts: str) -> None:
    """Callbacks that only count, varied like others, bring nothing new."""
    by_the_rule = reached_joining(case, "dpor", timeouts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "only_counts", lambda handle: False)
        assert by_the_rule == reached_joining(case, "dfs", timeouts)


@given(case=joined_programs)
@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_when_callbacks_run_that_only_count_makes_no_difference(case: Joined) -> None:
    compare_with_all_varied(case, "late")


@pytest.mark.parametrize(
    "case",
    [
        ("gather", ((("read", 0),), (("pause", 0),)), (("sleep", 1), ("call", 0))),
        ("group", ((("sleep", 1),), (("sleep", 2),)), ()),
    ],
)
def test_nor_does_it_where_timers_are_over_early(case: Joined) -> None:
    compare_with_all_varied(case, "early")
