"""Real primitives that were made before an exploration, in the attributes of classes."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads import queues, thread_state
from bohrbug.runtime.threads.adoption import Adoption
from bohrbug.runtime.threads.installation import installation
from bohrbug.runtime.threads.locks import RLock, lock
from bohrbug.runtime.threads.namespaces import with_subclasses
from bohrbug.runtime.threads.queues import RealSimpleQueue
from bohrbug.runtime.threads.replacement import Function
from bohrbug.runtime.threads.thread_state import RealLocal
from tests.programs.together import together

STAND_INS: dict[str, tuple[Callable[[], Any], type]] = {
    "Lock": (threading.Lock, lock),
    "RLock": (threading.RLock, RLock),
    "SimpleQueue": (RealSimpleQueue, queues.SimpleQueue),
    "local": (RealLocal, thread_state.local),
}


class Base:
    pass


def plain(**attributes: Any) -> type:
    return type("Plain", (), attributes)


def derived(**attributes: Any) -> type:
    """Its objects have the ``__dict__`` that those of its base have."""
    return type("Derived", (Base,), attributes)


def slotted(**attributes: Any) -> type:
    return type("Slotted", (), {"__slots__": (), **attributes})


def of_metaclass(**attributes: Any) -> type:
    class Meta(type):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(cls, other: object) -> bool:
            raise AssertionError("nobody's business")

    return Meta("OfMetaclass", (), attributes)


KINDS = pytest.mark.parametrize("make_class", [plain, derived, slotted, of_metaclass])


@KINDS
@pytest.mark.parametrize("name", STAND_INS)
def test_what_a_class_holds_is_exchanged(make_class: Callable[..., type], name: str) -> None:
    make, stand_in = STAND_INS[name]
    holder: Any = make_class(held=make())

    def get() -> Any:
        return holder.held

    # The interpreter remembers where it found the attribute.
    for _ in range(100):
        get()
    installation.install()
    try:
        assert type(get()) is stand_in
    finally:
        installation.restore()


@KINDS
def test_functions_that_a_class_holds_are_exchanged_and_put_back(
    make_class: Callable[..., type],
) -> None:
    holder: Any = make_class(direct=time.sleep, static=staticmethod(time.sleep))

    def get() -> tuple[Any, Any]:
        return holder.direct, holder.static

    for _ in range(100):
        get()
    installation.install()
    try:
        assert all(type(each) is not BuiltinFunctionType for each in get())
    finally:
        installation.restore()
    assert all(type(each) is BuiltinFunctionType for each in get())


def test_what_a_test_puts_into_a_class_stays() -> None:
    holder: Any = plain(pause=time.sleep)
    installation.install()
    try:
        holder.pause = len
    finally:
        installation.restore()
    assert holder.pause is len


def test_a_copy_of_what_a_class_holds_is_no_class() -> None:
    held = threading.Lock()
    copy = dict(vars(plain(held=held)))
    installation.install()
    try:
        assert type(copy["held"]) is lock
    finally:
        installation.restore()


class Shared:
    lock = threading.Lock()
    queue: Any = queue.SimpleQueue()


def test_a_lock_and_a_queue_of_a_class_are_controlled() -> None:
    def test() -> None:
        total = [0]

        def add() -> None:
            with Shared.lock:
                before = total[0]
                total[0] = before + 1
            Shared.queue.put(1)

        def take() -> None:
            assert Shared.queue.get() == Shared.queue.get() == 1

        together(take, add, add)
        assert total == [2]

    assert bohrbug.explore(test, strategy="dpor").verdict.kind is VerdictKind.HOLDS


def test_all_subclasses_are_found_once() -> None:
    class One(Base):
        pass

    class Other(Base):
        pass

    class Both(One, Other):
        pass

    found = with_subclasses(Base)
    assert len(found) == len({id(each) for each in found})
    assert {One, Other, Both} <= set(found)


def test_what_stands_for_a_builtin_function_is_an_object_as_any_other() -> None:
    """Though it says that it is a builtin function, which has to be made anew."""
    holder: Any = Function(os.getpid, os.getpid)
    original, replacement = object(), object()
    holder.held = original
    adoption = Adoption(set())
    adoption.exchange([(original, replacement)], {id(original)}, [holder])
    assert holder.held is replacement
    adoption.restore()
    assert holder.held is original
