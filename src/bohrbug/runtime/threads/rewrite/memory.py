"""Memory that several objects name: what ``ctypes`` objects access, by its address.

A pointer and what it points to, the members of a union, a structure and its fields, and what is
made ``from_buffer`` or ``from_address`` are names for the same bytes.  Two accesses to the same
bytes are accesses to one variable; those that overlap, but are not the same bytes, are accesses to
the block of memory as a whole.  The memory of a buffer, such as a ``bytearray``, is that object.
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
_base_of: Any = vars(DATA)["_b_base_"].__get__
_kept_by: Any = vars(DATA)["_objects"].__get__
_address_of = ctypes.addressof
_size_of = ctypes.sizeof
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
        self.variable = Named(f"memory of {type(keep).__name__}")
        # Which bytes were accessed together, as their first and their last but one; and those
        # among them that others overlap.
        self.shapes: set[tuple[int, int]] = set()
        self.whole: set[tuple[int, int]] = set()

    def access(self, start: int, end: int, is_write: bool) -> Access:
        """An access to some bytes."""
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


def _block_at(start: int, end: int) -> _Block | None:
    index = bisect_right(_starts, start) - 1
    if index >= 0 and start < _blocks[index].end:
        return _blocks[index]
    if index + 1 < len(_blocks) and _blocks[index + 1].start < end:
        return _blocks[index + 1]
    return None


def _add(keep: object, start: int, end: int) -> _Block:
    if len(_blocks) >= _MOST:
        _starts.clear()
        _blocks.clear()
    index = bisect_right(_starts, start)
    block = _Block(keep, start, end)
    _starts.insert(index, start)
    _blocks.insert(index, block)
    return block


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
            return each.obj
    return None


def register(owner: Any) -> None:
    """Something is about to get hold of the address of an object."""
    _bytes_of(owner, 0, _size_of(owner), False)


def _bytes_of(owner: Any, offset: int, size: int, is_write: bool) -> Access:
    root = _root_of(owner)
    buffer = _buffer_of(root)
    if buffer is not None and not issubclass(type(buffer), DATA):
        return Access(buffer, None, is_write)
    start = _address_of(owner) + offset
    block = _block_at(start, start + size)
    if block is None:
        first = _address_of(root)
        block = _add(root, first, first + max(_size_of(root), 1))
    return block.access(start, start + size, is_write)


def _bytes_at(address: int, size: int, is_write: bool) -> Access | None:
    block = _block_at(address, address + size)
    return None if block is None else block.access(address, address + size, is_write)


def whole(owner: Any, is_write: bool) -> Access:
    """All of an object is accessed."""
    return _bytes_of(owner, 0, _size_of(owner), is_write)


def attribute(owner: Any, name: str, descriptor: Any, is_write: bool) -> Iterator[Access]:
    """What loading or storing an attribute accesses.

    Parameters:
        owner: a ``ctypes`` object.
        name: of the attribute.
        descriptor: what its class has for it.
        is_write: whether it is stored.
    """
    if not hasattr(descriptor, "offset"):
        # value, raw, contents
        yield whole(owner, is_write)
        return
    class_ = _type_of_field(type(owner), name)
    if class_ is None or is_write or _is_simple(class_):
        size = descriptor.size
        # Of a field of bits, the upper half says how many.
        size = _size_of(class_) if class_ is not None else max(size & 0xFFFF, 1)
        yield _bytes_of(owner, descriptor.offset, size, is_write)


def _type_of_field(class_: type, name: str) -> Any:
    for base in class_.__mro__:
        for field in vars(base).get("_fields_", ()):
            if field[0] == name:
                return field[1]
    return None


def _is_simple(class_: Any) -> bool:
    """Whether reading an element reads memory, and does not make another name for it."""
    return issubclass(class_, _ctypes._SimpleCData)


def item(owner: Any, key: Any, is_write: bool) -> Iterator[Access]:
    """What ``owner[key]`` accesses, of an array or a pointer."""
    class_ = type(owner)._type_
    size = _size_of(class_)
    if issubclass(type(owner), _Pointer):
        yield whole(owner, False)
        address = _target_of(owner)
        if type(key) is int and address:
            if is_write or _is_simple(class_):
                found = _bytes_at(address + key * size, size, is_write)
                yield found or whole_at(owner, is_write)
        elif address:
            yield whole_at(owner, is_write)
        return
    if type(key) is not int:
        yield whole(owner, is_write)
    elif is_write or _is_simple(class_):
        index = key if key >= 0 else key + len(owner)
        if 0 <= index < len(owner):
            yield _bytes_of(owner, index * size, size, is_write)


def whole_at(pointer: Any, is_write: bool) -> Access:
    """What a pointer points to."""
    try:
        target = pointer.contents
    except ValueError:
        return whole(pointer, False)
    return whole(target, is_write)


def _target_of(pointer: Any) -> int:
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


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
    if address:
        if issubclass(type(value), DATA) or type(value) is _Argument:
            owner: Any = value._obj if type(value) is _Argument else value
            register(owner)
        found = _bytes_at(address, max(size, 1), is_write)
        if found is not None:
            yield found


_memset, _memmove = id(ctypes.memset), id(ctypes.memmove)
_READING = frozenset(
    id(function)
    for name in ("_string_at", "_wstring_at", "_memoryview_at")
    if (function := vars(ctypes).get(name)) is not None
)


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
    elif known in _READING:
        size = arguments[1] if len(arguments) > 1 and type(arguments[1]) is int else 1
        if arguments:
            yield from _argument(arguments[0], size, False)
    else:
        for argument in arguments:
            if type(argument) is _Argument:
                yield whole(argument._obj, True)
            elif issubclass(type(argument), _Pointer):
                yield whole_at(argument, True)
            elif issubclass(type(argument), _Array):
                yield whole(argument, True)


_BufferOfStream: type = type(io.BytesIO().getbuffer().obj)


def shown_by(view: memoryview) -> list[Any]:
    """The object whose memory a view shows, or the view itself once it was released."""
    try:
        shown = view.obj
    except ValueError:
        return [view]
    return gc.get_referents(shown) if type(shown) is _BufferOfStream else [shown]
