"""Which bytes ``ctypes`` objects access, and which of them are one variable."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterator
from typing import Any, cast

import pytest

from bohrbug.runtime.threads import leftovers
from bohrbug.runtime.threads.points import AccessPoints
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


def _owners(accesses: Any) -> set[int]:
    return {id(access.owner) for access in accesses}


def test_an_access_to_several_blocks_is_one_to_each() -> None:
    array = (ctypes.c_int * 4)()
    first = ctypes.addressof(array)
    parts = [
        next(iter(memory.called(ctypes.memset, (first + offset, 0, 4)))) for offset in (0, 4, 12)
    ]
    assert _owners(parts) < _owners(memory.whole(array, False))
    assert len(_owners(parts)) == 3


def test_an_address_that_nobody_registered_names_what_is_used_later() -> None:
    number = ctypes.c_int(5)
    (access,) = memory.called(ctypes.memset, (ctypes.addressof(number), 0, 4))
    assert attribute(number, "value", is_write=True) == [access]


def test_a_pointer_knows_the_memory_that_it_was_made_of() -> None:
    array = (ctypes.c_int * 4)()
    pointer = ctypes.cast(array, ctypes.POINTER(ctypes.c_int))
    (of_pointer, of_item) = memory.item(pointer, 2, True)
    assert not of_pointer.is_write
    assert [of_item] == list(memory.item(array, 2, True))
    assert _owners([of_item]) == _owners(memory.whole(array, False))


def test_a_slice_of_a_pointer_is_read_to_its_end() -> None:
    array = (ctypes.c_int * 4)()
    pointer = ctypes.cast(array, ctypes.POINTER(ctypes.c_int))
    (written,) = memory.item(array, 2, True)
    (_, few) = memory.item(pointer, slice(0, 2), False)
    assert (written.key, few.key) == (8, 0)
    (_, all_) = memory.item(pointer, slice(0, 3), False)
    assert all_.key is None


def test_whoever_uses_a_pointer_reads_it() -> None:
    pointer = ctypes.pointer(ctypes.c_int())
    itself = _owners(memory.whole(pointer, False))
    string_at = vars(ctypes)["_string_at"]
    unknown = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)()
    assert itself < _owners(memory.called(string_at, (pointer, 4)))
    assert itself < _owners(memory.called(unknown, (pointer,)))
    assert itself == _owners(memory.called(vars(ctypes)["_cast"], (pointer, pointer, int)))


def test_to_cast_is_not_to_write() -> None:
    number = ctypes.c_int(5)
    arguments = (ctypes.byref(number), ctypes.byref(number), ctypes.POINTER(ctypes.c_int))
    assert not list(memory.called(vars(ctypes)["_cast"], arguments))


@pytest.mark.parametrize(("name", "unit"), [("_string_at", "c_char"), ("_wstring_at", "c_wchar")])
def test_a_text_is_read_up_to_its_end(name: str, unit: str) -> None:
    letter = getattr(ctypes, unit)
    text: Any = (letter * 4)(*("ab" if unit == "c_wchar" else (b"a", b"b")))
    size = ctypes.sizeof(letter)
    (second,) = memory.item(text, 1, True)
    (third,) = memory.item(text, 3, True)
    assert (second.key, third.key) == (size, 3 * size)
    list(memory.called(vars(ctypes)[name], (text, 1)))
    assert [access.key for access in memory.item(text, 1, True)] == [size]
    list(memory.called(vars(ctypes)[name], (text, -1)))
    assert [access.key for access in memory.item(text, 1, True)] == [None]
    assert [access.key for access in memory.item(text, 3, True)] == [3 * size]


def test_an_address_in_a_buffer_is_that_buffer() -> None:
    buffer = bytearray(8)
    number = ctypes.c_int.from_buffer(buffer)
    memory.register(number)
    string_at = vars(ctypes)["_string_at"]
    accesses = list(memory.called(string_at, (ctypes.addressof(number), 4)))
    assert accesses == [memory.Access(buffer, None, False)]


def test_memory_of_a_view_of_a_stream_is_the_stream() -> None:
    stream = io.BytesIO(bytes(8))
    number = ctypes.c_int.from_buffer(stream.getbuffer())
    assert attribute(number, "value") == [memory.Access(stream, None, False)]


def test_functions_that_take_addresses_tell_in_each_execution() -> None:
    points = AccessPoints(cast(Any, None))

    def taking(owner: Any) -> int:
        return ctypes.addressof(owner)

    def outer(owner: Any) -> Any:
        return lambda: ctypes.addressof(owner)

    def other(owner: Any) -> int:
        return ctypes.sizeof(owner)

    assert points.are_in(taking.__code__)
    assert points.are_in(outer.__code__)
    assert not points.are_in(other.__code__)
