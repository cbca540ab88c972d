"""From addresses in a program to places in its source, looked up only when somebody asks."""

from __future__ import annotations

import os
import re
import shutil
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

from bohrbug.model.operation import Site
from bohrbug.runtime.posix.elf import ElfFile
from bohrbug.runtime.posix.tools import said_by

_SYSTEM = re.compile(r"^(/usr/include/|/usr/lib/gcc|/rustc/|/build/|\./|\.\./)|/(bits|ext)/[\w.]+$")
_C_LIBRARY = re.compile(r"(libc|ld-linux[\w-]*|libpthread)[.-]")
_LIBRARY = re.compile(r"(/usr)?/lib(32|64|x32)?/.*\.so")
_DISCRIMINATOR = re.compile(r" \(discriminator \d+\)$")


@dataclass(eq=False, slots=True)
class Place:
    """A place in a module; the same object for the same place.

    Parameters:
        module: where it lies.
        offset: in the addresses of the module's file.
    """

    module: Module
    offset: int
    _site: Site | None = None
    _unresolved: Site | None = None

    def unresolved(self) -> Site:
        """See :class:`~bohrbug.model.site.Unresolved`: module and offset.

        Or the line, if it was looked up already, as that of a racy place is: what is done in one
        line is one place to a search, of which there are fewer then.
        """
        if self._site is not None:
            return self._site
        if self._unresolved is None:
            self._unresolved = Site(f"{self.module.path}+{self.offset:#x}", 0, "?")
        return self._unresolved

    def resolve(self) -> Site:
        """The place in the source, or module and offset where nobody knows it."""
        if self._site is None:
            self.module.resolve_all()
        assert self._site is not None
        return self._site


@dataclass(eq=False)
class Module:
    """A program or library.

    Parameters:
        path: of its file.
        places: all places in it that were seen, by offset.
    """

    path: str
    places: dict[int, Place] = field(default_factory=dict)

    @cached_property
    def elf(self) -> ElfFile:
        """Its symbol tables."""
        return ElfFile(self.path)

    @cached_property
    def is_c_library(self) -> bool:
        """Whether it is the C library, or the loader."""
        return _C_LIBRARY.match(module_name(self.path)) is not None

    @cached_property
    def is_of_system(self) -> bool:
        """Whether it is a library that came with the system."""
        return _LIBRARY.match(self.path) is not None

    def place(self, offset: int) -> Place:
        """The place at an offset."""
        place = self.places.get(offset)
        if place is None:
            place = self.places[offset] = Place(self, offset)
        return place

    def resolve_all(self) -> None:
        """Look up every place that was not looked up yet; starting a tool costs more than it."""
        unknown = [place for place in self.places.values() if place._site is None]
        found = lines_of(self.path, [place.offset for place in unknown])
        for place in unknown:
            place._site = found.get(place.offset) or self._by_symbol(place.offset)

    def newer_sources(self) -> set[str]:
        """The files with places of it that were looked up, changed since it was built."""
        files = {place._site.filename for place in self.places.values() if place._site is not None}
        built = _changed(self.path)
        return {file for file in files if _is_newer(file, built) and not is_system_file(file)}

    def _by_symbol(self, offset: int) -> Site:
        # A call that does not return may be the last instruction of its function.
        symbol = self.elf.functions.at(max(offset - 1, 0))
        name = f"{demangled(symbol.name)}+{offset - symbol.address:#x}" if symbol else "?"
        return Site(f"{self.path}+{offset:#x}", 0, name)

    def name(self, offset: int) -> str | None:
        """The name of what lies at an offset: a variable, or a function that begins there."""
        function = self.elf.functions.at(offset)
        if function is not None and function.address == offset:
            return demangled(function.name)
        return self.variable(offset)

    def variable(self, offset: int) -> str | None:
        """The name of the variable at an offset, with the distance from its beginning."""
        symbol = self.elf.variables.at(offset)
        if symbol is None:
            return None
        distance = offset - symbol.address
        name = demangled(symbol.name)
        return f"{name}+{distance:#x}" if distance else name


@cache
def demangled(name: str) -> str:
    """A symbol as the source has it, where a compiler of C++ or Rust has changed it."""
    if not name.startswith(("_Z", "_R")):
        return name
    tool = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if tool is None:
        return name
    said = said_by([tool, name])
    return said.strip() or name if said else name


