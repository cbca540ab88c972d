"""What code in C accesses that is no container: the tables, and what is in none of them."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import copyreg
import csv
import decimal
import functools
import importlib
import io
import json.encoder
import locale
import pickle
import pkgutil
import re
import struct
import sys
import threading
import types
import warnings
import zlib
from collections.abc import Iterator
from types import BuiltinFunctionType, ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
from coverage.tracer import CTracer

import bohrbug
from bohrbug import VerdictKind
from bohrbug.exploration.conditions import sort_unseen
from bohrbug.model.outcome import UNMET, Uncontrolled
from bohrbug.report.verdict import one_line_verdict
from bohrbug.runtime.threads.rewrite import (
    actions,
    attributes,
    builtins_table,
    c_code,
    functions_table,
    library_table,
    tell,
    unknown,
)
from bohrbug.runtime.threads.rewrite.classes import FOREIGN, is_written_in_c
from tests.programs.together import together
from tests.unit.rewriting import told

pytestmark = pytest.mark.usefixtures("restored_code")


# --- The tables are complete


_OF_PYTHON_ITSELF = (
    "_test",
    "_ctypes_test",
    "_xx",
    "xx",
    "_lsprof",
    "idlelib",
    "antigravity",
    "this",
    "turtle",
)
_WITH_ANOTHER_TOOLKIT = {"_tkinter", "tkinter", "_curses_panel", "__main__"}


def _modules_in_c() -> Iterator[ModuleType]:
    folders = [path for path in sys.path if path.endswith("lib-dynload")]
    found = {module.name for module in pkgutil.iter_modules(folders)}
    for name in sorted(found | set(sys.builtin_module_names)):
        if name.startswith(_OF_PYTHON_ITSELF) or name in _WITH_ANOTHER_TOOLKIT:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                yield importlib.import_module(name)
            except ImportError:
                continue


def test_no_function_of_the_standard_library_is_unknown() -> None:
    unknown_functions = {
        f"{module.__name__}.{name}"
        for module in _modules_in_c()
        for name, function in vars(module).items()
        if isinstance(function, BuiltinFunctionType)
        and isinstance(function.__self__, ModuleType)
        and function not in functions_table.FUNCTIONS
        and library_table.effect_of(function) is library_table.UNKNOWN
    }
    assert not unknown_functions


def test_no_module_is_in_two_groups() -> None:
    assert not library_table.READING_MODULES & library_table.HARMLESS_MODULES


def test_each_action_is_done_by_something() -> None:
    """What a merge once lost: an action of a descriptor's methods, which no table named."""
    methods = [*builtins_table._METHODS.values(), *library_table.METHODS.values()]
    named = {
        *(effect.action for effect in functions_table.FUNCTIONS.values()),
        *(effect.action for of_class in methods for effect in of_class.values()),
        *(library_table.effect_of(function).action for function in _functions_in_c()),
    }
    assert not set(actions.ACTIONS) - named


def _functions_in_c() -> Iterator[BuiltinFunctionType]:
    for module in _modules_in_c():
        for function in vars(module).values():
            if isinstance(function, BuiltinFunctionType):
                yield function


def test_classes_of_the_table_are_there() -> None:
    for class_, method in (
        (type(csv.writer(io.StringIO())), "writerow"),
        (type(zlib.compressobj()), "compress"),
        (struct.Struct, "pack_into"),
        (ElementTree.Element, "set"),
        (decimal.Context, "divide"),
        (type(re.compile("").scanner("")), "match"),  # type: ignore[attr-defined]
        (pickle.Pickler, "dump"),
    ):
        assert method in builtins_table.METHODS[class_], class_


# --- What is foreign


def test_classes_in_python_are_none_in_c() -> None:
    class Slotted:
        __slots__ = ("x",)

    class Plain:
        pass

    assert not is_written_in_c(Slotted)
    assert not is_written_in_c(Plain)
    assert is_written_in_c(ElementTree.Element)
    assert is_written_in_c(dict)


@pytest.mark.parametrize("thing", [1, "", [], {}, (), object(), ValueError(), re.compile("")])
def test_what_is_known_or_a_value_is_not_foreign(thing: object) -> None:
    assert not FOREIGN[type(thing)]


