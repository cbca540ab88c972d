"""Code objects taken apart into instructions and put together again with code spliced in.

Only what lies between the instructions changes: names, local variables, cells, the original
constants with their numbers, and the source positions of every original instruction stay as the
compiler made them. That is the reason for this module: going through a symbolic form and back
renumbers local variables and constants, so that ``locals()`` changes its order, and costs several
times as much.

The formats are those of CPython's ``Objects/locations.md`` (source positions) and
``Objects/exception_handling_notes.txt`` (exception table), both unchanged since 3.11.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from functools import cache
from types import CodeType
from typing import NamedTuple

EXTENDED_ARG = dis.EXTENDED_ARG
JUMPS = frozenset(dis.hasjrel)
BACKWARD_JUMPS = frozenset(
    op for op in JUMPS if "BACKWARD" in dis.opname[op] or "END_ASYNC_FOR" in dis.opname[op]
)
"""Those whose argument counts backwards; END_ASYNC_FOR names the loop it ends and does not jump."""

Position = tuple[int | None, int | None, int | None, int | None]


@cache
def cache_entries(opcode: int) -> int:
    """How many inline cache entries (code units) follow an instruction."""
    table = dis._inline_cache_entries  # type: ignore[attr-defined]
    if isinstance(table, list):
        return int(table[opcode])
    return int(table.get(dis.opname[opcode], 0))


CACHES: tuple[int, ...] = tuple(cache_entries(opcode) for opcode in range(256))


class Instruction(NamedTuple):
    """One instruction of the original code.

    Parameters:
        start: offset in bytes of its first code unit, which may be an ``EXTENDED_ARG``.
        offset: offset in bytes of the opcode itself, as ``dis`` and ``f_lasti`` count.
        opcode: the opcode.
        arg: the argument with all ``EXTENDED_ARG`` in it; 0 where it has none.
        end: offset in bytes behind its inline caches.
    """

    start: int
    offset: int
    opcode: int
    arg: int
    end: int

    @property
    def jump_target(self) -> int:
        """Offset in bytes where a jump goes; meaningless for other instructions."""
        if self.opcode in BACKWARD_JUMPS:
            return self.end - 2 * self.arg
        return self.end + 2 * self.arg


class Splice(NamedTuple):
    """What is put around, or in place of, one instruction.

    Parameters:
        before: code that runs first, also when a jump leads to the instruction.
        instead: code in place of the instruction, or ``None`` to keep it.
        after: code that runs when the instruction has ended without a jump.
    """

    before: bytes = b""
    instead: bytes | None = None
    after: bytes = b""


def decode(code: CodeType) -> list[Instruction]:
    """The instructions of a code object, in order, without its caches."""
    raw = code.co_code
    instructions = []
    offset = 0
    length = len(raw)
    while offset < length:
        start = offset
        opcode = raw[offset]
        arg = raw[offset + 1]
        while opcode == EXTENDED_ARG:
            offset += 2
            opcode = raw[offset]
            arg = arg << 8 | raw[offset + 1]
        end = offset + 2 + 2 * CACHES[opcode]
        instructions.append(Instruction(start, offset, opcode, arg, end))
        offset = end
    return instructions


def encode_instruction(opcode: int, arg: int = 0) -> bytes:
    """The bytes of one instruction, with ``EXTENDED_ARG`` before and empty caches behind it."""
    if arg < 256:
        return bytes((opcode, arg)) + b"\0\0" * CACHES[opcode]
    prefix = b""
    high = arg >> 8
    while high:
        prefix = bytes((EXTENDED_ARG, high & 255)) + prefix
        high >>= 8
    return prefix + bytes((opcode, arg & 255)) + b"\0\0" * CACHES[opcode]


class ExceptionEntry(NamedTuple):
    """One range of the exception table; offsets in bytes, ``end`` exclusive."""

    start: int
    end: int
    target: int
    depth: int
    push_offset: bool


def decode_exception_table(table: bytes) -> list[ExceptionEntry]:
    """The ranges of ``co_exceptiontable``."""
    entries = []
    values = _exception_varints(table)
    for start in values:
        size, target, depth_and_flag = next(values), next(values), next(values)
        entries.append(
            ExceptionEntry(
                2 * start,
                2 * (start + size),
                2 * target,
                depth_and_flag >> 1,
                bool(depth_and_flag & 1),
            )
        )
    return entries


def _exception_varints(table: bytes) -> Iterator[int]:
    bytes_left = iter(table)
    for byte in bytes_left:
        value = byte & 63
        while byte & 64:
            byte = next(bytes_left)
            value = value << 6 | byte & 63
        yield value


def encode_exception_table(entries: Sequence[ExceptionEntry]) -> bytes:
    """The inverse of :func:`decode_exception_table`."""
    table = bytearray()
    for entry in entries:
        first = len(table)
        for value in (
            entry.start // 2,
            (entry.end - entry.start) // 2,
            entry.target // 2,
            entry.depth << 1 | entry.push_offset,
        ):
            shift = 24
            while shift and not value >> shift:
                shift -= 6
            while shift:
                table.append(64 | value >> shift & 63)
                shift -= 6
            table.append(value & 63)
        table[first] |= 128
    return bytes(table)


def encode_positions(first_line: int, runs: Sequence[tuple[int, Position]]) -> bytes:
    """A ``co_linetable``.

    Parameters:
        first_line: ``co_firstlineno``.
        runs: lengths in code units, each with the source position of that stretch.
    """
    table = bytearray()
    last_line = first_line
    for units, (line, end_line, column, end_column) in runs:
        while units:
            length = min(units, 8)
            units -= length
            if line is None:
                table.append(0x80 | 15 << 3 | length - 1)
                continue
            delta = line - last_line
            last_line = line
            if column is None or end_column is None or end_line is None:
                table.append(0x80 | 13 << 3 | length - 1)
                _append_signed(table, delta)
            elif end_line == line and 0 <= delta < 3 and column < 128 and end_column < 128:
                table.append(0x80 | 10 + delta << 3 | length - 1)
                table.append(column)
                table.append(end_column)
            else:
                table.append(0x80 | 14 << 3 | length - 1)
                _append_signed(table, delta)
                _append_varint(table, end_line - line)
                _append_varint(table, column + 1)
                _append_varint(table, end_column + 1)
    return bytes(table)


def _append_varint(table: bytearray, value: int) -> None:
    while value > 63:
        table.append(64 | value & 63)
        value >>= 6
    table.append(value)


def _append_signed(table: bytearray, value: int) -> None:
    _append_varint(table, -value << 1 | 1 if value < 0 else value << 1)


def splice(
    code: CodeType,
    instructions: Sequence[Instruction],
    splices: dict[int, Splice],
    constants: tuple[object, ...],
    extra_stack: int,
) -> CodeType:
    """A copy of a code object with code spliced in.

    Parameters:
        code: the original.
        instructions: its instructions, from :func:`decode`.
        splices: by index into ``instructions``; jumps can't be replaced.
        constants: the new ``co_consts``; it must begin with the original ones.
        extra_stack: how much deeper than the original the spliced-in code makes the stack.
    """
    count = len(instructions)
    index_at = {instruction.start: index for index, instruction in enumerate(instructions)}
    index_at[len(code.co_code)] = count
    before = [b""] * count
    own: list[bytes] = []
    after = [b""] * count
    jumps: list[tuple[int, int]] = []
    raw = code.co_code
    for index, (start, offset, opcode, _, end) in enumerate(instructions):
        change = splices.get(index)
        body = raw[start:end]
        if change is not None:
            before[index] = change.before
            after[index] = change.after
            if change.instead is not None:
                body = change.instead
        if opcode in JUMPS:
            jumps.append((index, index_at[instructions[index].jump_target]))
            # An EXTENDED_ARG that is no longer needed is harmless and kept.
            body = raw[start:offset] + raw[offset:end]
        own.append(body)
    places = _relax(instructions, before, own, after, jumps)
    output = bytearray()
    for index in range(count):
        output += before[index]
        output += own[index]
        output += after[index]
    entries = [
        ExceptionEntry(
            places[index_at[entry.start]],
            places[index_at[entry.end]],
            places[index_at[entry.target]],
            entry.depth,
            entry.push_offset,
        )
        for entry in decode_exception_table(code.co_exceptiontable)
    ]
    runs = _runs_of_positions(code, instructions, places)
    return code.replace(
        co_code=bytes(output),
        co_consts=constants,
        co_stacksize=code.co_stacksize + extra_stack,
        co_linetable=encode_positions(code.co_firstlineno, runs),
        co_exceptiontable=encode_exception_table(entries),
    )


def _runs_of_positions(
    code: CodeType, instructions: Sequence[Instruction], places: Sequence[int]
) -> list[tuple[int, Position]]:
    """What :func:`encode_positions` takes: what is spliced in has the position of its instruction.

    Parameters:
        code: the original.
        instructions: of it.
        places: where each begins in the copy, and where the last one ends.
    """
    positions = list(code.co_positions())
    runs: list[tuple[int, Position]] = []
    for index, instruction in enumerate(instructions):
        position = positions[instruction.offset // 2]
        units = (places[index + 1] - places[index]) // 2
        if runs and runs[-1][1] == position:
            units += runs.pop()[0]
        runs.append((units, position))
    return runs


def _relax(
    instructions: Sequence[Instruction],
    before: Sequence[bytes],
    own: list[bytes],
    after: Sequence[bytes],
    jumps: Sequence[tuple[int, int]],
) -> list[int]:
    """Give every jump its new argument; where each instruction then begins, in bytes.

    A jump whose argument no longer fits grows, which moves what follows it; jumps never shrink, so
    this ends.
    """
    while True:
        places = []
        place = 0
        for index in range(len(instructions)):
            places.append(place)
            place += len(before[index]) + len(own[index]) + len(after[index])
        places.append(place)
        grown = False
        for index, target in jumps:
            opcode = instructions[index].opcode
            end = places[index] + len(before[index]) + len(own[index])
            distance = (places[target] - end) // 2
            if opcode in BACKWARD_JUMPS:
                distance = -distance
            body = encode_instruction(opcode, distance)
            missing = len(own[index]) - len(body)
            if missing > 0:
                body = bytes((EXTENDED_ARG, 0)) * (missing // 2) + body
            elif missing < 0:
                grown = True
            own[index] = body
        if not grown:
            return places
