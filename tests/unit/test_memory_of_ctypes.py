"""Which bytes ``ctypes`` objects access, and which of them are one variable."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest

from bohrbug.runtime.threads import leftovers
from bohrbug.runtime.threads.rewrite import memory
from bohrbug.runtime.threads.rewrite.attributes import look_up


class Point(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_int))


class Line(ctypes.Structure):
    _fields_ = (("start", Point), ("end", Point))


class Mixed(ctypes.Union):
    _fields_ = (("word", ctypes.c_int), ("letter", ctypes.c_char))


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    leftovers.forget_all()
    yield
    leftovers.forget_all()


def attribute(owner: Any, name: str, is_write: bool = False) -> list[memory.Access]:
    descriptor = look_up(type(owner), name)
    return list(memory.attribute(owner, name, descriptor, is_write))


def test_a_pointer_and_its_target_are_one_variable() -> None:
    number = ctypes.c_int(0)
    pointer = ctypes.pointer(number)
    (by_name,) = attribute(number, "value")
    own, by_pointer = memory.item(pointer, 0, False)
    assert by_pointer == by_name
    assert own.owner is not by_name.owner
    assert attribute(pointer.contents, "value") == [by_name]


def test_fields_are_variables_of_their_own() -> None:
    line = Line()
    (x,), (y,) = attribute(line.end, "x"), attribute(line.end, "y")
    assert x.owner is y.owner
    assert (x.key, y.key) == (8, 12)


def test_reading_a_part_reads_no_memory() -> None:
    line = Line()
    assert attribute(line, "end") == []
    (written,) = attribute(line, "end", is_write=True)
    assert written.key == 8


def test_bytes_that_overlap_are_the_whole() -> None:
    mixed = Mixed()
    (word,) = attribute(mixed, "word")
    assert word.key == 0
    (letter,) = attribute(mixed, "letter")
    assert letter.key is None
    (again,) = attribute(mixed, "word")
    assert again.key is None
    assert word.owner is letter.owner is again.owner


def test_memory_of_a_buffer_is_the_buffer() -> None:
    buffer = bytearray(8)
    number = ctypes.c_int.from_buffer(buffer)
    assert attribute(number, "value", is_write=True) == [memory.Access(buffer, None, True)]


def test_an_address_names_what_was_registered() -> None:
    number = ctypes.c_int(5)
    memory.register(number)
    same = ctypes.c_int.from_address(ctypes.addressof(number))
    assert attribute(same, "value") == attribute(number, "value")


def test_functions_that_copy() -> None:
    one, other = ctypes.c_int(1), ctypes.c_int(2)
    accesses = list(memory.called(ctypes.memmove, (ctypes.byref(one), ctypes.byref(other), 4)))
    assert [access.is_write for access in accesses] == [False, True]
    assert accesses[1].owner is attribute(one, "value")[0].owner
    (written,) = memory.called(ctypes.memset, (ctypes.addressof(one), 0, 4))
    assert written.is_write and written.owner is accesses[1].owner


def test_a_function_that_nobody_knows_may_write() -> None:
    letters = ctypes.create_string_buffer(4)
    unknown = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)()
    (access,) = memory.called(unknown, (letters, 3))
    assert access.is_write
