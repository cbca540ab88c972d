"""Functions that are called for the first time in a late execution: their races are found, too."""

from __future__ import annotations

import importlib
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import pytest

import bohrbug
from bohrbug.exploration.verdicts import CaveatKind, VerdictKind
from bohrbug.runtime.threads.control import current
from bohrbug.runtime.threads.rewrite import Discovery, iteration
from bohrbug.runtime.threads.rewrite.attributes import is_stored
from tests.programs.together import together


class State:
    """What tasks share."""

    def __init__(self, guard: AbstractContextManager[object]) -> None:
        self.open = True
        self.other = 0
        self.calls = 0
        self.guard = guard


def late_function(state: State) -> None:
    """A lost update, unless the guard is a lock."""
    with state.guard:
        state.calls += 1


class Late:
    """The same in methods that the interpreter or C code calls."""

    def __init__(self, state: State) -> None:
        self.state = state

    @property
    def value(self) -> int:
        with self.state.guard:
            self.state.calls += 1
        return 1

    def __len__(self) -> int:
        with self.state.guard:
            self.state.calls += 1
        return 1

    def __call__(self, *_: object) -> int:
        with self.state.guard:
            self.state.calls += 1
        return 1


def by_lambda(state: State) -> None:
    actions = {"late": lambda: setattr(state, "calls", state.calls + 1)}
    with state.guard:
        actions["late"]()


def by_closure(state: State) -> None:
    def add() -> None:
        with state.guard:
            state.calls += 1

    add()


def by_generator(state: State) -> None:
    def numbers() -> Iterator[int]:
        with state.guard:
            state.calls += 1
        yield 1

    list(numbers())


WAYS: dict[str, Callable[[State], object]] = {
    "function": late_function,
    "property": lambda state: Late(state).value,
    "length": lambda state: len(Late(state)),
    "callable": lambda state: Late(state)(),
    "mapped": lambda state: list(map(Late(state), [1])),
    "lambda": by_lambda,
    "closure": by_closure,
    "generator": by_generator,
}


def program(way: Callable[[State], object], is_correct: bool) -> Callable[[], None]:
    """A test in which two tasks go that way only where neither is begun in its turn."""

    def test() -> None:
        state = State(threading.Lock() if is_correct else nullcontext())
        lock = threading.Lock()
        done: list[int] = []

        def work() -> None:
            if state.open:
                way(state)
                done.append(1)
            with lock:
                state.other += 1

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        state.open = False
        for thread in threads:
            thread.join()
        assert state.calls == len(done)

    return test


@pytest.mark.parametrize("name", WAYS)
def test_what_is_called_late_is_seen(name: str) -> None:
    result = bohrbug.explore(program(WAYS[name], is_correct=False), minimise=False, causes=0)
    assert result.verdict.kind is VerdictKind.FAILED


@pytest.mark.parametrize("name", WAYS)
def test_correct_programs_that_call_functions_late_hold(name: str) -> None:
    result = bohrbug.explore(program(WAYS[name], is_correct=True), races="ignore")
    assert result.verdict.kind in (VerdictKind.HOLDS, VerdictKind.HOLDS_WITHIN_BOUND)
    assert not result.verdict.caveats


@contextmanager
def no_tool_ids() -> Iterator[None]:
    """Within it all ids of ``sys.monitoring`` are taken."""
    if sys.version_info < (3, 12):
        yield
        return
    monitoring = sys.monitoring
    taken = [tool for tool in range(6) if monitoring.get_tool(tool) is None]
    for tool in taken:
        monitoring.use_tool_id(tool, "somebody else")
    try:
        yield
    finally:
        for tool in taken:
            monitoring.free_tool_id(tool)


def test_it_is_seen_without_tool_ids() -> None:
    with no_tool_ids():
        result = bohrbug.explore(program(late_function, is_correct=False), minimise=False, causes=0)
    assert result.verdict.kind is VerdictKind.FAILED


def nested_in_what_is_known(guard: AbstractContextManager[object]) -> None:
    """A function that is called under few schedules, in one that each execution calls."""
    state = State(guard)

    calls: list[int] = []

    def late() -> None:
        with guard:
            state.calls += 1
        calls.append(1)

    def use() -> None:
        was_open = state.open
        if was_open and not state.open:
            late()

    def close() -> None:
        state.open = False
        if state.other:
            late()

    def mark() -> None:
        state.other = 1

    together(use, close, mark)
    assert state.calls == len(calls)


