"""Weak references: what reads a life, and what ends one."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.runtime.threads.quiet_sets import patches
from bohrbug.runtime.threads.rewrite import lives
from bohrbug.runtime.threads.rewrite.place import Place
from tests.programs.together import together

HERE = Place((compile("", "here", "exec"), 0))


class Node:
    pass


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    lives.forget()
    yield
    lives.forget()


def test_a_reference_without_a_callback_is_known_when_its_object_is_dead() -> None:
    node = Node()
    reference = weakref.ref(node)
    lives.made(node, weakref.ref, HERE)
    living = lives.read(reference, HERE)
    del node
    assert reference() is None
    assert lives.read(reference, HERE) is living


def test_what_was_dead_when_it_was_first_read_is_one_variable() -> None:
    node = Node()
    reference = weakref.ref(node)
    del node
    assert lives.read(reference, HERE) is lives.UNKNOWN


def test_each_object_has_a_life_of_its_own() -> None:
    one, other = Node(), Node()
    assert lives.look(one, HERE) is lives.read(weakref.ref(one), HERE)
    assert lives.look(one, HERE) is not lives.look(other, HERE)
    assert lives.look(3, HERE) is None


def test_reading_keeps_nothing_alive() -> None:
    node = Node()
    reference = weakref.ref(node)
    proxy = weakref.proxy(node)
    with_callback = weakref.ref(node, lambda _: None)
    lives.made(node, weakref.ref, HERE)
    for each in (reference, proxy, with_callback):
        lives.read(each, HERE)
    del node
    assert reference() is None


def test_references_with_callbacks_are_not_kept() -> None:
    called: list[int] = []
    node = Node()
    reference = weakref.ref(node, lambda _: called.append(1))
    lives.read(reference, HERE)
    del reference, node
    assert not called


@pytest.mark.parametrize("make", [weakref.ref, weakref.proxy])
def test_the_object_of_a_reference(make: Callable[[Any], Any]) -> None:
    node = Node()
    reference = make(node)
    assert lives.target_of(reference) is node
    references = gc.get_referrers(node)
    for _ in range(10):
        lives.target_of(reference)
    assert len(gc.get_referrers(node)) == len(references)
    del node, references
    assert lives.target_of(reference) is None


def test_only_what_another_task_ends_matters() -> None:
    node = Node()
    lives.read(weakref.ref(node), HERE)
    del node
    assert lives.forget() == []


def holds_the_node_in_a_list() -> None:
    """The list can't be referenced weakly, and would live on."""
    nodes = [[Node()]]
    reference = weakref.ref(nodes[0][0])
    seen: list[object] = []

    def look() -> None:
        seen.append(len(nodes[0]))
        seen.append(reference() is None)

    threads = [threading.Thread(target=each) for each in (look, nodes.clear)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reference() is None


def test_objects_in_containers_die_when_they_would() -> None:
    result = bohrbug.explore(holds_the_node_in_a_list, executions=100)
    # The list is looked up after it was taken out, and that is all.
    assert {failure.outcome.exception for failure in result.failures} == {"IndexError"}


def counts_a_set() -> None:
    members: weakref.WeakSet[Node] = weakref.WeakSet()
    node = Node()
    members.add(node)

    def look() -> None:
        assert len(members) == 1

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_nobody_is_told_of_the_sets_of_all_threads() -> None:
    result = bohrbug.explore(counts_a_set, executions=50)
    assert not result.races
    assert result.verdict.kind is VerdictKind.HOLDS


def test_sets_of_threads_are_what_they_were_afterwards() -> None:
    dangling = vars(threading)["_dangling"]
    remove = dangling._remove
    patches.install()
    try:
        assert type(dangling) is not weakref.WeakSet
        assert isinstance(dangling, weakref.WeakSet)
        assert threading.main_thread() in dangling
    finally:
        patches.restore()
    assert type(dangling) is weakref.WeakSet
    assert dangling._remove is remove


def test_a_place_is_noted_once_however_many_references_are_made_there() -> None:
    """``WeakKeyDictionary`` makes one for each lookup, and each time all places are asked for."""
    other = Place((HERE[0], 2))
    node = Node()
    for place in (HERE, other, HERE, HERE, other):
        lives.made(node, None, place)
    assert lives._life_of(node).places() == [HERE, other]


@pytest.mark.parametrize("strategy", ["dpor", "dfs"])
def test_a_death_belongs_to_the_step_before_what_finalizers_do(strategy: str) -> None:
    """They are called before us, as they were made later."""
    seen: set[tuple[object, ...]] = set()

    def test() -> None:
        box = {"node": Node()}
        reference = weakref.ref(box["node"])
        ends: list[str] = []
        weakref.finalize(box["node"], ends.append, "end")
        read: list[bool] = []

        def drop() -> None:
            box["node"] = Node()

        def look() -> None:
            read.append(reference() is None)
            read.append(reference() is None)

        threads = [threading.Thread(target=task) for task in (drop, look)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen.add(tuple(read))

    result = bohrbug.explore(test, strategy=strategy)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert seen == {(True, True), (False, True), (False, False)}


def let_go_at_once(guard: Any, *, is_seen: bool = True) -> None:
    node, ended = [Node()], []
    reference = weakref.ref(node[0])

    def drop() -> None:
        with guard:
            node.clear()
            if is_seen:
                # The other task may still have it.
                ended.append(reference() is None)

    def look() -> None:
        with guard:
            ended.append(reference() is None)

    together(drop, look)


def let_go_at_once_and_be_told(guard: Any) -> None:
    node, told, seen = [Node()], [], []
    reference = weakref.ref(node[0])
    tells = weakref.ref(node[0], told.append)

    def look() -> None:
        with guard:
            seen.append(reference() is None)

    assert tells() is node[0]
    together(node.clear, look)


def kept_for_a_while() -> None:
    node = [Node()]
    reference = weakref.ref(node[0])

    def look() -> None:
        found = reference()
        assert found is None or isinstance(found, Node)

    together(node.clear, look)


@pytest.mark.parametrize(
    ("program", "is_condition"),
    [
        (lambda: let_go_at_once(nullcontext()), True),
        (lambda: let_go_at_once(threading.Lock()), False),
        # Who looks is the only one who could see that it has prolonged the life.
        (lambda: let_go_at_once(nullcontext(), is_seen=False), False),
        (lambda: let_go_at_once_and_be_told(nullcontext()), True),
        (kept_for_a_while, False),
    ],
)
def test_what_lies_within_an_expression_is_a_condition(
    program: Callable[[], None], is_condition: bool
) -> None:
    verdict = bohrbug.explore(program).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conditions is not None
    said = ("expressions that get an object by a weak reference, and keep it nowhere, as one step",)
    assert verdict.conditions.taking == (said if is_condition else ())
