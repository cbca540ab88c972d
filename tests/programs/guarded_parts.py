"""Programs around parts of exceptions, functions and classes, each with a lock or with none.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import abc
import copyreg
import functools
import inspect
import io
import pickle
import re
import traceback
from collections.abc import Callable
from typing import Any

from tests.programs.guarding import Guard
from tests.programs.together import together


def cause_of_a_shared_error(guard: Guard) -> None:
    """The cause is that of the other task."""
    shared = RuntimeError("shared")
    same: list[bool] = []

    def work() -> None:
        mine = ValueError("mine")
        with guard:
            try:
                raise shared from mine
            except RuntimeError as error:
                same.append(error.__cause__ is mine)

    together(work, work)
    assert same == [True, True]


def cause_that_is_set(guard: Guard) -> None:
    """The cause is that of the other task."""
    shared = RuntimeError("shared")
    same: list[bool] = []

    def work() -> None:
        mine = ValueError("mine")
        with guard:
            shared.__cause__ = mine
            same.append(shared.__cause__ is mine)

    together(work, work)
    assert same == [True, True]


def context_of_a_shared_error(guard: Guard) -> None:
    """The context is that of the other task."""
    shared = RuntimeError("shared")
    same: list[bool] = []

    def work() -> None:
        mine = ValueError("mine")
        with guard:
            try:
                try:
                    raise mine
                except ValueError:
                    raise shared
            except RuntimeError as error:
                same.append(error.__context__ is mine)

    together(work, work)
    assert same == [True, True]


def traceback_of_a_shared_error(guard: Guard) -> None:
    """The traceback has a frame of the other task."""
    shared = RuntimeError("shared")
    lengths: list[int] = []

    def work() -> None:
        with guard:
            try:
                raise shared.with_traceback(None)
            except RuntimeError as error:
                lengths.append(len(traceback.extract_tb(error.__traceback__)))

    together(work, work)
    assert lengths == [1, 1]


def notes_of_a_shared_error(guard: Guard) -> None:
    """A note of the other task comes in between."""
    shared = RuntimeError("shared")
    added: list[int] = []

    def work() -> None:
        with guard:
            before = len(getattr(shared, "__notes__", ()))
            shared.add_note("a note")
            added.append(len(shared.__notes__) - before)

    together(work, work)
    assert added == [1, 1]


def _looked_at_twice(guard: Guard, change: Callable[[], object], look: Callable[[], Any]) -> None:
    """A task looks twice and wants to see the same, while another one changes something once."""
    seen: list[bool] = []

    def work() -> None:
        with guard:
            same = look() == look()
        seen.append(same)

    def other() -> None:
        with guard:
            change()

    together(work, other)
    assert seen == [True]


def _torn(guard: Guard, change: Callable[[str], object], look: Callable[[], object]) -> None:
    """A task changes two things, another one looks at both in one step."""
    seen: list[object] = []

    def write() -> None:
        with guard:
            change("x")
            change("y")

    def read() -> None:
        with guard:
            found = look()
        seen.append(found)

    before = look()
    together(write, read)
    assert seen[0] in (before, look())


def default_that_is_changed(guard: Guard) -> None:
    """Another default is taken the second time."""

    def number(*, value: int = 1) -> int:
        return value

    _looked_at_twice(guard, lambda: number.__kwdefaults__.update(value=2), lambda: number())


class _Numbers:
    def number(self, *, value: int = 1) -> int:
        return value


def defaults_of_a_method(guard: Guard) -> None:
    """Another default is taken the second time."""
    before = _Numbers.number.__kwdefaults__

    def exchange() -> None:
        _Numbers.number.__kwdefaults__ = {"value": 2}

    try:
        _looked_at_twice(guard, exchange, lambda: _Numbers().number())
    finally:
        _Numbers.number.__kwdefaults__ = before


def keywords_of_a_partial(guard: Guard) -> None:
    """One keyword is changed already, the other one is not."""
    make = functools.partial(dict, x=0, y=0)
    _torn(guard, lambda name: make.keywords.__setitem__(name, 1), lambda: make())


def state_of_a_partial(guard: Guard) -> None:
    """Another function is called the second time."""
    number: Any = functools.partial(int, "1")
    _looked_at_twice(guard, lambda: number.__setstate__((int, ("2",), {}, None)), lambda: number())


def bases_of_a_class(guard: Guard) -> None:
    """Another base is asked the second time."""

    class One:
        number = 1

        def method(self) -> int:
            return 1

    class Two:
        number = 2

        def method(self) -> int:
            return 2

    class Derived(One):
        pass

    def exchange() -> None:
        Derived.__bases__ = (Two,)

    _looked_at_twice(guard, exchange, lambda: (Derived.number, Derived().method()))


def contents_of_a_cell(guard: Guard) -> None:
    """One of two increments is lost."""
    number = 0

    def read() -> int:
        return number

    (cell,) = read.__closure__ or ()

    def work() -> None:
        with guard:
            cell.cell_contents = read() + 1

    together(work, work)
    assert number == 2


def class_registered_with_an_abstract_one(guard: Guard) -> None:
    """It has become an instance by the second time."""

    class Abstract(abc.ABC):
        pass

    class Concrete:
        pass

    thing = Concrete()
    _looked_at_twice(
        guard, lambda: Abstract.register(Concrete), lambda: isinstance(thing, Abstract)
    )


class Reduced:
    """Pickled as the table says."""


def way_to_pickle(guard: Guard) -> None:
    """The other task has removed its way to pickle in between."""
    numbers: list[object] = []

    def work() -> None:
        with guard:
            copyreg.pickle(Reduced, lambda thing: (int, (5,)))  # type: ignore[arg-type, return-value]
            numbers.append(pickle.loads(pickle.dumps(Reduced())))
            copyreg.dispatch_table.pop(Reduced, None)

    together(work, work)
    assert numbers == [5, 5]


class _Point:
    def __init__(self) -> None:
        self.x = self.y = 0


def members_of_an_object(guard: Guard) -> None:
    """One attribute is set already, the other one is not."""
    point = _Point()

    def look() -> list[Any]:
        return [value for name, value in inspect.getmembers(point) if name in "xy"]

    _torn(guard, lambda name: setattr(point, name, 1), look)


def names_of_attributes(guard: Guard) -> None:
    """There is one more the second time."""
    point = _Point()
    _looked_at_twice(guard, lambda: setattr(point, "z", 1), lambda: dir(point))


def attributes_in_a_format(guard: Guard) -> None:
    """One attribute is set already, the other one is not."""
    point = _Point()
    _torn(guard, lambda name: setattr(point, name, 1), lambda: "{0.x}{0.y}".format(point))


def keyword_in_a_format(guard: Guard) -> None:
    """One item is set already, the other one is not."""
    point = {"x": 0, "y": 0}
    _torn(guard, lambda name: point.update({name: 1}), lambda: "{p[x]}{p[y]}".format(p=point))


def index_that_is_computed(guard: Guard) -> None:
    """IndexError: the list is shorter by the time it is looked at."""
    numbers = [1, 2, 3]

    class Last:
        def __index__(self) -> int:
            return len(numbers) - 1

    def read() -> None:
        with guard:
            numbers[Last()]

    def shorten() -> None:
        with guard:
            numbers.pop()

    together(read, shorten)


def resized_while_a_view_shows_it(guard: Guard) -> None:
    """BufferError: existing exports."""
    numbers = bytearray(b"abc")

    def look() -> None:
        with guard:
            view = memoryview(numbers)
            view.release()

    def append() -> None:
        with guard:
            numbers.append(1)

    together(look, append)


def truncated_while_a_buffer_is_out(guard: Guard) -> None:
    """BufferError: existing exports."""
    stream = io.BytesIO(b"abc")

    def look() -> None:
        with guard:
            view = stream.getbuffer()
            view.release()

    def truncate() -> None:
        with guard:
            stream.truncate(0)

    together(look, truncate)


def bytes_that_are_searched(guard: Guard) -> None:
    """One byte is set already, the other one is not."""
    text = bytearray(b"aa")
    _torn(
        guard,
        lambda name: text.__setitem__("xy".index(name), 98),
        lambda: (re.findall(b".", text), re.compile(b".").sub(lambda match: match[0], text)),
    )
