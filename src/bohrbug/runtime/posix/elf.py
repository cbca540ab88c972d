"""Names of functions and variables from the symbol tables of an ELF file."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SYMTAB, _DYNSYM = 2, 11
_OBJECT, _FUNCTION = 1, 2
_EXECUTABLE = (2, 3)
_FIXED = 2
_LOAD, _RELRO, _WRITE, _EXECUTE = 1, 0x6474E552, 2, 1
_NOTES, _NOTE_OF_GO = 4, b"\x04\0\0\0Go\0\0"
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function or a variable.

    Parameters:
        address: as the file has it; a position-independent module is loaded at its base.
        size: in bytes, 0 where unknown.
        name: as the linker knows it.
    """

    address: int
    size: int
    name: str


class SymbolTable:
    """Symbols of one kind, to be looked up by address."""

    def __init__(self, symbols: Iterator[Symbol]) -> None:
        self._symbols = sorted(symbols, key=lambda symbol: (symbol.address, symbol.size))
        self._addresses = [symbol.address for symbol in self._symbols]

    def at(self, address: int) -> Symbol | None:
        """The symbol that an address lies in."""
        index = bisect_right(self._addresses, address) - 1
        if index < 0:
            return None
        symbol = self._symbols[index]
        return symbol if not symbol.size or address < symbol.address + symbol.size else None

    def named(self, name: str) -> list[Symbol]:
        """All symbols of a name, one for each address."""
        found = {symbol.address: symbol for symbol in self._symbols if symbol.name == name}
        return list(found.values())

    def names(self) -> set[str]:
        """The names of all symbols."""
        return {symbol.name for symbol in self._symbols}


class ElfFile:
    """The symbols of a 64-bit little-endian ELF file; a file of another kind has none.

    Parameters:
        path: of the program or library.
    """

    def __init__(self, path: str) -> None:
        try:
            data = Path(path).read_bytes()
        except OSError:
            data = b""
        symbols: list[tuple[int, Symbol]] = []
        if data[:6] == b"\x7fELF\x02\x01":
            try:
                symbols = list(_symbols(data))
            except (struct.error, IndexError, UnicodeDecodeError):
                # Truncated or otherwise damaged: as if it had been stripped.
                symbols = []
        self.functions = SymbolTable(symbol for kind, symbol in symbols if kind == _FUNCTION)
        self.variables = SymbolTable(symbol for kind, symbol in symbols if kind == _OBJECT)


def is_elf(path: Path) -> bool:
    """Whether a file is an ELF file."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Header:
    """What an ELF file is for.

    Parameters:
        bits: 32 or 64.
        machine: its number, see :data:`MACHINES`.
    """

    bits: int
    machine: int


MACHINES = {"x86_64": 62, "aarch64": 183}
"""The numbers of the machines that we know, by what ``platform.machine`` calls them."""


def header_of(path: Path) -> Header | None:
    """What an ELF file is for; ``None`` if it is no program, or damaged."""
    try:
        with path.open("rb") as file:
            data = file.read(20)
        order = {1: "<", 2: ">"}[data[5]]
        kind, machine = struct.unpack_from(f"{order}HH", data, 16)
        bits = {1: 32, 2: 64}[data[4]]
    except (OSError, KeyError, IndexError, struct.error):
        return None
    return Header(bits, machine) if kind in _EXECUTABLE else None


def has_fixed_addresses(path: str) -> bool:
    """Whether a program lies where its file says, and not anywhere.

    Parameters:
        path: of the program or library.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(18)
        return data[:6] == b"\x7fELF\x02\x01" and struct.unpack_from("<H", data, 16)[0] == _FIXED
    except (OSError, struct.error):
        return False


def defines(path: Path, name: str) -> bool:
    """Whether an ELF file defines a function or a variable itself."""
    try:
        data = path.read_bytes()
        if name.encode() + b"\0" not in data or data[:6] != b"\x7fELF\x02\x01":
            return False
        return any(symbol.name == name for _, symbol in _symbols(data))
    except (OSError, struct.error, IndexError, ValueError):
        return False


@cache
def is_of_rust(path: Path) -> bool:
    """Whether a program was compiled from Rust, as what its panics say of the library tells."""
    try:
        return is_elf(path) and b"/rustc/" in path.read_bytes()
    except OSError:
        return False


