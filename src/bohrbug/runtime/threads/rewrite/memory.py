"""Memory that several objects name: what ``ctypes`` objects access, by its address.

A pointer and what it points to, the members of a union, a structure and its fields, and what is
made ``from_buffer`` or ``from_address`` are names for the same bytes.  Two accesses to the same
bytes are accesses to one variable; those that overlap, but are not the same bytes, are accesses to
the block of memory as a whole.  The memory of a buffer, such as a ``bytearray``, is that object.
Blocks never overlap: an access to bytes of several is one to each.
"""

from __future__ import annotations

import _ctypes
import ctypes
import gc
import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.rewrite.named import Named

DATA: Any = _ctypes._SimpleCData.__mro__[1]
"""The base of the classes of all ``ctypes`` objects."""
FUNCTION: Any = _ctypes.CFuncPtr

_Array: Any = _ctypes.Array
_Pointer: Any = _ctypes._Pointer
_Argument: Any = type(ctypes.byref(ctypes.c_int()))

TAKING_ADDRESSES = frozenset({"addressof"})
"""Names of the functions that give an address as a number."""

_base_of: Any = vars(DATA)["_b_base_"].__get__
_kept_by: Any = vars(DATA)["_objects"].__get__
_address_of = ctypes.addressof
_size_of = ctypes.sizeof
_void_at = ctypes.c_void_p.from_address
_MOST = 4_096


class Access(NamedTuple):
    """What is accessed.

    Parameters:
        owner: a block of memory, or an object that is one.
        key: which bytes of the block; ``None`` for the whole.
        is_write: whether it is changed.
    """

    owner: Any
    key: int | None
    is_write: bool


class _Block:
    """Memory of one object.

    Parameters:
        keep: the object; while it lives, no other has these addresses.
        start, end: addresses.
    """

    __slots__ = ("end", "keep", "shapes", "start", "variable", "whole")

    def __init__(self, keep: object, start: int, end: int) -> None:
        self.keep = keep
        self.start = start
        self.end = end
        # That of a buffer, such as a bytearray, is the buffer.
        name = "memory" if keep is None else f"memory of {type(keep).__name__}"
        self.variable: Any = Named(name)
        # Which bytes were accessed together, as their first and their last but one; and those
        # among them that others overlap.
        self.shapes: set[tuple[int, int]] = set()
        self.whole: set[tuple[int, int]] = set()

    def access(self, start: int, end: int, is_write: bool) -> Access:
        """An access to some bytes."""
        if type(self.variable) is not Named:
            return Access(self.variable, None, is_write)
        shape = (start, end)
        if shape not in self.shapes:
            overlapping = [other for other in self.shapes if start < other[1] and other[0] < end]
            self.shapes.add(shape)
            if overlapping:
                self.whole.update((shape, *overlapping))
        key = None if shape in self.whole else start - self.start
        return Access(self.variable, key, is_write)


# By their first addresses, in order.
_starts: list[int] = []
_blocks: list[_Block] = []
forgotten_afterwards(_starts, _blocks)


def _blocks_of(keep: object, start: int, end: int, first: int, last: int) -> Iterator[_Block]:
    """The blocks that some bytes are in; what none has yet becomes one.

    Parameters:
        keep: whose memory it is.
        start, end: addresses of the bytes.
        first, last: those of all the memory of that object.
    """
    if len(_blocks) >= _MOST:
        _starts.clear()
        _blocks.clear()
    index = max(bisect_right(_starts, start) - 1, 0)
    if index < len(_blocks) and _blocks[index].end <= start:
        index += 1
    at = start
    while at < end:
        if index == len(_blocks) or _blocks[index].start > at:
            low = max(first, _blocks[index - 1].end) if index else first
            high = min(last, _blocks[index].start) if index < len(_blocks) else last
            _starts.insert(index, low)
            _blocks.insert(index, _Block(keep, low, high))
        yield _blocks[index]
        at = _blocks[index].end
        index += 1


def _block_around(start: int, end: int) -> _Block | None:
    """The one block that all of some bytes are in, as they mostly are."""
    index = bisect_right(_starts, start) - 1
    return _blocks[index] if index >= 0 and end <= _blocks[index].end else None


def _bytes_between(
    keep: object, start: int, end: int, memory: tuple[int, int], is_write: bool
) -> list[Access]:
    """Accesses to some bytes of the memory of an object."""
    first, last = min(start, memory[0]), max(end, memory[1])
    return [
        block.access(max(start, block.start), min(end, block.end), is_write)
        for block in _blocks_of(keep, start, end, first, last)
    ]


