"""What rewritten functions tell of their accesses, one kind of access after the other."""

from __future__ import annotations

import array
import bisect
import collections
import copy
import ctypes
import dataclasses
import functools
import heapq
import io
import itertools
import operator
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bohrbug.runtime.threads.rewrite import Place, Rewriter, instrumented_callable, set_sink
from bohrbug.runtime.threads.rewrite.scope import Scope


class Recorder:
    """A sink that writes down what it is told; ``labels`` say how to call the objects."""

    def __init__(self, **labels: object) -> None:
        self.labels = {id(value): label for label, value in labels.items()}
        self.accesses: list[str] = []
        self.places: list[Place] = []

    def label(self, owner: object) -> str:
        """What an object is called in the record."""
        if id(owner) in self.labels:
            return self.labels[id(owner)]
        return owner.__name__ if isinstance(owner, type) else type(owner).__name__

    def attribute(self, owner: object, name: str, is_write: bool, place: Place) -> None:
        self._record(f"{self.label(owner)}.{name}", is_write, place)

    def item(self, owner: object, key: object, is_write: bool, place: Place) -> None:
        label = "globals" if owner is globals() else self.label(owner)
        self._record(f"{label}[{key!r}]", is_write, place)

    def whole(self, owner: object, is_write: bool, place: Place) -> None:
        self._record(self.label(owner), is_write, place)

    def breaker(self) -> None:
        self.accesses.append("breaker")

    def _record(self, what: str, is_write: bool, place: Place) -> None:
        self.accesses.append(f"{'write' if is_write else 'read'} {what}")
        self.places.append(place)


REWRITER = Rewriter()


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    set_sink(None)
    REWRITER.restore()


def told(function: Callable[..., object], **arguments: object) -> list[str]:
    """The accesses of a rewritten function; arguments are called by their parameters' names."""
    REWRITER.install_function(function)  # type: ignore[arg-type]
    recorder = Recorder(**arguments)
    set_sink(recorder)
    try:
        function(**arguments)
    finally:
        set_sink(None)
    return recorder.accesses


class Box:
    """An ordinary class with an attribute of the class, one of the instance, and a method."""

    shared = 0

    def __init__(self) -> None:
        self.value = 1

    def method(self) -> int:
        return 5

    @property
    def double(self) -> int:
        return self.value * 2

    @functools.cached_property
    def expensive(self) -> int:
        return 7


class Slotted:
    """A class without an instance dict."""

    __slots__ = ("value",)


@dataclasses.dataclass
class Point:
    """Its methods are generated."""

    x: int
    y: int


counter = 0
limit = 10


# --- Attributes


def test_attribute_read_write_delete() -> None:
    def body(box: Any) -> None:
        box.extra = box.value
        del box.extra

    expected = ["read box.value", "write box.extra", "write box.extra"]
    assert told(body, box=Box()) == expected


def test_augmented_assignment_is_read_then_write() -> None:
    def body(box: Any) -> None:
        box.value += 1

    assert told(body, box=Box()) == ["read box.value", "write box.value"]


def test_the_hook_runs_before_the_value_is_loaded() -> None:
    box = Box()

    class Changing(Recorder):
        def attribute(self, owner: object, name: str, is_write: bool, place: Place) -> None:
            box.value = 99

    def body() -> int:
        return box.value

    REWRITER.install_function(body)  # type: ignore[arg-type]
    set_sink(Changing())
    assert body() == 99


def test_class_attribute_is_the_classes_and_perhaps_the_instances() -> None:
    def body(box: Any) -> None:
        box.shared
        Box.shared += 1
        box.shared = 3
        box.shared

    assert told(body, box=Box()) == [
        "read Box.shared",
        "read box.shared",
        "read Box.shared",
        "write Box.shared",
        "write box.shared",
        "read box.shared",
    ]
    Box.shared = 0


def test_inherited_class_attribute_belongs_to_the_class_that_has_it() -> None:
    class Child(Box):
        pass

    def body(child: Any) -> None:
        Child.shared

    assert "read Box.shared" in told(body, child=Child())


def test_methods_and_properties_are_not_data() -> None:
    def body(box: Any) -> int:
        return int(box.method() + box.double)

    assert told(body, box=Box()) == []


