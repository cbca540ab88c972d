"""The root task once all others were joined: nobody is told what it accesses by itself."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads import control, last_task
from bohrbug.runtime.threads.data.variables import Variables
from bohrbug.runtime.threads.last_task import Company, SinkOfLastTask


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_task, "MANY_FUNCTIONS", 0)


def is_silent() -> bool:
    execution = control.current.execution
    return execution is not None and type(execution.sink) is SinkOfLastTask


def together(*functions: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Counter:
    def __init__(self) -> None:
        self.value = 0

    def add(self) -> None:
        self.value += 1


@pytest.fixture
def looked_for(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether the execution was silent, for each attribute of which the variable was looked for."""
    found: list[bool] = []
    usual = Variables.shadow_of_attribute

    def look(self: Variables, owner: Any, name: str, *more: Any) -> Any:
        if name == "value":
            found.append(is_silent())
        return usual(self, owner, name, *more)

    monkeypatch.setattr(Variables, "shadow_of_attribute", look)
    yield found


def phases(seen: list[bool], join: Callable[..., None] = together) -> None:
    counter = Counter()
    seen.append(is_silent())
    join(counter.add)
    seen.append(is_silent())
    join(lambda: seen.append(is_silent()))
    seen.append(is_silent())


def test_it_is_silent_while_the_root_task_is_the_last_one() -> None:
    seen: list[bool] = []
    bohrbug.explore(lambda: phases(seen), executions=3)
    assert seen[-4:] == [False, True, False, True]


def test_it_is_silent_after_the_end_of_a_pool() -> None:
    def in_a_pool(*functions: Callable[[], Any]) -> None:
        with ThreadPoolExecutor(1) as pool:
            for function in functions:
                pool.submit(function)

    seen: list[bool] = []
    bohrbug.explore(lambda: phases(seen, in_a_pool), executions=3)
    assert seen[-4:] == [False, True, False, True]


def test_it_is_not_silent_while_another_thread_is_left_or_was_not_joined() -> None:
    seen: list[bool] = []

    def test() -> None:
        counter, stop = Counter(), threading.Event()
        other = threading.Thread(target=stop.wait)
        other.start()
        together(counter.add)
        seen.append(is_silent())
        stop.set()
        # It may have ended by now, but only by chance.
        counter.add()
        seen.append(is_silent())
        other.join()

    bohrbug.explore(test, executions=10)
    assert not any(seen)


def test_small_tests_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_task, "MANY_FUNCTIONS", 1000)
    seen: list[bool] = []
    bohrbug.explore(lambda: phases(seen), executions=3)
    assert not any(seen)


def test_nobody_looks_for_the_variables_of_what_the_last_task_accesses(
    looked_for: list[bool],
) -> None:
    def test() -> None:
        counter = Counter()
        together(counter.add, counter.add)
        if is_silent():
            for _ in range(100):
                counter.add()

    bohrbug.explore(test, executions=5)
    assert looked_for
    assert not any(looked_for)


@pytest.mark.parametrize("is_locked", [False, True])
def test_what_comes_after_it_is_explored(is_locked: bool) -> None:
    """The same object, in a second round of threads."""

    def test() -> None:
        counter, lock = Counter(), threading.Lock()
        together(counter.add)
        counter.add()

        def add() -> None:
            if is_locked:
                with lock:
                    counter.add()
            else:
                counter.add()

        together(add, add)
        assert counter.value == 4

    result = bohrbug.explore(test)
    assert result.verdict.kind is (VerdictKind.HOLDS if is_locked else VerdictKind.FAILED)


def test_what_the_last_task_lets_go_of_dies() -> None:
    """Also what is in a container that we have held, because tasks raced for it."""

    def test() -> None:
        box: dict[str, list[Counter]] = {"list": [Counter()]}
        reference = weakref.ref(box["list"][0])

        def look() -> None:
            box["list"].append(Counter())
            box["list"].pop()

        together(look, look)
        box["list"] = []
        assert reference() is None

    result = bohrbug.explore(test)
    assert result.verdict.kind is not VerdictKind.FAILED, result.verdict
    assert not Company.falls_silent


def test_weak_references_that_the_last_task_makes_are_followed_later() -> None:
    """Whoever ends a life is seen once there is company again."""

    def test() -> None:
        together(lambda: None)
        box = [Counter()]
        reference = weakref.ref(box[0])
        found: list[bool] = []
        together(box.clear, lambda: found.append(reference() is None))
        assert found == [False]

    assert bohrbug.explore(test).verdict.kind is VerdictKind.FAILED