def _root_of(owner: Any) -> Any:
    """The object that an object is a part of, at last."""
    while True:
        base = _base_of(owner)
        if base is None:
            return owner
        start = _address_of(base)
        if not start <= _address_of(owner) < start + _size_of(base):
            # It was reached through a pointer.
            return owner
        owner = base


def _buffer_of(root: Any) -> Any:
    """The object whose memory this is by ``from_buffer``; ``None`` if it is its own."""
    kept = _kept_by(root)
    for each in kept.values() if type(kept) is dict else (kept,):
        if type(each) is memoryview:
            return shown_by(each)[0]
    return None


def register(owner: Any) -> None:
    """Something is about to get hold of the address of an object."""
    root = _root_of(owner)
    first, last = _range_of(root)
    buffer = _buffer_of(root)
    is_of_other = buffer is not None and not issubclass(type(buffer), DATA)
    for block in _blocks_of(root, first, last, first, last):
        if is_of_other:
            block.variable = buffer


def _range_of(owner: Any) -> tuple[int, int]:
    first = _address_of(owner)
    return first, first + max(_size_of(owner), 1)


def _bytes_of(owner: Any, offset: int, size: int, is_write: bool) -> Iterable[Access]:
    root = _root_of(owner)
    buffer = _buffer_of(root)
    if buffer is not None and not issubclass(type(buffer), DATA):
        return (Access(buffer, None, is_write),)
    start = _address_of(owner) + offset
    end = start + max(size, 1)
    block = _block_around(start, end)
    if block is not None:
        return (block.access(start, end, is_write),)
    return _bytes_between(root, start, end, _range_of(root), is_write)


def _bytes_at(address: int, size: int, is_write: bool) -> list[Access]:
    """Those at an address that somebody knows, as a number."""
    end = address + max(size, 1)
    return _bytes_between(None, address, end, (address, end), is_write)


def _bytes_behind(pointer: Any, address: int, size: int, is_write: bool) -> Iterable[Access]:
    """Those at an address that a pointer leads to; it keeps what it was made of."""
    end = address + max(size, 1)
    kept = _kept_by(pointer)
    for each in kept.values() if type(kept) is dict else (kept,):
        if issubclass(type(each), DATA):
            first, last = _range_of(each)
            if first <= address and end <= last:
                return _bytes_of(each, address - first, size, is_write)
    return _bytes_between(pointer, address, end, (address, end), is_write)


def whole(owner: Any, is_write: bool) -> Iterable[Access]:
    """All of an object is accessed."""
    return _bytes_of(owner, 0, _size_of(owner), is_write)


def attribute(owner: Any, name: str, descriptor: Any, is_write: bool) -> Iterable[Access]:
    """What loading or storing an attribute accesses.

    Parameters:
        owner: a ``ctypes`` object.
        name: of the attribute.
        descriptor: what its class has for it.
        is_write: whether it is stored.
    """
    if not hasattr(descriptor, "offset"):
        # value, raw, contents
        return whole(owner, is_write)
    class_ = _type_of_field(type(owner), name)
    if class_ is None or is_write or _is_simple(class_) or _is_text(class_):
        size = descriptor.size
        # Of a field of bits, the upper half says how many.
        size = _size_of(class_) if class_ is not None else max(size & 0xFFFF, 1)
        return _bytes_of(owner, descriptor.offset, size, is_write)
    return ()


def _type_of_field(class_: type, name: str) -> Any:
    for base in class_.__mro__:
        for field in vars(base).get("_fields_", ()):
            if field[0] == name:
                return field[1]
    return None


def _is_simple(class_: Any) -> bool:
    """Whether reading an element reads memory, and does not make another name for it."""
    return issubclass(class_, _ctypes._SimpleCData)


def _is_text(class_: Any) -> bool:
    """Whether a field of this class is read as bytes or as text, and not as an array."""
    return issubclass(class_, _Array) and class_._type_ in (ctypes.c_char, ctypes.c_wchar)


def item(owner: Any, key: Any, is_write: bool) -> Iterable[Access]:
    """What ``owner[key]`` accesses, of an array or a pointer."""
    class_ = type(owner)._type_
    size = _size_of(class_)
    if issubclass(type(owner), _Pointer):
        address = _target_of(owner)
        if not address or not (is_write or type(key) is not int or _is_simple(class_)):
            return whole(owner, False)
        first, count = _span(key)
        behind = _bytes_behind(owner, address + first * size, count * size, is_write)
        return (*whole(owner, False), *behind)
    if type(key) is not int:
        return whole(owner, is_write)
    if is_write or _is_simple(class_):
        index = key if key >= 0 else key + len(owner)
        if 0 <= index < len(owner):
            return _bytes_of(owner, index * size, size, is_write)
    return ()