def test_a_rewritten_property_tells_for_itself() -> None:
    def body(box: Any) -> object:
        return box.double

    REWRITER.install_function(Box.double.fget)  # type: ignore[arg-type]
    assert told(body, box=Box()) == ["read box.value"]


def test_cached_property() -> None:
    def body(box: Any) -> object:
        return box.expensive

    rewriter = Rewriter(Scope())
    rewriter.install_function(functools.cached_property.__get__)  # type: ignore[arg-type]
    try:
        accesses = told(body, box=Box())
    finally:
        rewriter.restore()
    # Looked for, not found, computed and stored: the instance's attribute each time.
    about_box = [access for access in accesses if access.endswith("box.expensive")]
    assert about_box[0] == "read box.expensive"
    assert about_box[-1] == "write box.expensive"


def test_slots() -> None:
    def body(slotted: Any) -> None:
        slotted.value = 1
        slotted.value += 1

    expected = ["write slotted.value", "read slotted.value", "write slotted.value"]
    assert told(body, slotted=Slotted()) == expected


def test_module_attribute_is_the_global() -> None:
    import sys

    module = sys.modules[__name__]

    def body(module: Any) -> None:
        module.counter = module.counter + 1
        module.Box

    expected = ["read globals['counter']", "write globals['counter']"]
    assert told(body, module=module) == expected


def test_instance_dict_items_are_attributes() -> None:
    def body(box: Any) -> None:
        vars(box)["value"] = 1
        box.__dict__["value"] += 1
        names = box.__dict__
        names.get("value")
        "value" in names
        len(names)

    assert told(body, box=Box()) == [
        "write box.value",
        "read box.value",
        "write box.value",
        "read box.value",
        "read box.value",
        "read box",
    ]


def test_attribute_functions() -> None:
    def body(box: Any) -> None:
        setattr(box, "value", 1)
        getattr(box, "value")
        hasattr(box, "value")
        object.__setattr__(box, "value", 2)
        object.__getattribute__(box, "value")
        operator.attrgetter("value")(box)
        delattr(box, "value")

    assert told(body, box=Box()) == [
        "write box.value",
        "read box.value",
        "read box.value",
        "write box.value",
        "read box.value",
        "read box.value",
        "write box.value",
    ]


def test_python_setattr_ends_at_object_setattr() -> None:
    class Watched:
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)

    def body(watched: Any) -> None:
        watched.value = 1

    REWRITER.install_function(Watched.__setattr__)  # type: ignore[arg-type]
    assert told(body, watched=Watched()) == ["write watched.value"]


def test_super_attribute() -> None:
    class Child(Box):
        def look(self) -> int:
            return super().shared + super().method()

    def body(child: Any) -> object:
        return child.look()

    REWRITER.install_function(Child.look)
    accesses = told(body, child=Child())
    # Before 3.12 super() is an ordinary call and the attribute one of the super object.
    assert accesses in (["read Box.shared"], [])


def test_dataclass_methods() -> None:
    def body(point: Any) -> bool:
        return bool(Point(1, 2) == point)

    REWRITER.install_function(Point.__init__)
    REWRITER.install_function(Point.__eq__)  # type: ignore[arg-type]
    accesses = told(body, point=Point(1, 2))
    assert accesses[:2] == ["write Point.x", "write Point.y"]
    assert {"read Point.x", "read point.x", "read Point.y", "read point.y"} <= set(accesses)


def test_thread_locals_and_immutable_owners_are_not_shared() -> None:
    def body(local: Any, text: Any, number: Any) -> None:
        local.value = 1
        local.value += 1
        text.upper()
        number.real
        text[0]

    assert told(body, local=threading.local(), text="abc", number=3) == []


def test_ctypes() -> None:
    class Pair(ctypes.Structure):
        _fields_ = (("x", ctypes.c_int),)

    def body(pair: Any, number: Any, numbers: Any) -> None:
        pair.x += 1
        number.value += 1
        numbers[1] += 1

    arguments = {"pair": Pair(), "number": ctypes.c_int(), "numbers": (ctypes.c_int * 3)()}
    assert told(body, **arguments) == [
        "read pair.x",
        "write pair.x",
        "read number.value",
        "write number.value",
        "read numbers[1]",
        "write numbers[1]",
    ]