def test_a_class_that_derives_from_a_foreign_one_is_foreign() -> None:
    class Mine(ElementTree.Element):
        pass

    assert FOREIGN[Mine]
    assert FOREIGN[decimal.Context]
    # It hashes by value.
    assert not FOREIGN[decimal.Decimal]


def test_attributes_of_foreign_objects_are_told() -> None:
    def body(element: Any, context: Any) -> None:
        element.text = "x"
        element.text
        context.prec = 3

    found = told(body, element=ElementTree.Element("x"), context=decimal.Context())
    assert found == ["write element.text", "read element.text", "write context.prec"]


def test_items_of_foreign_objects_are_told_as_the_whole() -> None:
    def body(element: Any, child: Any) -> None:
        element[0]
        element[0] = child
        del element[0]
        len(element)

    parent = ElementTree.Element("x")
    parent.append(ElementTree.Element("y"))
    found = told(body, element=parent, child=ElementTree.Element("y"))
    assert found == ["read element", "write element", "write element", "read element"]


def test_a_call_of_a_foreign_object_works_with_what_it_has_inside() -> None:
    class Calling(CTracer):  # type: ignore[misc]
        pass

    def body(tracer: Any) -> None:
        with contextlib.suppress(TypeError):
            tracer()

    # It is a trace function written in C.
    assert "write tracer" in told(body, tracer=Calling())


# --- Effects of the library


def test_structs() -> None:
    def body(data: Any) -> None:
        struct.unpack_from("i", data)
        struct.pack_into("i", data, 0, 1)
        struct.Struct("i").unpack(data)
        struct.Struct("i").pack_into(data, 0, 1)

    assert told(body, data=bytearray(4)) == ["read data", "write data"] * 2


def test_a_csv_writer_writes_to_its_stream() -> None:
    stream = io.StringIO()

    def body(writer: Any, stream: Any, row: Any) -> None:
        writer.writerow(row)

    found = told(body, writer=csv.writer(stream), stream=stream, row=["x"])
    assert set(found) == {"write writer", "write stream", "read row"}


def test_what_reads_all_reads_what_lies_below() -> None:
    def body(outer: Any, inner: Any, encode: Any, table: Any) -> None:
        pickle.dumps(outer)
        encode(outer, 0)

    inner = ["x"]
    encode = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
        {}, str, str, None, ":", ",", False, False, True
    )
    table = copyreg.dispatch_table
    found = told(body, outer={"inner": inner}, inner=inner, encode=encode, table=table)
    assert found == ["read table", *["read outer", "read inner"] * 2]


def test_reading_all_attributes_of_an_object() -> None:
    def body(point: Any) -> None:
        point.__reduce_ex__(4)

    assert told(body, point=types.SimpleNamespace(x=1)) == ["read point"]


def test_state_of_the_process() -> None:
    def body() -> None:
        old = csv.field_size_limit()
        csv.field_size_limit(old)
        sys.getrecursionlimit()
        locale._setlocale(0, None)  # type: ignore[attr-defined]

    assert told(body) == ["read Named", "write Named", "read Named", "read Named"]


# --- What is in no table


@pytest.fixture(autouse=True)
def nothing_is_stored() -> None:
    """What the code of other tests stores on classes says nothing of these."""
    attributes.forget_stored_names()