def lines_of(path: str, offsets: Sequence[int]) -> dict[int, Site]:
    """Places in the source for offsets in a module, as far as its debugging information knows.

    Parameters:
        path: of the module.
        offsets: return addresses; the call is just before each.
    """
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if tool is None or not offsets or not os.path.exists(path):
        return {}
    text = "".join(f"{max(offset - 1, 0):#x}\n" for offset in offsets)
    output = said_by([tool, "-a", "-f", "-C", "-i", "-e", path], text)
    if output is None:
        return {}
    found: dict[int, Site] = {}
    groups = re.split(r"^0x[0-9a-f]+\n", output, flags=re.MULTILINE)[1:]
    for offset, group in zip(offsets, groups, strict=False):
        site = _telling(group.splitlines())
        if site is not None:
            found[offset] = site
    return found


def _telling(lines: Sequence[str]) -> Site | None:
    """Of functions inlined into each other the innermost one that is the program's own."""
    sites = []
    for function, where in zip(lines[::2], lines[1::2], strict=False):
        filename, _, line = _DISCRIMINATOR.sub("", where).rpartition(":")
        if filename and filename != "??" and line.isdigit() and _may_have(filename, int(line)):
            sites.append(Site(filename, int(line), function))
    return next((site for site in sites if not is_system_file(site.filename)), None) or (
        sites[0] if sites else None
    )


def _may_have(filename: str, line: int) -> bool:
    """Whether a file may have such a line: addr2line takes a header for whoever includes it."""
    length = _length_of(filename)
    return line > 0 and (length is None or line <= length)


def _changed(path: str) -> float | None:
    """When a file was last changed; ``None`` if nobody knows."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None


def _is_newer(path: str, moment: float | None) -> bool:
    """Whether a file was changed after a moment, as far as anybody knows."""
    changed = _changed(path)
    return changed is not None and moment is not None and changed > moment


@cache
def _length_of(filename: str) -> int | None:
    """How many lines a file has; ``None`` if it can't be read."""
    try:
        with open(filename, "rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return None


def is_system_file(filename: str) -> bool:
    """Whether a source file belongs to the compiler or the C library rather than to the program."""
    return bool(_SYSTEM.search(filename))


class Symbols:
    """All modules that were ever seen."""

    def __init__(self) -> None:
        self._modules: dict[str, Module] = {}
        self.mappings: dict[bytes, dict[int, Mapping]] = {}
        """Where modules lie, by what a segment says of them: mostly it is the same each time."""
        self._races_in: dict[int, Mapping] | None = None
        self._races: dict[object, Any] = {}

    def module(self, path: str) -> Module:
        """The module with a path."""
        module = self._modules.get(path)
        if module is None:
            module = self._modules[path] = Module(path)
        return module

    def made_races(self, mappings: dict[int, Mapping]) -> dict[object, Any]:
        """What was made of races where modules lie in this way, by what tells the races apart."""
        if self._races_in is not mappings:
            self._races_in, self._races = mappings, {}
        return self._races

    def newer_sources(self) -> list[str]:
        """Files of the source that were changed since what they tell the lines of was built."""
        return sorted(set().union(*(each.newer_sources() for each in self._modules.values())))


class Mapping:
    """What lies where in the memory of one process.

    Parameters:
        symbols: the modules.
        ranges: base, first and last address, and path of each module.
    """

    def __init__(self, symbols: Symbols, ranges: Sequence[tuple[int, int, int, str]]) -> None:
        # The loader tells of the program itself first.
        self.program = ranges[0][3] if ranges else ""
        self._ranges = sorted(ranges, key=itemgetter(1))
        self._starts = [start for _, start, _, _ in self._ranges]
        self._symbols = symbols
        self._places: dict[int, Place | None] = {}

    def locate(self, address: int) -> tuple[Module, int] | None:
        """The module that an address lies in, and its offset there."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        base, _, end, path = self._ranges[index]
        if address >= end:
            return None
        return self._symbols.module(path), address - base

    def place(self, address: int) -> Place | None:
        """The place of a return address; ``None`` if it lies in no module."""
        try:
            return self._places[address]
        except KeyError:
            located = self.locate(address)
            place = located[0].place(located[1]) if located is not None else None
            self._places[address] = place
            return place


@cache
def module_name(path: str) -> str:
    """The name of a module for ids: without its folder."""
    return Path(path).name
