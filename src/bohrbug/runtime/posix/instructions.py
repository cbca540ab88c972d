"""What the instructions of a program do to memory, as ``objdump`` of binutils disassembles them.

For x86-64 only.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from bohrbug.model.operation import READ, WRITE, Kind
from bohrbug.runtime.posix.tools import LONG_PATIENCE, said_by

_LINE = re.compile(r"^ *([0-9a-f]+):\t(\S.*)$")
_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_SIZES = {"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "XMMWORD": 16, "YMMWORD": 32}
_OPERAND = re.compile(rf"({'|'.join(_SIZES)}) PTR (?:([c-gs]s):)?\[([^]]*)\]")
_TERM = re.compile(r"([+-]?)(?:(0x[0-9a-f]+|\d+)|(r\w+)(?:\*([1248]))?)")
_PREFIXES = frozenset({"lock", "xacquire", "xrelease", "notrack", "bnd", "data16", "cs", "ds"})

_LOOKS = frozenset(
    {"cmp", "test", "bt", "comiss", "comisd", "ucomiss", "ucomisd", "mul", "imul", "div", "idiv"}
)
"""Instructions that only read memory, though it may be their first operand."""

_ELSEWHERE = frozenset({"lea", "nop", "call", "jmp", "push", "pop", "ret", "prefetchw"})
"""Instructions whose operand is no data of the program, or not all that they access."""

_OTHERS = re.compile(r"rep|(movs|stos|lods|scas|cmps)[bwq]?$|prefetch|f|xsave|xrstor")
"""... or that go to memory in ways of their own: strings, and what the x87 unit does."""

REGISTERS = (
    *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"),
    *("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"),
)
"""Registers of addresses, in the order of ``enum base`` in ``shim/sampled.h``."""


@dataclass(frozen=True, slots=True)
class Operand:
    """Where in memory an instruction goes.

    Parameters:
        base, index: indices into :data:`REGISTERS`; ``None`` for none.
        scale: what the index is multiplied by.
        displacement: what is added.
        size: bytes that are accessed.
    """

    base: int | None
    index: int | None
    scale: int
    displacement: int
    size: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction that accesses memory.

    Parameters:
        offset, end: where it begins and where the next one does, as the file has it.
        function: the name that its function has, or "".
        operand: what it accesses.
        reads, writes: what it does there.
        is_locked: all in one, for every processor: it has a lock prefix, or exchanges.
    """

    offset: int
    end: int
    function: str
    operand: Operand
    reads: bool
    writes: bool
    is_locked: bool

    @property
    def kind(self) -> Kind:
        """What a plain access of this kind is called."""
        return WRITE if self.writes else READ

    @property
    def is_update(self) -> bool:
        """Whether it reads and writes."""
        return self.reads and self.writes


def disassembler() -> str | None:
    """The path of ``objdump``."""
    return shutil.which("objdump")


@cache
def instructions_of(path: str) -> dict[int, Instruction]:
    """The instructions of a program or library that access memory, by the address behind each.

    Parameters:
        path: of its file.

    Returns:
        Nothing if the file can't be disassembled.
    """
    tool = disassembler()
    if tool is None:
        return {}
    command = [tool, "-d", "-M", "intel", "--no-show-raw-insn", "-j", ".text", path]
    said = said_by(command, patience=LONG_PATIENCE)
    return {each.end: each for each in _parsed(said or "")}


def _parsed(text: str) -> Iterator[Instruction]:
    function = ""
    last: tuple[int, str, str] | None = None
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            named = _FUNCTION.match(line)
            function = named[1] if named else function
            continue
        offset = int(match[1], 16)
        if last is not None:
            found = instruction(last[1], last[0], offset, last[2])
            if found is not None:
                yield found
        last = offset, match[2], function


def instruction(text: str, offset: int, end: int, function: str = "") -> Instruction | None:
    """One instruction; ``None`` if it does not access memory, or in a way that is not known.

    Parameters:
        text: as ``objdump -M intel`` writes it.
        offset, end: where it begins, and where the next one does.
        function: that it is in.
    """
    words = text.partition("#")[0].split()
    is_locked = False
    while words and words[0] in _PREFIXES:
        is_locked |= words.pop(0) == "lock"
    if len(words) < 2 or words[0] in _ELSEWHERE or _OTHERS.match(words[0]):
        return None
    name, operands = words[0], " ".join(words[1:])
    match = _OPERAND.search(operands)
    if match is None or match[2] in ("fs", "gs"):
        return None
    operand = _operand(match[3], _SIZES[match[1]])
    if operand is None:
        return None
    comes_first = match.start() == 0
    only_writes = comes_first and name.startswith(("mov", "vmov", "set"))
    exchanges = name in ("xchg", "xadd") or name.startswith("cmpxchg")
    writes = exchanges or (comes_first and name not in _LOOKS)
    is_locked = is_locked or name == "xchg"
    return Instruction(offset, end, function, operand, not only_writes, writes, is_locked)


def _operand(text: str, size: int) -> Operand | None:
    base = index = None
    scale, displacement, at = 1, 0, 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None:
            return None
        at = term.end()
        if term[2]:
            displacement += int(term[2], 0) * (-1 if term[1] == "-" else 1)
        elif term[3] not in REGISTERS:
            return None
        elif term[4] or base is not None:
            index, scale = REGISTERS.index(term[3]), int(term[4] or 1)
        else:
            base = REGISTERS.index(term[3])
    if displacement >= 1 << 63:
        displacement -= 1 << 64
    return Operand(base, index, scale, displacement, size)


def is_meant(first: Instruction | None, second: Instruction | None) -> bool:
    """Whether two instructions that race say by themselves that the memory is atomic.

    One of them is locked then, and the other one is, too, or is a plain load or store, as which
    compilers translate those of atomics.  Of one that is not known nothing is said.

    Parameters:
        first, second: the two instructions.
    """
    if first is None or second is None:
        return False
    locked = first.is_locked, second.is_locked
    if not any(locked):
        return False
    return all(
        is_locked or not each.is_update
        for each, is_locked in zip((first, second), locked, strict=True)
    )