def test_a_late_function_in_a_known_one_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bohrbug.exploration.learning.WATCHED_AT_FIRST", 4)
    monkeypatch.setattr("bohrbug.exploration.learning.WATCHED_LATER", 1 << 40)
    for guard, kind in ((nullcontext(), VerdictKind.FAILED), (None, VerdictKind.HOLDS)):

        def test() -> None:
            nested_in_what_is_known(threading.Lock() if guard is None else guard)

        assert bohrbug.explore(test, minimise=False, causes=0).verdict.kind is kind


def test_ids_of_debuggers_coverage_and_profilers_are_left_alone() -> None:
    if sys.version_info < (3, 12):
        pytest.skip("there is no sys.monitoring")
    before = [sys.monitoring.get_tool(tool) for tool in (0, 1, 2)]
    with Discovery():
        assert [sys.monitoring.get_tool(tool) for tool in (0, 1, 2)] == before


@pytest.mark.parametrize("ids", [nullcontext, no_tool_ids])
def test_a_discovery_tells_of_what_is_fresh(
    ids: Callable[[], AbstractContextManager[None]],
) -> None:
    state = State(nullcontext())
    with ids(), Discovery() as discovery:
        late_function(state)
        assert late_function.__code__ in [code for code, _ in discovery.take()]
        late_function(state)
        assert late_function.__code__ not in [code for code, _ in discovery.take()]


@pytest.mark.parametrize("ids", [nullcontext, no_tool_ids])
def test_a_discovery_notices_every_call(ids: Callable[[], AbstractContextManager[None]]) -> None:
    state = State(nullcontext())
    with ids(), Discovery() as discovery:
        late_function(state)
        assert not discovery.take_noticed()
        discovery.notice([late_function.__code__])
        for _ in range(3):
            late_function(state)
            assert discovery.take_noticed()
        assert not discovery.take_noticed()


@pytest.mark.parametrize("ids", [nullcontext, no_tool_ids])
def test_what_began_while_nobody_listened_is_told_later(
    ids: Callable[[], AbstractContextManager[None]],
) -> None:
    state = State(nullcontext())
    with ids(), Discovery() as discovery:
        discovery.listen(False)
        late_function(state)
        discovery.listen(True)
        assert late_function.__code__ not in [code for code, _ in discovery.take()]
        late_function(state)
        assert late_function.__code__ in [code for code, _ in discovery.take()]


def test_what_begins_in_a_thread_outside_of_the_execution_is_told_when_the_test_calls_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = State(nullcontext())
    # What is compiled learns from this module where to look for the thread.
    importlib.import_module("bohrbug.runtime.threads.execution")
    with Discovery() as discovery:
        monkeypatch.setattr(current, "thread", threading.get_ident())
        outside = threading.Thread(target=late_function, args=(state,))
        outside.start()
        outside.join()
        assert late_function.__code__ not in [code for code, _ in discovery.take()]
        late_function(state)
        assert late_function.__code__ in [code for code, _ in discovery.take()]


def test_an_exploration_does_not_depend_on_what_earlier_ones_stored() -> None:
    # It stores the defaults of a function.
    bohrbug.explore(lambda: together(lambda: namedtuple("Pair", "a b"), print), executions=20)
    assert not is_stored("__defaults__")


def test_loops_over_one_list_in_two_tasks_have_iterators_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    items = [1, 2, 3]
    advanced: list[object] = []
    monkeypatch.setattr(
        iteration, "_step_and_advance", lambda iterator, place, depth: advanced.append(iterator)
    )

    def loop() -> None:
        for item in items:
            assert item
        assert [item + 1 for item in items]

    bohrbug.explore(lambda: together(loop, loop), executions=20)
    assert not advanced
    shared = iter(items)
    bohrbug.explore(lambda: together(lambda: next(shared, 0), lambda: next(shared, 0)))
    assert advanced


def test_a_search_that_may_begin_again_no_more_promises_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bohrbug.exploration.explorer.RESTARTS", 0)
    shared = State(nullcontext())

    def test() -> None:
        shared.open = True
        program(late_function, is_correct=True)()
        together(lambda: setattr(shared, "other", shared.other + 1), lambda: shared.other)

    result = bohrbug.explore(test, races="ignore")
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert any(caveat.kind is CaveatKind.GIVEN_UP for caveat in result.verdict.caveats)
