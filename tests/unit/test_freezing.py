"""Objects are frozen for tests that are executed again and again, not for those with one task."""

from __future__ import annotations

import gc
import weakref

from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.plan import Plan
from bohrbug.platforms.threads.platform import runtime_of
from bohrbug.runtime.threads import heap


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
