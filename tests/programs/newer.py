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
