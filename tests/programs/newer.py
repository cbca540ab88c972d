"""Programs for newer Pythons, as text: broken, or correct with a lock.

Each text defines ``program(guard)``. The linters read the syntax of the oldest Python.
"""

from __future__ import annotations

from typing import NamedTuple

BEGINNING = """\
import asyncio
import threading
import types
from tests.programs.together import together

"""


class Newer(NamedTuple):
    """One of them.

    Attributes:
        since: the first version of Python that runs it.
        text: its source.
    """

    since: tuple[int, int]
    text: str

    @property
    def source(self) -> str:
        """The source of a module that has it."""
        return BEGINNING + self.text


PROGRAMS = {
    "variable_of_a_frame_that_has_ended": Newer(
        (3, 13),
        """
def program(guard):
    import sys
    def make():
        count = 0
        return sys._getframe().f_locals
    variables = make()
    def work():
        with guard:
            variables["count"] = variables["count"] + 1
    together(work, work)
    assert variables["count"] == 2
""",
    ),
    "variables_of_a_frame_looked_at_twice": Newer(
        (3, 13),
        """
def program(guard):
    import sys
    def make():
        count = 0
        return sys._getframe().f_locals
    variables = make()
    def look():
        with guard:
            first, second = dict(variables), variables.copy()
        assert first == second
    def change():
        with guard:
            variables.update({"count": 1})
    together(look, change)
""",
    ),
    "value_of_a_type_alias": Newer(
        (3, 12),
        """
def program(guard):
    made = []
    def make():
        made.append(object())
        return made[-1]
    type Alias = make()
    seen = []
    def work():
        with guard:
            seen.append(Alias.__value__)
    together(work, work)
    assert len(made) == 1
""",
    ),
    "bound_of_a_type_variable": Newer(
        (3, 12),
        """
def program(guard):
    made = []
    def make():
        made.append(int)
        return int
    def function[T: make()](argument: T) -> T: ...
    def work():
        with guard:
            function.__type_params__[0].__bound__
    together(work, work)
    assert len(made) == 1
""",
    ),
    "method_of_a_generic_class": Newer(
        (3, 12),
        """
class Box[T]:
    def __init__(self, value: T) -> None:
        self.value = value
    def add(self, other: T) -> None:
        self.value = self.value + other

def program(guard):
    box = Box[int](0)
    def work():
        with guard:
            box.add(1)
    together(work, work)
    assert box.value == 2
""",
    ),
    "batches_of_a_generator": Newer(
        (3, 12),
        """
import itertools

def program(guard):
    numbers = (number for number in range(4))
    taken = []
    def work():
        with guard:
            taken.append(next(itertools.batched(numbers, 2)))
    together(work, work)
    assert sorted(taken) == [(0, 1), (2, 3)]
""",
    ),
    "queue_shut_down": Newer(
        (3, 13),
        """
import queue

def program(guard):
    items = queue.Queue()
    errors = []
    def put():
        with guard:
            if not items.is_shutdown:
                try:
                    items.put(1)
                except queue.ShutDown as error:
                    errors.append(error)
    def shut_down():
        with guard:
            items.shutdown()
    together(put, shut_down)
    assert not errors
""",
    ),
    "number_in_a_dbm_of_sqlite": Newer(
        (3, 13),
        """
import dbm.sqlite3
import os
import tempfile

def program(guard):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "numbers")
        with dbm.sqlite3.open(path, "c") as numbers:
            numbers["number"] = "0"
        def work():
            with guard:
                with dbm.sqlite3.open(path, "w") as numbers:
                    numbers["number"] = str(int(numbers["number"]) + 1)
        together(work, work)
        with dbm.sqlite3.open(path, "r") as numbers:
            assert numbers["number"] == b"2"
""",
    ),
    "classes_kept_by_a_generic_one": Newer(
        (3, 12),
        """
def program(guard):
    class Kept[T]:
        made = {}
        def __class_getitem__(cls, item):
            with guard:
                if item not in cls.made:
                    cls.made[item] = type("Made", (), {})
                return cls.made[item]
    got = [[], []]
    together(*(lambda kept=each: kept.append(Kept[int]) for each in got))
    assert got[0] == got[1]
""",
    ),
    "cell_of_an_inlined_comprehension": Newer(
        (3, 12),
        """
def program(guard):
    count = 0
    def work():
        nonlocal count
        with guard:
            count = [count + each for each in (1,)][0]
    together(work, work)
    assert count == 2
""",
    ),
    "default_of_a_type_variable": Newer(
        (3, 13),
        """
def program(guard):
    made = []
    def make():
        made.append(int)
        return int
    def function[T = make()](argument: T) -> T: ...
    def work():
        with guard:
            function.__type_params__[0].__default__
    together(work, work)
    assert len(made) == 1
""",
    ),
    "fields_replaced": Newer(
        (3, 13),
        """
import copy
import dataclasses

@dataclasses.dataclass
class Point:
    x: int = 0
    y: int = 0

def program(guard):
    state = types.SimpleNamespace(point=Point())
    def work(**changes):
        with guard:
            state.point = copy.replace(state.point, **changes)
    together(lambda: work(x=1), lambda: work(y=1))
    assert state.point == Point(1, 1)
""",
    ),
    "annotations_of_a_class": Newer(
        (3, 14),
        """
def program(guard):
    class Point:
        x: int
    seen = []
    def work():
        with guard:
            seen.append(Point.__annotations__)
    together(work, work)
    assert seen[0] is seen[1]
""",
    ),
    "annotations_of_a_function": Newer(
        (3, 14),
        """
def program(guard):
    def function(argument: int): ...
    seen = []
    def work():
        with guard:
            seen.append(function.__annotations__)
    together(work, work)
    assert seen[0] is seen[1]
""",
    ),
    "values_of_a_template": Newer(
        (3, 14),
        """
def program(guard):
    pair = types.SimpleNamespace(a=0, b=0)
    seen = []
    def write():
        with guard:
            pair.a = 1
            pair.b = 1
    def read():
        with guard:
            seen.append(t"{pair.a}{pair.b}")
    together(write, read)
    assert len(set(seen[0].values)) == 1
""",
    ),
    "context_of_two_threads": Newer(
        (3, 14),
        """
import contextvars

def program(guard):
    context = contextvars.copy_context()
    def work():
        pass
    def start_one():
        thread = threading.Thread(target=work, context=context)
        with guard:
            thread.start()
            thread.join()
    together(start_one, start_one)
""",
    ),
    "argument_in_a_free_place": Newer(
        (3, 14),
        """
import functools
import operator

def program(guard):
    numbers, made = {}, []
    put = functools.partial(operator.setitem, numbers, functools.Placeholder, 7)
    def work():
        with guard:
            if "key" not in numbers:
                made.append(1)
                put("key")
    together(work, work)
    assert made == [1]
""",
    ),
    "file_that_is_moved": Newer(
        (3, 14),
        """
import pathlib
import tempfile

def program(guard):
    with tempfile.TemporaryDirectory() as folder:
        path, errors = pathlib.Path(folder, "old"), []
        path.write_text("")
        def move(name):
            with guard:
                if path.exists():
                    try:
                        path.move(path.with_name(name))
                    except FileNotFoundError as error:
                        errors.append(error)
        together(lambda: move("first"), lambda: move("second"))
        assert not errors
""",
    ),
    "file_copied_while_it_is_written": Newer(
        (3, 14),
        """
import pathlib
import tempfile

def program(guard):
    with tempfile.TemporaryDirectory() as folder:
        path, other = pathlib.Path(folder, "file"), pathlib.Path(folder, "copy")
        path.write_text("old")
        def copy():
            with guard:
                path.copy(other)
        def write():
            with guard:
                path.write_text("new")
        together(copy, write)
        assert other.read_text() in ("old", "new")
""",
    ),
    "largest_of_a_heap": Newer(
        (3, 14),
        """
import heapq

def program(guard):
    heap, wrong = [3, 2, 1], []
    def work():
        with guard:
            largest = heap[0]
            if heapq.heappop_max(heap) != largest:
                wrong.append(largest)
    together(work, work)
    assert not wrong
""",
    ),
    "parts_to_compress_by_zstd": Newer(
        (3, 14),
        """
def program(guard):
    from compression import zstd
    compressor, parts = zstd.ZstdCompressor(), []
    def add(data):
        with guard:
            parts.append(compressor.compress(data) + compressor.flush(compressor.FLUSH_BLOCK))
    together(lambda: add(b"aaaa"), lambda: add(b"bbbb"))
    parts.append(compressor.flush())
    assert zstd.decompress(b"".join(parts)) in (b"aaaabbbb", b"bbbbaaaa")
""",
    ),
    "identifiers_that_grow": Newer(
        (3, 14),
        """
import uuid

def program(guard):
    wrong = []
    def work():
        with guard:
            first, second = uuid.uuid7(), uuid.uuid7()
        if second <= first:
            wrong.append(second)
    together(work, work)
    assert not wrong
""",
    ),
    "annotations_of_a_class_by_a_function": Newer(
        (3, 14),
        """
import annotationlib

def program(guard):
    made = []
    def make():
        made.append(int)
        return int
    class Point:
        x: make()
    def work():
        with guard:
            annotationlib.get_annotations(Point)
    together(work, work)
    assert len(made) == 1
""",
    ),
    "queue_between_interpreters": Newer(
        (3, 14),
        """
from concurrent import interpreters

def program(guard):
    queue = interpreters.create_queue()
    queue.put(0)
    def work():
        with guard:
            if not queue.empty():
                queue.get_nowait()
    together(work, work)
""",
    ),
    "coroutine_function_by_a_mark": Newer(
        (3, 12),
        """
import inspect

def program(guard):
    def function(): ...
    marked = []
    def mark():
        with guard:
            if not inspect.iscoroutinefunction(function):
                marked.append(1)
                inspect.markcoroutinefunction(function)
    together(mark, mark)
    assert marked == [1]
""",
    ),
    "namespace_replaced": Newer(
        (3, 13),
        """
import copy

def program(guard):
    pair, seen = types.SimpleNamespace(a=0, b=0), []
    def read():
        with guard:
            seen.append(copy.replace(pair, c=1))
    def write():
        with guard:
            pair.a = 1
            pair.b = 1
    together(read, write)
    assert seen[0].a == seen[0].b
""",
    ),
    "namespace_made_of_a_dict": Newer(
        (3, 13),
        """
def program(guard):
    pair, seen = {"a": 0, "b": 0}, []
    def read():
        with guard:
            seen.append(types.SimpleNamespace(pair))
    def write():
        with guard:
            pair["a"] = 1
            pair["b"] = 1
    together(read, write)
    assert seen[0].a == seen[0].b
""",
    ),
    "text_of_a_template": Newer(
        (3, 14),
        """
def program(guard):
    numbers, seen = [0, 0], []
    template = t"{numbers}"
    def read():
        with guard:
            seen.append(f"{template}")
    def write():
        with guard:
            numbers[0] = 1
            numbers[1] = 1
    together(read, write)
    assert "[0, 0]" in seen[0] or "[1, 1]" in seen[0]
""",
    ),
    "text_of_an_interpolation": Newer(
        (3, 14),
        """
def program(guard):
    numbers, seen = [0, 0], []
    interpolation = t"{numbers}".interpolations[0]
    def read():
        with guard:
            seen.append(repr(interpolation))
    def write():
        with guard:
            numbers[0] = 1
            numbers[1] = 1
    together(read, write)
    assert "[0, 0]" in seen[0] or "[1, 1]" in seen[0]
""",
    ),
    "name_that_a_reference_stands_for": Newer(
        (3, 14),
        """
import annotationlib

def program(guard):
    names, seen = {"T": int}, []
    reference = annotationlib.ForwardRef("T")
    def read():
        with guard:
            seen.extend(reference.evaluate(globals=names) for _ in range(2))
    def write():
        with guard:
            names["T"] = str
    together(read, write)
    assert seen[0] is seen[1]
""",
    ),
    "annotations_of_a_class_method": Newer(
        (3, 14),
        """
def program(guard):
    made = []
    def make():
        made.append(len(made))
        return int
    def function(argument: make()): ...
    method = classmethod(function)
    def read():
        with guard:
            method.__annotations__
    together(read, read)
    assert made == [0]
""",
    ),
    "annotations_of_a_module": Newer(
        (3, 14),
        """
def program(guard):
    made = []
    def make():
        made.append(len(made))
        return int
    module = types.ModuleType("module")
    module.make = make
    exec("x: make()", vars(module))
    def read():
        with guard:
            module.__annotations__
    together(read, read)
    assert made == [0]
""",
    ),
    "interpreters_counted": Newer(
        (3, 14),
        """
import _interpreters

def program(guard):
    made, wrong = [], []
    def make():
        with guard:
            before = len(_interpreters.list_all())
            made.append(_interpreters.create())
            if len(_interpreters.list_all()) != before + 1:
                wrong.append(before)
    together(make, make)
    for each in made:
        _interpreters.destroy(each)
    assert not wrong
""",
    ),
    "tool_of_monitoring": Newer(
        (3, 12),
        """
import sys

def program(guard):
    errors = []
    def use():
        with guard:
            if sys.monitoring.get_tool(4) is None:
                try:
                    sys.monitoring.use_tool_id(4, "tool")
                except ValueError as error:
                    errors.append(error)
    together(use, use)
    sys.monitoring.free_tool_id(4)
    assert not errors
""",
    ),
    "filter_of_lazy_imports": Newer(
        (3, 15),
        """
import sys

def program(guard):
    before, put = sys.get_lazy_imports_filter(), []
    def put_one():
        with guard:
            if sys.get_lazy_imports_filter() is before:
                put.append(1)
                sys.set_lazy_imports_filter(lambda *names: True)
    together(put_one, put_one)
    sys.set_lazy_imports_filter(before)
    assert put == [1]
""",
    ),
    "mode_of_lazy_imports": Newer(
        (3, 15),
        """
import sys

def program(guard):
    put = []
    def put_one():
        with guard:
            if sys.get_lazy_imports() == "normal":
                put.append(1)
                sys.set_lazy_imports("all")
    together(put_one, put_one)
    sys.set_lazy_imports("normal")
    assert put == [1]
""",
    ),
    "text_of_a_frozen_dict": Newer(
        (3, 15),
        """
def program(guard):
    numbers, seen = [0, 0], []
    frozen = frozendict(numbers=numbers)
    def read():
        with guard:
            seen.append(repr(frozen))
    def write():
        with guard:
            numbers[0] = 1
            numbers[1] = 1
    together(read, write)
    assert "[0, 0]" in seen[0] or "[1, 1]" in seen[0]
""",
    ),
    "frozen_dict_compared": Newer(
        (3, 15),
        """
def program(guard):
    numbers, seen = [0, 0], []
    frozen = frozendict(numbers=numbers)
    def read():
        with guard:
            seen.append(frozen == {"numbers": [1, 0]})
    def write():
        with guard:
            numbers[0] = 1
            numbers[1] = 1
    together(read, write)
    assert seen == [False]
""",
    ),
    "items_of_rows_in_a_comprehension": Newer(
        (3, 15),
        """
def program(guard):
    rows, seen = [[0, 0]], []
    def read():
        with guard:
            seen.append([*row for row in rows])
    def write():
        with guard:
            rows[0][0] = 1
            rows[0][1] = 1
    together(read, write)
    assert seen[0] in ([0, 0], [1, 1])
""",
    ),
    "bytes_taken_out": Newer(
        (3, 15),
        """
def program(guard):
    buffer, errors = bytearray(b"bytes"), []
    def take():
        with guard:
            if len(buffer) >= 5:
                try:
                    buffer.take_bytes(5)
                except IndexError as error:
                    errors.append(error)
    together(take, take)
    assert not errors
""",
    ),
    "state_of_a_generator": Newer(
        (3, 15),
        """
def program(guard):
    numbers, first = iter(number for number in range(2)), []
    def begin():
        with guard:
            if numbers.gi_state == "GEN_CREATED":
                first.append(next(numbers))
    together(begin, begin)
    assert first == [0]
""",
    ),
    "counters_that_differ": Newer(
        (3, 15),
        """
import collections

def program(guard):
    pair, seen = collections.Counter(a=1, b=1), []
    def read():
        with guard:
            seen.append(pair ^ collections.Counter())
    def write():
        with guard:
            pair["a"] = 2
            pair["b"] = 2
    together(read, write)
    assert seen[0]["a"] == seen[0]["b"]
""",
    ),
}
"""By name; without a lock each is broken, with one it is correct."""

EAGER = """
async def main(guard):
    async def add(state, turns):
        for _ in range(turns):
            await asyncio.sleep(0)
        async with guard:
            seen = state.count
            await asyncio.sleep(0)
            state.count = seen + 1

    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    state = types.SimpleNamespace(count=0)
    await asyncio.gather(*(asyncio.create_task(add(state, turns)) for turns in (0, 2)))
    assert state.count == 2
"""
"""Tasks of an event loop that begin where they are created, since Python 3.12."""