def _span(key: Any) -> tuple[int, int]:
    """The first one of the elements that a pointer is asked for, and from there how many."""
    if type(key) is not slice or type(key.stop) is not int:
        return (key if type(key) is int else 0), 1
    start = key.start if type(key.start) is int else 0
    return min(start, key.stop), max(abs(key.stop - start), 1)


def _whole_at(pointer: Any, is_write: bool) -> Iterator[Access]:
    """What a pointer points to."""
    address = _target_of(pointer)
    if address:
        yield from _bytes_behind(pointer, address, _size_of(type(pointer)._type_), is_write)


def _target_of(pointer: Any) -> int:
    # Not by "cast", which is Python code that may be rewritten.
    return _void_at(_address_of(pointer)).value or 0


def _address(value: Any) -> int | None:
    """The address that an argument of a function in C gives."""
    if type(value) is int:
        return value
    if type(value) is _Argument:
        return _address_of(value._obj)
    if issubclass(type(value), (_Pointer, ctypes.c_void_p)):
        return _target_of(value)
    return _address_of(value) if issubclass(type(value), DATA) else None


def _argument(value: Any, size: int, is_write: bool) -> Iterator[Access]:
    address = _address(value)
    if not address:
        return
    if type(value) is _Argument:
        register(value._obj)
    elif issubclass(type(value), (_Pointer, ctypes.c_void_p)):
        yield from whole(value, False)
        yield from _bytes_behind(value, address, size, is_write)
        return
    elif issubclass(type(value), DATA):
        register(value)
    yield from _bytes_at(address, size, is_write)


_memset, _memmove = id(ctypes.memset), id(ctypes.memmove)
_cast = id(vars(ctypes).get("_cast"))
_READING = {
    id(function): _size_of(unit)
    for name, unit in (
        ("_string_at", ctypes.c_char),
        ("_wstring_at", ctypes.c_wchar),
        ("_memoryview_at", ctypes.c_char),
    )
    if (function := vars(ctypes).get(name)) is not None
}
"""By identity of the functions that read memory: the size of what they count."""


def _size_read(function: Any, unit: int, arguments: tuple[Any, ...]) -> int:
    """How many bytes a function that reads memory is about to read."""
    count = arguments[1] if len(arguments) > 1 and type(arguments[1]) is int else 1
    if count >= 0:
        return count * unit
    # Up to the end of a text, which it finds as the program would.
    return (len(function(arguments[0], -1)) + 1) * unit if _address(arguments[0]) else 0


def called(function: Any, arguments: tuple[Any, ...]) -> Iterable[Access]:
    """What a function in C accesses that is called through ``ctypes``.

    One that nobody knows is taken to change all that it is given the address of.
    """
    known = id(function)
    if known == _memset and len(arguments) == 3:
        yield from _argument(arguments[0], arguments[2], True)
    elif known == _memmove and len(arguments) >= 3:
        yield from _argument(arguments[1], arguments[2], False)
        yield from _argument(arguments[0], arguments[2], True)
    elif known == _cast:
        # What comes of it is another name for the same memory.
        if arguments and issubclass(type(arguments[0]), _Pointer):
            yield from whole(arguments[0], False)
    elif known in _READING:
        if arguments:
            size = _size_read(function, _READING[known], arguments)
            yield from _argument(arguments[0], size, False)
    else:
        for argument in arguments:
            if type(argument) is _Argument:
                yield from whole(argument._obj, True)
            elif issubclass(type(argument), _Pointer):
                yield from whole(argument, False)
                yield from _whole_at(argument, True)
            elif issubclass(type(argument), _Array):
                yield from whole(argument, True)


_BufferOfStream: type = type(io.BytesIO().getbuffer().obj)


def shown_by(view: memoryview) -> list[Any]:
    """The object whose memory a view shows, or the view itself once it was released."""
    try:
        shown = view.obj
    except ValueError:
        return [view]
    if type(shown) is not _BufferOfStream:
        return [shown]
    # From Python 3.15 on its class is among them.
    return [each for each in gc.get_referents(shown) if each is not _BufferOfStream]
