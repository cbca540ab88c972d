"""What is in a file, and memory that the file is mapped to: whoever has either has the other.

A file is known by the number that it has in its file system, which the kernel tells of a descriptor
as well as of memory; files of the same number in several file systems are taken for one.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.rewrite.named import Named

# A test may put something else in its place.
_open = open

_contents: dict[int, Named] = {}
forgotten_afterwards(_contents)


def contents_of(number: int) -> Named:
    """What is in a file, by the number that it has in its file system."""
    found = _contents.get(number)
    if found is None:
        found = _contents[number] = Named("contents of a file")
    return found


class _Buffer(ctypes.Structure):
    """``Py_buffer``."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("format", "shape", "strides", "suboffsets")),
        ("internal", ctypes.c_void_p),
    )


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = (ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int)
_get_buffer.restype = ctypes.c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = (ctypes.POINTER(_Buffer),)
_release_buffer.restype = None

_numbers: dict[int, tuple[weakref.ref[Any], int]] = {}
"""By id of what maps a file: it, and the number of the file; 0 for none that others could map."""


def behind_mapping(memory: Any) -> Any:
    """What an ``mmap`` stands for: what is in the file, or itself if nobody else can map it."""
    known = _numbers.get(id(memory))
    if known is None or known[0]() is not memory:
        address = _address_of(memory)
        if address is None:
            return memory
        known = weakref.ref(memory, _forgetting(id(memory))), _number_of_file_at(address)
        _numbers[id(memory)] = known
    return contents_of(known[1]) if known[1] else memory


def _forgetting(identity: int) -> Callable[[Any], None]:
    def forget(reference: Any) -> None:
        known = _numbers.get(identity)
        if known is not None and known[0] is reference:
            del _numbers[identity]

    return forget


def _address_of(memory: mmap.mmap) -> int | None:
    """Where the memory of an ``mmap`` is; ``None`` if it is closed."""
    buffer = _Buffer()
    try:
        _get_buffer(memory, ctypes.byref(buffer), 0)
    except (ValueError, BufferError):
        return None
    try:
        address: int = buffer.buf
        return address
    finally:
        _release_buffer(ctypes.byref(buffer))


def _number_of_file_at(address: int) -> int:
    for first, last, is_shared, number in _mappings():
        if first <= address < last:
            return number if is_shared else 0
    return 0


def _mappings() -> Iterator[tuple[int, int, bool, int]]:
    """The memory of the process; see ``proc_pid_maps(5)``."""
    try:
        with _open("/proc/self/maps") as file:
            lines = file.readlines()
    except OSError:
        return
    for line in lines:
        span, rights, _, _, number, *_ = line.split()
        first, last = span.split("-")
        yield int(first, 16), int(last, 16), rights[3] == "s", int(number)
