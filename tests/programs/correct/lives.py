"""Correct programs: they hold a reference while they use what may die."""

from __future__ import annotations

import threading
import weakref

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


def weak_reference_held_while_used() -> None:
    """The local variable keeps the object alive."""
    holder = _Holder()
    reference = weakref.ref(holder.node)

    def use() -> None:
        node = reference()
        if node is not None:
            assert reference() is node and node.value == 1

    together(use, holder.drop)


def weak_reference_to_what_lives() -> None:
    """Nobody lets go of the object."""
    node = _Node()
    reference = weakref.ref(node)

    def use() -> None:
        assert reference().value == 1

    together(use, use)


def weak_reference_with_a_lock() -> None:
    """A lock keeps check and use together."""
    holder = _Holder()
    reference = weakref.ref(holder.node)
    lock = threading.Lock()

    def use() -> None:
        with lock:
            if reference() is not None:
                assert reference().value == 1

    def drop() -> None:
        with lock:
            holder.drop()

    together(use, drop)


def proxy_with_a_lock() -> None:
    """A lock keeps reading and writing together."""
    node = _Node(0)
    proxy = weakref.proxy(node)
    lock = threading.Lock()

    def increment() -> None:
        with lock:
            proxy.value += 1

    together(increment, increment)
    assert node.value == 2


def proxy_of_what_may_end() -> None:
    """It is said what happens then."""
    holder = _Holder()
    proxy = weakref.proxy(holder.node)

    def use() -> None:
        try:
            assert proxy.value == 1
        except ReferenceError:
            pass

    together(use, holder.drop)


def weak_values_got() -> None:
    """One look only."""
    holder = _Holder()
    cache: weakref.WeakValueDictionary[str, _Node] = weakref.WeakValueDictionary()
    cache["node"] = holder.node

    def use() -> None:
        node = cache.get("node")
        if node is not None:
            assert node.value == 1

    together(use, holder.drop)


def weak_set_of_what_lives() -> None:
    """Members that live stay."""
    nodes = [_Node(), _Node()]
    members: weakref.WeakSet[_Node] = weakref.WeakSet()
    lock = threading.Lock()

    def add(number: int) -> None:
        with lock:
            members.add(nodes[number])

    together(lambda: add(0), lambda: add(1))
    assert len(members) == 2


def finalizer_called_once() -> None:
    """Whoever drops the last reference calls it."""
    holder = _Holder()
    called: list[int] = []
    weakref.finalize(holder.node, called.append, 1)
    together(holder.drop, holder.drop)
    assert called == [1]


def weak_reference_into_a_list_that_was_let_go() -> None:
    """The list can't be referenced weakly, and nobody has it any more."""

    def use() -> None:
        kept = [_Node()]
        reference = weakref.ref(kept[0])
        kept.append(_Node(2))
        del kept
        assert reference() is None

    together(use, use)


def callback_of_what_was_in_a_list_that_was_let_go() -> None:
    """It has been called before the next statement."""

    def use() -> None:
        died: list[object] = []
        kept = [_Node()]
        reference = weakref.ref(kept[0], lambda each: died.append(each))
        assert reference() is kept[0]
        kept = []
        assert died == [reference] and not kept

    together(use, use)


class _Counted:
    def __init__(self, ended: list[int]) -> None:
        self.ended = ended

    def __del__(self) -> None:
        self.ended.append(1)


def finalizer_of_what_was_in_a_list_that_was_let_go() -> None:
    """It has run before the next statement."""

    def use() -> None:
        ended: list[int] = []
        kept = [_Counted(ended)]
        assert kept[0].ended is ended
        del kept
        assert ended == [1]

    together(use, use)


def finalizer_of_a_class_made_in_the_test() -> None:
    """It has run before what comes after the next change."""

    def use() -> None:
        ended: list[int] = []

        class Local:
            def __del__(self) -> None:
                ended.append(1)

        kept = [Local()]
        kept.append(Local())
        del kept
        assert ended == [1, 1]

    together(use, use)