@pytest.fixture
def checksum_in_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of the library is taken for one of an extension that nobody knows."""
    monkeypatch.setitem(functions_table.FUNCTIONS, zlib.crc32, library_table.UNKNOWN)


def _about_arguments(accesses: list[str]) -> list[str]:
    return sorted(access for access in accesses if "dict[" not in access)


@pytest.mark.usefixtures("checksum_in_no_table")
def test_an_unknown_function_writes_what_it_is_given_and_reads_what_lies_below() -> None:
    def body(outer: Any, inner: Any, box: Any) -> None:
        with contextlib.suppress(TypeError):
            zlib.crc32(outer, box)

    inner = ["x"]
    box = types.SimpleNamespace(x=1)
    found = told(body, outer=[inner], inner=inner, box=box)
    assert _about_arguments(found) == ["read inner", "write box", "write outer"]


@pytest.mark.usefixtures("checksum_in_no_table")
def test_further_arguments_of_an_unknown_function_are_told() -> None:
    def body(first: Any, second: Any, third: Any, fourth: Any, named: Any) -> None:
        with contextlib.suppress(TypeError):
            zlib.crc32(first, second, third, fourth, value=named)  # type: ignore[call-arg]

    found = told(body, first=[], second=[1], third=[2], fourth=[3], named=[4])
    expected = ["write first", "write fourth", "write named", "write second", "write third"]
    assert _about_arguments(found) == expected


def test_further_arguments_of_known_methods_are_read_at_most() -> None:
    def body(values: Any, shown: Any, key: Any) -> None:
        values.sort(key=key)
        "{shown}".format(shown=shown)

    found = told(body, values=[], shown=[1], key=functools.partial(repr))
    assert found == ["write values", "read shown"]


@pytest.mark.usefixtures("checksum_in_no_table")
def test_plain_values_among_many_keywords_matter_to_unknown_functions_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``sysconfig`` formats with a thousand of them, sixty times while a logger is set up."""
    seen: list[Any] = []
    monkeypatch.setattr(
        c_code, "further_argument", lambda callable_, value, place: seen.append(value)
    )

    def body(keywords: Any) -> None:
        "{one}".format(**keywords)
        with contextlib.suppress(TypeError):
            zlib.crc32(**keywords)

    told(body, keywords={"one": 1, "two": "text", "three": [3], "four": None})
    assert seen == [[3], 1, "text", [3], None]


def test_names_of_methods_in_c_have_the_module_of_their_class() -> None:
    element = ElementTree.Element("x")
    assert unknown.name_of_function(element.set) == "xml.etree.ElementTree.Element.set"
    assert unknown.name_of_function(zlib.crc32) == "zlib.crc32"


def test_what_an_unknown_function_reaches() -> None:
    inner: list[int] = []
    stream = io.BytesIO()
    point = types.SimpleNamespace(inner=inner)
    things = [(point, stream.write), 1, "text", print, Any, threading.Lock()]
    found = list(unknown.reached(things, is_write=True))
    # What lies in a tuple is given, too; what hangs on an object is only read.
    assert sorted((type(thing).__name__, writes) for thing, writes in found) == [
        ("BytesIO", True),
        ("SimpleNamespace", True),
        ("list", False),
    ]


def test_no_more_is_looked_at_than_a_call_is_worth() -> None:
    things = [[number] for number in range(2 * unknown.MOST_REACHED)]
    assert len(list(unknown.reached([things], is_write=False))) == unknown.MOST_REACHED


def test_what_unknown_code_reaches_is_looked_for_once_somebody_is_told() -> None:
    answers: list[bool] = []

    def with_a_thread() -> None:
        answers.append(tell.passes_on())
        threading.Thread(target=int).start()
        answers.append(tell.passes_on())

    async def in_a_loop() -> None:
        # A single thread, but steps of tasks are answers of all the same.
        await asyncio.sleep(0)
        answers.append(tell.passes_on())

    bohrbug.explore(with_a_thread, executions=2)
    assert answers[:2] == [False, True]
    answers.clear()
    bohrbug.explore(lambda: asyncio.run(in_a_loop()), executions=2)
    assert any(answers)
    assert not tell.passes_on()


def _two_checksums(guarded: bool) -> None:
    data = bytearray(2)
    lock = threading.Lock()

    def look() -> None:
        if guarded:
            with lock:
                zlib.crc32(data)
        else:
            zlib.crc32(data)

    together(look, look)


@pytest.mark.usefixtures("checksum_in_no_table")
def test_what_tasks_meet_in_unknown_code_is_a_condition() -> None:
    result = bohrbug.explore(lambda: _two_checksums(guarded=False))
    assert result.verdict.kind is VerdictKind.HOLDS
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == ("zlib.crc32 as one step",)
    assert not result.verdict.caveats
    # Nobody knows whether that is a race.
    assert not result.races
    assert one_line_verdict(result).startswith("holds, taking zlib.crc32 as one step: ")


@pytest.mark.usefixtures("checksum_in_no_table")
def test_what_is_ordered_by_a_lock_is_no_condition() -> None:
    result = bohrbug.explore(lambda: _two_checksums(guarded=True))
    assert result.verdict.kind is VerdictKind.HOLDS
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


def _two_prints(stream: io.StringIO, guarded: bool) -> None:
    lock = threading.Lock()

    def work() -> None:
        with lock if guarded else contextlib.nullcontext():
            print("a", "b", file=stream)

    together(work, work)