_FUTEX_FIRST = b"\xbf\xca\0\0\0"
"""``mov $202, %edi``: the first argument of ``syscall`` is the number of ``futex`` on x86-64."""


@cache
def has_futex_calls(path: Path) -> bool:
    """Whether the code of a program or library for x86-64 makes ``futex`` calls by ``syscall``.

    Whoever does so has locks that make no call while nobody contends for them.
    """
    return _imports(path, b"syscall") and _has_code(path, (_FUTEX_FIRST,))


def has_hooks(path: Path) -> bool:
    """Whether a program or library was compiled with -fsanitize=thread."""
    return _imports(path, b"__tsan_init")


@cache
def _imports(path: Path, name: bytes) -> bool:
    """Whether a name is among those that the loader looks up, or looks for."""
    try:
        return is_elf(path) and b"\0" + name + b"\0" in path.read_bytes()
    except OSError:
        return False


_FENCES = (b"\x0f\xae\xf0", b"\xf0\x83\x0c\x24\x00", b"\xf0\x48\x83\x0c\x24\x00")
"""``mfence``, and the locked ``or`` on the top of the stack that does for it."""


@cache
def has_fences(path: Path) -> bool:
    """Whether the code of a program for x86-64 has fences of its own.

    Compiled with -fsanitize=thread it has those in assembly only.
    """
    return _has_code(path, _FENCES)


def _has_code(path: Path, patterns: tuple[bytes, ...]) -> bool:
    """Whether one of several pieces of machine code is in a program or library."""
    try:
        data = path.read_bytes()
        if data[:6] != b"\x7fELF\x02\x01":
            return False
        for kind, flags, start, _, _, length in _program_headers(data):
            code = data[start : start + length]
            if kind == _LOAD and flags & _EXECUTE and any(each in code for each in patterns):
                return True
    except (OSError, struct.error):
        pass
    return False


def _program_headers(data: bytes) -> Iterator[tuple[int, ...]]:
    offset = struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    for index in range(count):
        yield struct.unpack_from("<IIQQQQ", data, offset + index * size)


def interpreter_of(path: Path) -> str | None:
    """The dynamic loader that an ELF program asks for; ``None`` if it is linked statically."""
    try:
        data = path.read_bytes()
        if data[:5] != b"\x7fELF\x02":
            return None
        for kind, _, start, _, _, length in _program_headers(data):
            if kind == 3:
                return data[start : start + length].rstrip(b"\0").decode()
    except (OSError, struct.error, UnicodeDecodeError):
        return None
    return None


def is_of_go(path: Path) -> bool:
    """Whether an ELF program was made by the compiler of Go, as a note in it says."""
    try:
        data = path.read_bytes()
        return data[:5] == b"\x7fELF\x02" and any(
            _NOTE_OF_GO in data[start : start + length]
            for kind, _, start, _, _, length in _program_headers(data)
            if kind == _NOTES
        )
    except (OSError, struct.error):
        return False


def writable_ranges(path: str) -> list[tuple[int, int]]:
    """The first and last addresses of what a program may write, as its file has it.

    Parameters:
        path: of an ELF file; others have none.
    """
    data = Path(path).read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    offset = struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    writable, sealed = [], 0
    for index in range(count):
        kind, flags, _, address, _, _, length = struct.unpack_from(
            "<IIQQQQQ", data, offset + index * size
        )
        if kind == _LOAD and flags & _WRITE:
            writable.append((address, address + length))
        elif kind == _RELRO:
            # Read-only once the program is loaded.
            sealed = address + length
    return [
        (max(start, sealed) if start <= sealed <= end else start, end) for start, end in writable
    ]


def _symbols(data: bytes) -> Iterator[tuple[int, Symbol]]:
    offset = struct.unpack_from("<Q", data, 40)[0]
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [_SECTION.unpack_from(data, offset + index * size) for index in range(count)]
    for section in sections:
        if section[1] not in (_SYMTAB, _DYNSYM):
            continue
        names = sections[section[6]][4]
        start, length = section[4], section[5]
        for at in range(start, start + length, _SYMBOL.size):
            name, info, _, index, value, extent = _SYMBOL.unpack_from(data, at)
            kind = info & 15
            if kind not in (_OBJECT, _FUNCTION) or not index or not value:
                continue
            first = names + name
            text = data[first : data.index(b"\0", first)].decode("utf-8", "replace")
            yield kind, Symbol(value, extent, text)
