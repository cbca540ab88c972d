"""Correct programs: names for memory that is guarded, or for different memory."""

from __future__ import annotations

import ctypes
import struct
import threading

from tests.programs.together import together


class _Point(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_int))


def pointer_with_a_lock() -> None:
    """All use the same lock."""
    number = ctypes.c_int(0)
    pointer = ctypes.pointer(number)
    lock = threading.Lock()

    def by_pointer() -> None:
        with lock:
            pointer[0] += 1

    def by_name() -> None:
        with lock:
            number.value += 1

    together(by_pointer, by_name)
    assert number.value == 2


def different_fields() -> None:
    """Each has a field of its own."""
    point = _Point()

    def across() -> None:
        point.x += 1

    def up() -> None:
        point.y += 1

    together(across, up)
    assert (point.x, point.y) == (1, 1)


def different_elements() -> None:
    """Each has an element of its own."""
    numbers = (ctypes.c_int * 2)()
    pointer = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int))

    def first() -> None:
        numbers[0] += 1

    def second() -> None:
        pointer[1] += 1

    together(first, second)
    assert list(numbers) == [1, 1]


def buffer_with_a_lock() -> None:
    """All use the same lock."""
    buffer = bytearray(4)
    number = ctypes.c_int.from_buffer(buffer)
    lock = threading.Lock()

    def by_number() -> None:
        with lock:
            number.value += 1

    def packed() -> None:
        with lock:
            (value,) = struct.unpack_from("i", buffer)
            struct.pack_into("i", buffer, 0, value + 1)

    together(by_number, packed)
    assert number.value == 2


def memory_copied_before() -> None:
    """What is moved is moved before the threads begin."""
    number, other = ctypes.c_int(0), ctypes.c_int(5)
    ctypes.memmove(ctypes.byref(number), ctypes.byref(other), 4)
    seen: list[int] = []

    def look() -> None:
        seen.append(number.value)

    together(look, look)
    assert seen == [5, 5]
