"""Broken programs: two names for one piece of memory."""

from __future__ import annotations

import array
import ctypes
import struct

from tests.programs.together import together


class _Bits(ctypes.Union):
    _fields_ = (("signed", ctypes.c_int), ("unsigned", ctypes.c_uint))


class _Point(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_int))


class _Line(ctypes.Structure):
    _fields_ = (("start", _Point), ("end", _Point))


def pointer_and_what_it_points_to() -> None:
    """AssertionError: one of two increments is lost."""
    number = ctypes.c_int(0)
    pointer = ctypes.pointer(number)

    def by_pointer() -> None:
        pointer[0] += 1

    def by_name() -> None:
        number.value += 1

    together(by_pointer, by_name)
    assert number.value == 2


def contents_of_a_pointer() -> None:
    """AssertionError: one of two increments is lost."""
    number = ctypes.c_int(0)
    pointer = ctypes.pointer(number)

    def by_pointer() -> None:
        pointer.contents.value += 1

    def by_name() -> None:
        number.value += 1

    together(by_pointer, by_name)
    assert number.value == 2


def array_by_a_cast_pointer() -> None:
    """AssertionError: one of two increments is lost."""
    numbers = (ctypes.c_int * 2)()
    pointer = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int))

    def by_pointer() -> None:
        pointer[1] += 1

    def by_name() -> None:
        numbers[1] += 1

    together(by_pointer, by_name)
    assert numbers[1] == 2


def members_of_a_union() -> None:
    """AssertionError: one of two increments is lost."""
    bits = _Bits()

    def signed() -> None:
        bits.signed += 1

    def unsigned() -> None:
        bits.unsigned += 1

    together(signed, unsigned)
    assert bits.signed == 2


def structure_in_a_structure() -> None:
    """AssertionError: one of two increments is lost."""
    line = _Line()
    end = line.end

    def by_part() -> None:
        end.x += 1

    def by_whole() -> None:
        line.end.x += 1

    together(by_part, by_whole)
    assert line.end.x == 2


def integer_from_a_buffer() -> None:
    """AssertionError: one of two increments is lost."""
    buffer = bytearray(4)
    number = ctypes.c_int.from_buffer(buffer)

    def by_number() -> None:
        number.value += 1

    def by_buffer() -> None:
        buffer[0] += 1

    together(by_number, by_buffer)
    assert number.value == 2


def integer_from_an_address() -> None:
    """AssertionError: one of two increments is lost."""
    number = ctypes.c_int(0)
    same = ctypes.c_int.from_address(ctypes.addressof(number))

    def by_address() -> None:
        same.value += 1

    def by_name() -> None:
        number.value += 1

    together(by_address, by_name)
    assert number.value == 2


def view_of_an_array() -> None:
    """AssertionError: one of two increments is lost."""
    numbers = array.array("i", [0])
    view = memoryview(numbers)

    def by_view() -> None:
        view[0] += 1

    def by_name() -> None:
        numbers[0] += 1

    together(by_view, by_name)
    assert numbers[0] == 2


def memory_that_is_set() -> None:
    """AssertionError: what memset has written is overwritten."""
    letters = (ctypes.c_char * 4)()

    def mark() -> None:
        if letters[0] == b"\0":
            letters[0] = b"1"

    def fill() -> None:
        ctypes.memset(letters, ord("2"), 1)

    together(mark, fill)
    assert letters[0] == b"2"


def memory_that_is_moved() -> None:
    """AssertionError: what memmove has copied is overwritten."""
    number, other = ctypes.c_int(0), ctypes.c_int(5)

    def increment() -> None:
        number.value += 1

    def copy() -> None:
        ctypes.memmove(ctypes.addressof(number), ctypes.byref(other), 4)

    together(increment, copy)
    assert number.value in (5, 6)


def text_in_a_buffer() -> None:
    """AssertionError: both have seen the same text."""
    text = ctypes.create_string_buffer(b"0", 4)

    def append() -> None:
        text.value = b"1" + text.value

    together(append, append)
    assert text.value == b"110"


def packed_number() -> None:
    """AssertionError: one of two increments is lost."""
    buffer = bytearray(4)

    def increment() -> None:
        (number,) = struct.unpack_from("i", buffer)
        struct.pack_into("i", buffer, 0, number + 1)

    together(increment, increment)
    assert buffer[0] == 2