@pytest.mark.parametrize(("guarded", "taking"), [(False, ("print as one step",)), (True, ())])
def test_print_is_taken_as_one_step_where_tasks_meet_in_it(
    guarded: bool, taking: tuple[str, ...]
) -> None:
    result = bohrbug.explore(lambda: _two_prints(io.StringIO(), guarded))
    assert result.verdict.kind is VerdictKind.HOLDS
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == taking


class _Pieces(io.StringIO):
    def write(self, text: str) -> int:
        return super().write(text)


def test_print_is_no_step_where_the_program_writes_its_pieces() -> None:
    result = bohrbug.explore(lambda: _two_prints(_Pieces(), guarded=False))
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


def test_what_only_the_interpreter_knows_is_a_condition_while_others_run() -> None:
    thing: list[int] = []
    result = bohrbug.explore(lambda: together(lambda: sys.getrefcount(thing), list))
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == ("what sys.getrefcount gave as it was",)


def test_to_look_into_a_frame_of_another_task_is_a_condition() -> None:
    def test(is_own: bool) -> None:
        frames: list[types.FrameType] = []
        begun, looked = threading.Event(), threading.Event()

        def work() -> None:
            frames.append(sys._getframe())
            begun.set()
            looked.wait()
            frames.clear()

        def look() -> None:
            begun.wait()
            frame = sys._getframe() if is_own else frames[0]
            assert "begun" in frame.f_locals
            looked.set()

        together(work, look)

    result = bohrbug.explore(lambda: test(is_own=False))
    assert not result.failures
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == ("what a frame of another task gave as it was",)
    result = bohrbug.explore(lambda: test(is_own=True))
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


def test_to_change_whether_a_class_is_abstract_is_a_condition() -> None:
    def test(changes: bool) -> None:
        class Base(abc.ABC):
            @abc.abstractmethod
            def method(self) -> None: ...

        def implement() -> None:
            if changes:
                Base.method = lambda self: None  # type: ignore[method-assign]
            abc.update_abstractmethods(Base)

        together(implement, list)

    result = bohrbug.explore(lambda: test(changes=True))
    assert result.verdict.conditions is not None
    assert len(result.verdict.conditions.taking) == 1
    assert "abc.update_abstractmethods" in result.verdict.conditions.taking[0]
    result = bohrbug.explore(lambda: test(changes=False))
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


def test_functions_are_no_objects_of_unknown_code() -> None:
    state = types.SimpleNamespace(count=0)

    def add(self: Any) -> None:
        self.count += 1

    result = bohrbug.explore(lambda: together(lambda: add.__get__(state)(), list))
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking
    assert not FOREIGN[types.FunctionType]
    assert not FOREIGN[types.BuiltinFunctionType]


def test_what_only_the_interpreter_knows_is_no_condition_of_a_task_alone() -> None:
    def test() -> None:
        together(list, list)
        sys.getrefcount(test)

    result = bohrbug.explore(test)
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


@pytest.mark.usefixtures("checksum_in_no_table")
def test_what_only_one_task_reaches_is_no_condition() -> None:
    result = bohrbug.explore(lambda: together(*[lambda: zlib.crc32(bytearray(2))] * 2))
    assert result.verdict.kind is VerdictKind.HOLDS
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


@pytest.mark.usefixtures("checksum_in_no_table")
def test_conditions_are_the_same_with_workers() -> None:
    result = bohrbug.explore(lambda: _two_checksums(guarded=False), workers=2)
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == ("zlib.crc32 as one step",)


def test_conditions_and_doubts_are_told_apart() -> None:
    seen = Uncontrolled()
    seen.assume("b as one step")
    seen.note("a child process")
    seen.note("a child process")
    seen.assume("a as one step")
    seen.spin("at poller.py:12")
    seen.log("Task was destroyed")
    seen.log("Task was destroyed")
    seen.call_unsafely("stop of an event loop")
    seen.note(UNMET + "worker")
    assert sort_unseen(seen.counts) == (
        ("a as one step", "b as one step"),
        ("at poller.py:12",),
        # In how many executions counts, and not how often.
        (("Task was destroyed", 1),),
        (("stop of an event loop", 1),),
        (("worker", 1),),
        (("a child process", 2),),
    )
