"""Accesses of a native program to memory that are looked at a few at a time, chosen at random.

DataCollider (Erickson, Musuvathi, Burckhardt and Olynyk, OSDI 2010) under control: each execution
has breakpoints at some instructions that access memory.  They are chosen among all instructions
alike, so that code which runs seldom is looked at as often as loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from bohrbug.runtime.posix import enumerations
from bohrbug.runtime.posix.accesses import PointKey, Points, Seen, SeenAccess
from bohrbug.runtime.posix.accesses_layout import MOST_SAMPLED
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.elf import writable_ranges
from bohrbug.runtime.posix.instructions import (
    REGISTERS,
    Instruction,
    disassembler,
    instructions_of,
)
from bohrbug.runtime.posix.segment import Segment

_OF_THE_COMPILER = frozenset(
    {
        *("_start", "_init", "_fini", "frame_dummy", "__do_global_dtors_aux"),
        *("register_tm_clones", "deregister_tm_clones"),
    }
)
"""Functions that every program has, and that run before and after all else."""

_LARGEST = 16
"""Bytes of an access; of more than eight the first eight are watched."""

_RIP, _RSP, _RBP = map(REGISTERS.index, ("rip", "rsp", "rbp"))
_NO_REGISTER = len(REGISTERS)


def candidates(program: str) -> list[Instruction]:
    """The instructions of a program that may access memory which tasks share.

    Parameters:
        program: path of its file.

    Returns:
        All that access memory, in their order, but for those that are locked, that use the frame
        of their function, or go to memory that is never written.

    Raises:
        UnsupportedError: the program can't be disassembled.
    """
    if disassembler() is None:
        raise UnsupportedError(
            "--sample-accesses needs objdump to find the accesses of a program: install binutils "
            "(Debian: apt install binutils)"
        )
    ranges = writable_ranges(program)
    found = [each for each in instructions_of(program).values() if _is_candidate(each, ranges)]
    if not found:
        raise UnsupportedError(
            f"--sample-accesses: {program} has no access to memory that could be shared; if it is "
            "a script, or starts another program, explore that program itself"
        )
    return sorted(found, key=lambda each: each.offset)


def _is_candidate(each: Instruction, ranges: Sequence[tuple[int, int]]) -> bool:
    operand = each.operand
    if each.is_locked or each.function in _OF_THE_COMPILER or operand.size > _LARGEST:
        return False
    if operand.base == _RSP or (operand.base == _RBP and operand.displacement < 0):
        return False
    target = operand.displacement + (each.end if operand.base == _RIP else 0)
    if operand.base == _RIP and operand.index is None:
        return any(start <= target < end for start, end in ranges)
    return True


class SampledPoints(Points):
    """Scheduling points at a few instructions, others in each execution.

    Every instruction has its turn before one has it again, in an order that is drawn.  Those that
    raced have a place more often: half of the places, as far as there are any.

    Parameters:
        level: as in the options.
        program: path of the program.
        number: how many instructions at a time.
        seed: of what is drawn.
    """

    def __init__(self, level: str, program: str, number: int, seed: int) -> None:
        super().__init__(level)
        self._program = program
        self._number = number
        self._pool = {each.end: each for each in candidates(program)}
        self._random = Random(seed)
        self._waiting: list[int] = []
        self._racy: dict[int, None] = {}
        self._current: tuple[int, ...] = ()
        self._is_fixed = False
        self.take_fresh()

    def take_fresh(self) -> None:
        """Choose the instructions of the next executions."""
        if self._is_fixed:
            return
        racy = list(self._racy)
        half = min(len(racy), (self._number + 1) // 2)
        chosen = dict.fromkeys(self._random.sample(racy, half))
        while len(chosen) < min(self._number, len(self._pool)):
            if not self._waiting:
                self._waiting = self._random.sample(list(self._pool), len(self._pool))
            chosen.setdefault(self._waiting.pop())
        self._current = tuple(chosen)

    def learn(self, seen: Seen) -> int:
        """Take note of what raced; no search has to begin again for it, as it is another program
        in each execution anyway."""
        for place in seen.places:
            if place.module.path == self._program and place.offset in self._pool:
                self._racy.setdefault(place.offset)
        return 0

    @property
    def has_fresh(self) -> bool:
        """There is nothing that the next execution has to begin with."""
        return False

    def want(self, keys: Iterable[PointKey]) -> None:
        """From now on it is these instructions in every execution."""
        ends = [end for path, _, _, end in keys if path == self._program and end in self._pool]
        self._current = tuple(ends[:MOST_SAMPLED])
        self._is_fixed = True

    def keys(self) -> tuple[PointKey, ...]:
        """The instructions of this execution, for a reproduction file."""
        return tuple((self._program, "", 0, end) for end in self._current)

    def prepare(self, segment: Segment, wanted: Sequence[SeenAccess] = ()) -> None:
        """Tell the shim what to do; parameters as for :meth:`Points.prepare`."""
        super().prepare(segment, wanted)
        record = segment.accesses
        record.sampled = len(self._current)
        for raw, end in zip(record.sampled_place, self._current, strict=False):
            each = self._pool[end]
            operand = each.operand
            raw.path = self._program.encode("utf-8", "surrogateescape")[:239]
            raw.offset, raw.length = each.offset, end - each.offset
            raw.base = _NO_REGISTER if operand.base is None else operand.base
            raw.index = _NO_REGISTER if operand.index is None else operand.index
            raw.scale, raw.displacement, raw.size = (
                operand.scale,
                operand.displacement,
                operand.size,
            )
            raw.kind = enumerations.KINDS.index(each.kind)
