"""What was made before an exploration, or between two, is found without looking at everything."""

from __future__ import annotations

import _thread
import functools
import gc
import queue
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from threading import Lock as ImportedLock
from typing import Any

import pytest

import bohrbug
from bohrbug.runtime.threads import locks, queues, recollection
from bohrbug.runtime.threads.installation import installation

pytestmark = pytest.mark.skipif(
    not recollection.IS_POSSIBLE, reason="every exploration looks at all objects here"
)

REAL_SLEEP = time.sleep
REAL_LOCK = type(_thread.allocate_lock())


class Plain:
    """Has attributes."""


class Slotted:
    __slots__ = ("held",)


class OfClass:
    held: Any = None


def explored(look: Callable[[], object]) -> list[object]:
    """What a function sees while it is explored."""
    seen: list[object] = []

    def test() -> None:
        seen.append(look())
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()

    bohrbug.explore(test, executions=2)
    return seen[:1]


@pytest.fixture
def walks() -> Iterator[Callable[[], int]]:
    """How many walks over all objects there were since the test began."""
    # After the second one everything is known: the first one may have made caches.
    explored(int)
    explored(int)
    gc.disable()
    before = installation.recollection.walks
    yield lambda: installation.recollection.walks - before
    gc.enable()


def test_nothing_new_needs_no_walk(walks: Callable[[], int]) -> None:
    explored(int)
    explored(int)
    assert walks() == 0


# Each makes an object that holds something, and returns it with how to see what it holds.
def in_attribute(held: Any) -> Callable[[], Any]:
    holder = Plain()
    holder.held = held  # type: ignore[attr-defined]
    return lambda: holder.held  # type: ignore[attr-defined]


def in_slot(held: Any) -> Callable[[], Any]:
    holder = Slotted()
    holder.held = held
    return lambda: holder.held


def in_list(held: Any) -> Callable[[], Any]:
    holder = [held]
    return lambda: holder[0]


def in_dictionary(held: Any) -> Callable[[], Any]:
    holder = {"key": [held]}
    return lambda: holder["key"][0]


def in_closure(held: Any) -> Callable[[], Any]:
    return lambda: held


def in_default(held: Any) -> Callable[[], Any]:
    def look(value: Any = held) -> Any:
        return value

    return look


def in_partial(held: Any) -> Callable[[], Any]:
    holder = functools.partial(id, held)
    return lambda: holder.args[0]


def in_module(held: Any) -> Callable[[], Any]:
    module = types.ModuleType("a_module")
    module.held = held  # type: ignore[attr-defined]
    return lambda: module.held


def in_class(held: Any) -> Callable[[], Any]:
    cls = type("Made", (), {"held": staticmethod(held) if callable(held) else held})
    return lambda: cls.held  # type: ignore[attr-defined]


HOLDERS = [
    in_attribute,
    in_slot,
    in_list,
    in_dictionary,
    in_closure,
    in_default,
    in_partial,
    in_module,
    in_class,
]


@pytest.mark.parametrize("hold", HOLDERS)
def test_what_is_made_between_two_explorations_is_exchanged(
    hold: Callable[[Any], Callable[[], Any]], walks: Callable[[], int]
) -> None:
    sleep, lock, allocate = hold(time.sleep), hold(threading.Lock()), hold(ImportedLock)
    for _ in range(2):
        assert explored(sleep) != [REAL_SLEEP]
        assert isinstance(explored(lock)[0], locks.lock)
        assert explored(allocate) == [locks.lock]
        # Originals come back; locks that were exchanged may stay.
        assert sleep() is REAL_SLEEP
        assert allocate() is ImportedLock
    assert walks() <= 6


OLD: dict[str, Any] = {
    "list": [None],
    "attribute": Plain(),
    "slot": Slotted(),
    "dictionary": {},
    "class": OfClass,
}


def _set_item(holder: Any, value: Any) -> None:
    holder[0] = value


def _set_held(holder: Any, value: Any) -> None:
    holder.held = value


@pytest.mark.parametrize(
    ("name", "put", "get"),
    [
        ("list", _set_item, lambda holder: holder[0]),
        ("dictionary", _set_item, lambda holder: holder[0]),
        ("attribute", _set_held, lambda holder: holder.held),
        ("slot", _set_held, lambda holder: holder.held),
        ("class", _set_held, lambda holder: holder.held),
    ],
)
def test_old_objects_that_hold_something_new_are_found(
    name: str,
    put: Callable[[Any, Any], None],
    get: Callable[[Any], Any],
    walks: Callable[[], int],
) -> None:
    holder = OLD[name]
    real = threading.Lock()
    assert type(real) is REAL_LOCK
    try:
        put(holder, real)
        assert isinstance(explored(lambda: get(holder))[0], locks.lock)
        # What holds a replacement gets a real one again, which has been there for long.
        put(holder, real)
        assert isinstance(explored(lambda: get(holder))[0], locks.lock)
        put(holder, time.perf_counter)
        assert explored(lambda: get(holder)) != [time.perf_counter]
        assert get(holder) is time.perf_counter
    finally:
        put(holder, None)


def test_a_reference_that_moves_from_one_old_object_to_another_is_found() -> None:
    first, second = Plain(), Plain()
    first.held, second.held = time.monotonic, None  # type: ignore[attr-defined]
    real = time.monotonic
    for _ in range(2):
        assert explored(lambda: first.held) != [real]  # type: ignore[attr-defined]
    first.held, second.held = None, first.held  # type: ignore[attr-defined]
    # As often as before, but by another.
    assert explored(lambda: second.held) != [real]  # type: ignore[attr-defined]
    assert second.held is real  # type: ignore[attr-defined]


def test_nothing_is_kept_alive() -> None:
    class Holder:
        held = None

    holder = Holder()
    holder.held = time.sleep  # type: ignore[assignment]
    explored(int)
    explored(int)
    gone: list[int] = []
    weakref.finalize(holder, gone.append, 1)
    del holder
    assert gone == [1]
    assert explored(int) == [0]


def test_queues_and_locals_made_between_two_explorations() -> None:
    explored(int)
    items: queue.SimpleQueue[int] = queue.SimpleQueue()
    values = threading.local()
    values.x = 5
    holder = in_attribute(items)
    assert isinstance(explored(holder)[0], queues.SimpleQueue)
    assert explored(lambda: values.x) == [5]


def test_a_collection_between_two_explorations_leads_to_a_walk(walks: Callable[[], int]) -> None:
    lock = in_attribute(threading.Lock())
    gc.collect()
    assert isinstance(explored(lock)[0], locks.lock)
    assert walks() == 1
