"""Objects are frozen for tests that are executed again and again, not for those with one task."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from bohrbug.accelerator import native
from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.plan import Plan
from bohrbug.platforms.threads.platform import explorer_of, runtime_of
from bohrbug.runtime.threads import heap
from bohrbug.runtime.threads import installation as module_of_installation
from bohrbug.runtime.threads.installation import installation
from bohrbug.runtime.threads.instrumentation import Instrumentation


class _Part:
    """Refers to itself."""

    def __init__(self) -> None:
        self.own = self


_SHARED = ["held by this module alone"]

_PARTS: weakref.WeakSet[_Part] = weakref.WeakSet()


def test_objects_are_frozen_before_the_second_execution() -> None:
    frozen: list[int] = []
    parts: list[int] = []

    def test() -> None:
        frozen.append(gc.get_freeze_count())
        parts.append(len(_PARTS))
        _PARTS.add(_Part())

    gc.unfreeze()
    runtime = runtime_of(test, ExploreOptions(), begins_unseen=True)
    with runtime:
        runtime.execute(Plan())
        runtime.execute(Plan())
    assert frozen[0] == 0
    assert frozen[1] > 1_000
    assert gc.get_freeze_count() == 0
    # Nor is garbage of the first execution, which the second would find weakly.
    assert parts == [0, 0]


def test_older_objects_are_not_looked_at_before_the_second_execution() -> None:
    """All of a session: that takes longer than most tests."""
    entered: list[list[int]] = []
    collected: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            collected.append(info["generation"])

    def count() -> None:
        counts[0] += 1

    def test() -> None:
        entered.append(list(collected))
        thread = threading.Thread(target=count)
        thread.start()
        count()
        thread.join()

    counts = [0]
    gc.unfreeze()
    runtime = runtime_of(test, ExploreOptions(), begins_unseen=True)
    with runtime:
        gc.callbacks.append(note)
        try:
            executed = runtime.execute(Plan())
            runtime.execute(Plan())
        finally:
            gc.callbacks.remove(note)
    # Functions were found and rewritten in between.
    assert executed.has_learned
    assert entered == [[], [0]]


def test_garbage_of_a_test_that_collects_is_collected_however_old_it_is() -> None:
    parts: list[int] = []

    def test() -> None:
        parts.append(len(_PARTS))
        part = _Part()
        _PARTS.add(part)
        gc.collect()

    runtime = runtime_of(test, ExploreOptions(), begins_unseen=True)
    with runtime:
        runtime.execute(Plan())
        runtime.execute(Plan())
    assert parts == [0, 0]


def test_what_a_test_with_one_task_has_left_is_no_matter_of_a_full_collection() -> None:
    runtime = runtime_of(lambda: _PARTS.add(_Part()), ExploreOptions(), begins_unseen=True)
    collected: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            collected.append(info["generation"])

    gc.callbacks.append(note)
    try:
        with runtime:
            runtime.execute(Plan())
    finally:
        gc.callbacks.remove(note)
    assert 2 not in collected
    gc.collect()
    assert not _PARTS


def test_a_test_with_one_task_needs_no_look_at_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything rewritten or frozen for it, once a session has taken control."""
    made: list[str] = []

    def note(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def noting(*args: Any, **kwargs: Any) -> Any:
            made.append(name)
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, noting)

    def test() -> None:
        with threading.Lock():
            time.sleep(1.0)

    installation.install()
    try:
        for name in ("freeze", "unfreeze", "all_functions", "objects_of_types"):
            note(heap, name)
        note(module_of_installation, "survey")
        note(Instrumentation, "rewrite")
        note(gc, "collect")
        options = ExploreOptions()
        explorer_of(test, "a test with one task", options, begins_unseen=True).explore()
        assert made == []
        # What is counted is what others need.
        explorer_of(lambda: _run_thread(test), "another", options, begins_unseen=True).explore()
        assert {"freeze", "unfreeze", "rewrite", "collect"} <= set(made)
    finally:
        installation.restore()


def _run_thread(function: Callable[[], object]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_a_program_that_asks_for_objects_finds_those_that_were_frozen() -> None:
    """Such as hypothesis, that wants to know whether somebody else has an object."""
    found: list[bool] = []

    def test() -> None:
        found.append(any(each is globals() for each in gc.get_referrers(_SHARED)))
        gc.freeze()
        heap.pass_over()
        found.append(any(each is _SHARED for each in gc.get_objects()))

    runtime = runtime_of(test, ExploreOptions())
    with runtime:
        runtime.execute(Plan())
        runtime.execute(Plan())
    assert found == [True] * 4


@pytest.mark.skipif(native is None, reason="functions are found only where nothing is frozen")
def test_collections_pass_over_what_rewriting_makes_later() -> None:
    made = {"__name__": __name__}
    for number in range(60):
        exec(f"async def add_{number}(counts):\n    counts[{number}] += 1\n", made)
    frozen: list[int] = []

    async def call_all(counts: list[int]) -> None:
        await asyncio.sleep(0)
        for number in range(60 if len(frozen) > 4 else 0):
            await made[f"add_{number}"](counts)  # type: ignore[operator]

    async def test() -> None:
        frozen.append(gc.get_freeze_count())
        counts = [0] * 60
        await asyncio.gather(call_all(counts), call_all(counts))

    bohrbug.explore(test, strategy="random", executions=10, seconds=None)
    assert frozen[-1] > frozen[4] + 60
    assert gc.get_freeze_count() == 0


def test_what_is_found_weakly_is_collected_before_the_next_execution() -> None:
    parts: list[int] = []

    async def use() -> None:
        parts.append(len(_PARTS))
        part = _Part()
        _PARTS.add(part)
        await asyncio.sleep(0)

    async def test() -> None:
        await asyncio.gather(use(), use())

    bohrbug.explore(test, strategy="random", executions=20, seconds=None)
    assert set(parts) == {0, 1}
    assert not any(parts[::2])
