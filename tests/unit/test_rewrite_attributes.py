"""What rewritten functions tell of their accesses: attributes, globals and cells."""

from __future__ import annotations

import ctypes
import functools
import heapq
import operator
import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from bohrbug.runtime.threads.rewrite import Place, Rewriter, set_sink
from bohrbug.runtime.threads.rewrite.instance_dicts import (
    let_owners_go,
    owner_of_dict,
    remember_dict,
)
from bohrbug.runtime.threads.rewrite.scope import Scope
from tests.unit.rewriting import REWRITER, Box, Point, Recorder, Slotted, told

pytestmark = pytest.mark.usefixtures("restored_code")

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


def test_class_patterns_read_the_attributes_that_they_name() -> None:
    def body(point: Any, box: Any) -> None:
        match point:
            case Box(value=1):
                pass
            case Point(1, y=2):
                pass
        match box:
            case Box(value=value):
                assert value == 1
        match 5:
            case int(number):
                assert number == 5

    assert told(body, point=Point(1, 2), box=Box()) == [
        *("read point.x", "read point.y"),
        "read box.value",
    ]


def test_class_patterns_of_what_is_no_class_fail_as_ever() -> None:
    def body() -> None:
        match 5:
            case Point.x():  # type: ignore[misc]
                pass

    Point.x = 3
    try:
        with pytest.raises(TypeError, match=r"class|type"):
            told(body)
    finally:
        del Point.x


def test_import_from_reads_the_global_of_the_module() -> None:
    module = ModuleType("counters")
    module.number = 1  # type: ignore[attr-defined]

    def body() -> int:
        from counters import number  # type: ignore[import-not-found]

        return number  # type: ignore[no-any-return]

    sys.modules["counters"] = module
    try:
        assert told(body) == ["read dict['number']"]
    finally:
        del sys.modules["counters"]


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
    # Blocks of memory, and the first byte in them.
    assert told(body, **arguments) == [
        "read Named[0]",
        "write Named[0]",
        "read Named[0]",
        "write Named[0]",
        "read Named[4]",
        "write Named[4]",
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


def test_owners_of_dicts_that_are_kept_go_after_an_execution() -> None:
    class Owner:
        pass

    kept, weakly_known = SimpleNamespace(), Owner()
    for owner in (kept, weakly_known):
        remember_dict(owner)
        assert owner_of_dict(vars(owner)) is owner
    let_owners_go()
    assert owner_of_dict(vars(kept)) is None
    assert owner_of_dict(vars(weakly_known)) is weakly_known
    # In the next execution it is known again.
    remember_dict(kept)
    assert owner_of_dict(vars(kept)) is kept
    let_owners_go()
    assert owner_of_dict(vars(kept)) is None