# --- Globals and cells


def test_globals() -> None:
    def body() -> None:
        global counter
        counter += limit

    expected = ["read globals['counter']", "read globals['limit']", "write globals['counter']"]
    assert told(body) == expected


def test_functions_classes_and_builtins_are_bound_once() -> None:
    def body() -> None:
        Box()
        abs(1)
        told
        heapq

    assert told(body) == []


def test_cells() -> None:
    total = 0

    def body() -> None:
        nonlocal total
        total += 1

    assert told(body) == ["read cell", "write cell"]


def test_a_parameter_that_nobody_stores_is_no_shared_cell() -> None:
    def body(value: int) -> int:
        return (lambda: value + value)()

    assert told(body, value=1) == []


def test_nested_functions_and_class_bodies() -> None:
    def body(box: Any) -> None:
        class Local:
            seen = box.value

        def inner() -> object:
            return (lambda: box.value)()

        inner()
        [box.value for _ in range(1)]
        list(box.value for _ in range(1))  # noqa: C400

    accesses = [access for access in told(body, box=Box()) if "box" in access]
    assert accesses == ["read box.value"] * 4


# --- Subscripts and operators


def test_list() -> None:
    def body(items: Any) -> None:
        items[0] = items[1]
        items[-1]
        items[0:1]
        items[0:1] = [5]
        del items[0]
        items.append(3)
        items.pop()
        len(items)
        3 in items
        items.sort()

    assert told(body, items=[1, 2, 3]) == [
        "read items[1]",
        "write items[0]",
        "read items[2]",
        "read items",
        "write items",
        "write items",
        "write items",
        "write items",
        "read items",
        "read items",
        "write items",
    ]


def test_dict() -> None:
    def body(table: Any) -> None:
        table["a"] = 1
        table["a"]
        table.get("b")
        table.setdefault("b", 2)
        "a" in table
        table.pop("a")
        del table["b"]
        table.update({"c": 1})
        table.clear()
        dict(table)
        {**table}

    accesses = told(body, table={})
    # The dict display in the call of update is local; nothing hides that from a recorder.
    accesses.remove("read dict")
    assert accesses == [
        "write table['a']",
        "read table['a']",
        "read table['b']",
        "write table['b']",
        "read table['a']",
        "write table['a']",
        "write table['b']",
        "write table",
        "write table",
        "read table",
        "read table",
    ]


def test_reading_a_missing_key_of_a_defaultdict_writes() -> None:
    def body(table: Any) -> None:
        table["a"]
        table["a"]
        table.get("b")

    expected = ["write table['a']", "read table['a']", "read table['b']"]
    assert told(body, table=collections.defaultdict(int)) == expected


def test_keys_with_python_code_are_not_touched() -> None:
    class Key:
        hashed = 0

        def __hash__(self) -> int:
            type(self).hashed += 1
            return 1

        def __eq__(self, other: object) -> bool:
            return self is other

    def body(table: Any, key: Any) -> None:
        table[key] = 1

    assert told(body, table={}, key=Key()) == ["write table"]
    assert Key.hashed == 1


def test_dict_views() -> None:
    def body(table: Any) -> None:
        for _ in table.keys():
            pass
        list(table.items())

    assert set(told(body, table={"a": 1})) == {"read table"}


def test_set() -> None:
    def body(members: Any) -> None:
        members.add(1)
        1 in members
        members.discard(1)
        members |= {2}

    accesses = told(body, members=set())
    assert [access for access in accesses if "members" in access] == [
        "write members[1]",
        "read members[1]",
        "write members[1]",
        "write members",
    ]


def test_deque_ordered_dict_bytearray_array_memoryview() -> None:
    def body(queue: Any, ordered: Any, octets: Any, numbers: Any) -> None:
        queue.append(1)
        queue.popleft()
        ordered["a"] = 1
        ordered.move_to_end("a")
        octets[0] = 1
        octets.extend(b"x")
        numbers[0] += 1
        memoryview(octets)[0]

    accesses = told(
        body,
        queue=collections.deque(),
        ordered=collections.OrderedDict(),
        octets=bytearray(1),
        numbers=array.array("i", [1]),
    )
    assert accesses == [
        "write queue",
        "write queue",
        "write ordered['a']",
        "write ordered",
        "write octets[0]",
        "write octets",
        "read numbers[0]",
        "write numbers[0]",
        "read octets",
        "read octets",
    ]


