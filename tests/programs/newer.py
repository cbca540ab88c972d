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
