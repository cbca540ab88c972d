"""Broken programs: what is referred to weakly dies between two looks."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from tests.programs.together import together


class _Node:
    def __init__(self, value: int = 1) -> None:
        self.value = value


class _Holder:
    """Has the only strong reference to an object."""

    def __init__(self) -> None:
        self.node: _Node | None = _Node()

    def drop(self) -> None:
        self.node = None


def _use_twice(reference: Callable[[], _Node | None]) -> None:
    if reference() is not None:
        assert reference().value == 1


def weak_reference_checked_then_used() -> None:
    """AttributeError: None has no value."""
    holder = _Holder()
    reference = weakref.ref(holder.node)
    together(lambda: _use_twice(reference), holder.drop)


def weak_reference_that_ends_first() -> None:
    """AttributeError, if the other task was faster: no check at all."""
    holder = _Holder()
    reference = weakref.ref(holder.node)

    def use() -> None:
        assert reference().value == 1

    together(holder.drop, use)


def object_that_another_task_is_about_to_use() -> None:
    """It lives on: the other has got it already, and has not yet read its value."""
    holder = _Holder()
    reference = weakref.ref(holder.node)

    def drop_and_look() -> None:
        holder.drop()
        assert reference() is None

    together(lambda: _value_of(holder), drop_and_look)


def _value_of(holder: _Holder) -> int:
    try:
        return holder.node.value
    except AttributeError:
        return 0


def end_told_to_another_task() -> None:
    """It is the other task that uses the object last, and is told of its end."""
    holder = _Holder()
    ended: list[int] = []
    weakref.finalize(holder.node, ended.append, 1)

    def drop_and_look() -> None:
        holder.drop()
        assert ended

    together(lambda: _value_of(holder), drop_and_look)


def weak_reference_with_a_callback() -> None:
    """AssertionError: the callback tells of the end, which the other has not expected."""
    holder = _Holder()
    ended: list[int] = []
    reference = weakref.ref(holder.node, lambda _: ended.append(1))

    def use() -> None:
        if reference() is not None:
            assert not ended

    together(use, holder.drop)


def weak_subclass_checked_then_used() -> None:
    """AttributeError: None has no value."""

    class Named(weakref.ref):
        name = "node"

    holder = _Holder()
    reference = Named(holder.node)
    together(lambda: _use_twice(reference), holder.drop)


def weak_reference_to_an_item() -> None:
    """AttributeError: the list was cleared in between."""
    nodes = [_Node()]
    reference = weakref.ref(nodes[0])
    together(lambda: _use_twice(reference), nodes.clear)


def weak_reference_to_a_popped_item() -> None:
    """AttributeError: the item was popped in between."""
    nodes = {"node": _Node()}
    reference = weakref.ref(nodes["node"])

    def pop() -> None:
        nodes.pop("node")

    together(lambda: _use_twice(reference), pop)


def weak_method_checked_then_called() -> None:
    """TypeError: None is not callable."""
    holders = [_Holder()]
    method = weakref.WeakMethod(holders[0].drop)

    def use() -> None:
        if method() is not None:
            method()()

    together(use, holders.clear)


def proxy_used() -> None:
    """ReferenceError: the object is no more."""
    holder = _Holder()
    proxy = weakref.proxy(holder.node)

    def use() -> None:
        assert proxy.value == 1

    together(use, holder.drop)


def proxy_lost_update() -> None:
    """AssertionError: one of two increments through proxies is lost."""
    node = _Node(0)
    proxy = weakref.proxy(node)

    def increment() -> None:
        proxy.value += 1

    together(increment, increment)
    assert node.value == 2


def weak_values_checked_then_read() -> None:
    """KeyError: the entry goes with its object."""
    holder = _Holder()
    cache: weakref.WeakValueDictionary[str, _Node] = weakref.WeakValueDictionary()
    cache["node"] = holder.node

    def use() -> None:
        if "node" in cache:
            assert cache["node"].value == 1

    together(use, holder.drop)


def weak_keys_counted_twice() -> None:
    """AssertionError: the entry has gone with its key."""
    holder = _Holder()
    counts: weakref.WeakKeyDictionary[_Node, int] = weakref.WeakKeyDictionary()
    counts[holder.node] = 1
    seen: list[int] = []

    def use() -> None:
        seen.append(len(counts))
        seen.append(len(counts))

    together(use, holder.drop)
    assert seen[0] == seen[1]


def weak_set_counted_twice() -> None:
    """AssertionError: a member was gone at the second look."""
    holder = _Holder()
    members: weakref.WeakSet[_Node] = weakref.WeakSet()
    members.add(holder.node)
    seen: list[int] = []

    def use() -> None:
        seen.append(len(members))
        seen.append(len(list(members)))

    together(use, holder.drop)
    assert seen[0] == seen[1]


def finalizer_alive_then_detached() -> None:
    """TypeError: what was alive has ended, so that there is nothing to detach."""
    holder = _Holder()
    finalizer = weakref.finalize(holder.node, int)

    def use() -> None:
        if finalizer.alive:
            target, *_ = finalizer.detach()
            assert target.value == 1

    together(use, holder.drop)


def last_of_two_references() -> None:
    """AssertionError: both holders let go before the look."""
    one, other = _Holder(), _Holder()
    other.node = one.node
    reference = weakref.ref(one.node)

    def use() -> None:
        assert reference() is not None

    together(one.drop, other.drop, use)


def local_variable_deleted() -> None:
    """AttributeError: the task that had the object lets go of its local variable."""
    shared: list[Callable[[], _Node | None]] = []

    def own() -> None:
        node = _Node()
        shared.append(weakref.ref(node))
        del node

    def use() -> None:
        if shared and shared[0]() is not None:
            assert shared[0]().value == 1

    together(use, own)


def local_variable_gone_with_its_function() -> None:
    """AttributeError: the function that had the object returns."""
    shared: list[Callable[[], _Node | None]] = []

    def own() -> None:
        node = _Node()
        shared.append(weakref.ref(node))

    def use() -> None:
        if shared and shared[0]() is not None:
            assert shared[0]().value == 1

    together(use, own)