def test_containers_derived_from_builtin_ones() -> None:
    class Stack(list[int]):
        def push(self, value: int) -> None:
            super().append(value)

    def body(stack: Any) -> None:
        stack.push(1)
        stack[0]
        list.append(stack, 2)

    REWRITER.install_function(Stack.push)
    expected = ["write stack", "read stack[0]", "write stack"]
    assert told(body, stack=Stack()) == expected


@pytest.mark.parametrize("items", [[1], {1: 2}, {1}, collections.deque([1]), bytearray(1)])
def test_truth(items: Any) -> None:
    def body(items: Any) -> None:
        if items:
            pass
        while not items:
            pass
        bool(items)
        items and None
        None if items else 1

    assert told(body, items=items) == ["read items"] * 5


def test_comparison_operators_and_text() -> None:
    def body(left: Any, right: Any) -> None:
        left == right
        left + right
        left += right
        f"{left}"
        str(right)

    assert told(body, left=[1], right=[2]) == [
        "read left",
        "read right",
        "read left",
        "read right",
        "read right",
        "write left",
        "read left",
        "read right",
    ]


# --- Iteration


def test_each_step_of_a_loop_reads_the_container() -> None:
    def body(items: Any) -> None:
        for _ in items:
            pass

    assert told(body, items=[1, 2]) == ["read items"] * 3


def test_loops_through_other_iterators() -> None:
    def body(items: Any) -> None:
        for _ in enumerate(items):
            pass
        for _ in zip(items, map(str, items)):
            pass

    accesses = told(body, items=[1])
    # Two steps of enumerate; two of zip, each with one step of map.
    assert accesses == ["read items"] * 6


def test_unpacking_and_stars() -> None:
    def body(items: Any, table: Any) -> None:
        _one, _two = items
        _first, *_rest = items
        [*items]
        print(*items, end="", file=io.StringIO())
        dict(**table)

    accesses = told(body, items=[1, 2], table={"a": 1})
    assert [access for access in accesses if "items" in access] == ["read items"] * 4
    assert [access for access in accesses if "table" in access] == ["read table"]


def test_shared_iterators_and_generators() -> None:
    class Holder:
        pass

    def body(ticket: Any, numbers: Any, iterator: Any) -> None:
        next(ticket)
        for _ in numbers:
            pass
        iterator.__next__()

    accesses = told(
        body,
        ticket=itertools.count(),
        numbers=(number for number in (1,)),
        iterator=iter([1]),
    )
    assert accesses == [
        "write ticket",
        "write numbers",
        "write numbers",
        "read list",
        "write iterator",
    ]


def test_fresh_iterators_are_nobody_elses() -> None:
    def body() -> None:
        for _ in range(2):
            pass
        [number for number in range(2)]  # noqa: C416
        list(number for number in range(2))  # noqa: C400

    assert [access for access in told(body) if "range" in access] == []


def test_a_zip_longest_with_exhausted_parts_is_looked_into() -> None:
    def body(items: Any) -> None:
        for _ in itertools.zip_longest(items, [1, 2, 3]):
            pass

    assert told(body, items=[]).count("read items") == 1


# --- Calls


def test_builtin_functions_read_their_arguments() -> None:
    def body(items: Any) -> None:
        len(items)
        sorted(items)
        sum(items)
        min(items)
        any(items)
        list(items)
        tuple(items)
        set(items)
        ",".join(map(str, items))
        repr(items)
        functools.reduce(operator.add, items)

    accesses = [access for access in told(body, items=[1]) if "items" in access]
    assert accesses == ["read items"] * 11


def test_heapq_bisect_counter_operator() -> None:
    def body(heap: Any, counts: Any) -> None:
        heapq.heappush(heap, 1)
        heapq.heappop(heap)
        bisect.insort(heap, 1)
        operator.setitem(heap, 0, 1)
        operator.itemgetter(0)(heap)
        counts.update("a")

    rewriter = Rewriter()
    rewriter.install_function(collections.Counter.update)  # type: ignore[arg-type]
    try:
        accesses = told(body, heap=[], counts=collections.Counter())
    finally:
        rewriter.restore()
    about_heap = [access for access in accesses if "heap" in access]
    assert about_heap == ["write heap"] * 3 + ["write heap[0]", "read heap[0]"]
    assert "write counts" in accesses


def test_bound_methods_kept_for_later() -> None:
    def body(items: Any) -> None:
        append = items.append
        append(1)
        functools.partial(items.append, 2)()

    assert told(body, items=[]) == ["write items", "write items"]


def test_keyword_arguments_do_not_disturb() -> None:
    def body(items: Any) -> None:
        sorted(items, key=lambda item: -item, reverse=True)
        items.sort(key=str)
        max(items, default=3)

    expected = ["read items", "write items", "read items"]
    assert told(body, items=[2, 1]) == expected


def test_copies() -> None:
    def body(items: Any) -> None:
        copy.copy(items)

    rewriter = Rewriter()
    rewriter.install_function(copy.copy)  # type: ignore[arg-type]
    try:
        assert "read items" in told(body, items=[1])
    finally:
        rewriter.restore()


def test_lru_cache() -> None:
    @functools.lru_cache
    def cached(number: int) -> int:
        return number

    def body(cached: Any) -> None:
        cached(1)

    assert told(body, cached=cached) == ["write cached"]


def test_weak_value_dictionary() -> None:
    table: Any = weakref.WeakValueDictionary()
    box = Box()

    def body(table: Any, box: Any) -> None:
        table["a"] = box
        table.get("a")

    rewriter = Rewriter()
    rewriter.install_function(weakref.WeakValueDictionary.__setitem__)  # type: ignore[arg-type]
    rewriter.install_function(weakref.WeakValueDictionary.get)  # type: ignore[arg-type]
    try:
        accesses = told(body, table=table, box=box)
    finally:
        rewriter.restore()
    assert "write dict['a']" in accesses
    assert "read dict['a']" in accesses


def test_instrumented_callable() -> None:
    items: list[int] = []
    append = instrumented_callable(items.append)
    recorder = Recorder(items=items)
    set_sink(recorder)
    append(1)
    set_sink(None)
    append(2)
    assert items == [1, 2]
    assert recorder.accesses == ["write items"]


def test_instrumented_callable_leaves_python_functions_alone() -> None:
    box = Box()
    assert instrumented_callable(test_copies) is test_copies
    assert instrumented_callable(Box) is Box
    bound = box.method
    assert instrumented_callable(bound) is bound


# --- Places and breakers


def test_places_are_those_of_the_original_code() -> None:
    def body(box: Any) -> None:
        box.value = 1
        box.value = 2

    original = body.__code__
    REWRITER.install_function(body)  # type: ignore[arg-type]
    recorder = Recorder()
    set_sink(recorder)
    body(Box())
    body(Box())
    set_sink(None)
    positions = list(original.co_positions())
    lines = [positions[offset // 2][0] for _, offset in recorder.places]
    first = original.co_firstlineno
    assert lines == [first + 1, first + 2] * 2
    assert all(code is original for code, _ in recorder.places)
    assert recorder.places[0] is recorder.places[2]


def test_breakers() -> None:
    def body() -> None:
        for _ in (1, 2):
            abs(1)

    rewriter = Rewriter(breakers=True)
    rewriter.install_function(body)  # type: ignore[arg-type]
    recorder = Recorder()
    set_sink(recorder)
    body()
    set_sink(None)
    rewriter.restore()
    # Entering, two calls, two jumps back.
    assert recorder.accesses == ["breaker"] * 5


def test_breakers_in_generators_and_coroutines() -> None:
    def delegating() -> Iterator[int]:
        yield from (1, 2)

    async def nothing() -> int:
        return 3

    async def waiting() -> int:
        return await nothing()

    rewriter = Rewriter(breakers=True)
    for function in (delegating, nothing, waiting):
        rewriter.install_function(function)  # type: ignore[arg-type]
    recorder = Recorder()
    set_sink(recorder)
    assert list(delegating()) == [1, 2]
    with pytest.raises(StopIteration) as ended:
        waiting().send(None)
    set_sink(None)
    rewriter.restore()
    assert ended.value.value == 3
    assert "breaker" in recorder.accesses
