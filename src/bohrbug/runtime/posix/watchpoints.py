"""Memory of a native program that the processor watches, as the user names it."""

from __future__ import annotations

import errno
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from bohrbug.runtime.posix.accesses_layout import MOST_WATCHPOINTS, AccessesRecord
from bohrbug.runtime.posix.build import UnsupportedError, hooks
from bohrbug.runtime.posix.elf import ElfFile, Symbol, interpreter_of
from bohrbug.runtime.posix.tools import said_by

SIZES = (1, 2, 4, 8)
"""Bytes that a watchpoint can have."""

PROGRAM_BASE = 0x555555554000
"""Where the kernel loads a position-independent program without randomisation (x86-64)."""

_SPECIFICATION = re.compile(
    r"(?:(?P<address>0[xX][0-9a-fA-F]+)|(?P<symbol>[^:+]+)(?:\+(?P<offset>0[xX][0-9a-fA-F]+|\d+))?)"
    r"(?::(?P<size>\d+))?"
)
_LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Watchpoint:
    """Memory to be watched.

    Parameters:
        path: of the program or library that it lies in; "" for an address in memory.
        address: as that file has it, or in memory.
        size: in bytes, one of :data:`SIZES`.
    """

    path: str
    address: int
    size: int


def hooks_to_preload(level: str) -> Path:
    """The library of hooks, for a program that need not be compiled for it.

    Parameters:
        level: which accesses are scheduling points, see
            :class:`~bohrbug.runtime.posix.settings.NativeSettings`.

    Raises:
        UnsupportedError: there is none, or no use for it.
    """
    if level == "sync":
        raise UnsupportedError(
            "--watch and --sample-accesses are of no use with --level sync, which sees no accesses"
        )
    found = hooks()
    if found is None:
        raise UnsupportedError(
            "--watch and --sample-accesses need the library of hooks, which could not be compiled"
        )
    return found


def watchpoint(text: str, program: str) -> Watchpoint:
    """The memory that ``--watch`` names.

    Parameters:
        text: ``SYMBOL``, ``SYMBOL:SIZE``, ``SYMBOL+OFFSET:SIZE`` or ``0xADDRESS:SIZE``.
        program: path of the program.

    Raises:
        UnsupportedError: there is no such variable, or it can't be watched as a whole.
    """
    match = _SPECIFICATION.fullmatch(text)
    if match is None:
        raise UnsupportedError(
            f"--watch {text}: say SYMBOL, SYMBOL:SIZE, SYMBOL+OFFSET:SIZE or 0xADDRESS:SIZE"
        )
    size = int(match["size"]) if match["size"] else None
    if match["address"]:
        found = Watchpoint("", int(match["address"], 16), size or 8)
    else:
        path, symbol = _variable(text, match["symbol"], program)
        offset = int(match["offset"] or "0", 0)
        found = Watchpoint(path, symbol.address + offset, size or symbol.size - offset)
        if offset + found.size > symbol.size and symbol.size:
            raise UnsupportedError(f"--watch {text}: {symbol.name} has only {symbol.size} bytes")
    if found.size not in SIZES:
        raise UnsupportedError(
            f"--watch {text}: it has {found.size} bytes, and the processor watches 1, 2, 4 or 8; "
            "say which of them, such as SYMBOL+8:4"
        )
    if found.address % found.size:
        raise UnsupportedError(
            f"--watch {text}: {found.size} bytes can be watched only at a multiple of {found.size}"
        )
    return found


def watchpoints(texts: Sequence[str], program: str) -> tuple[Watchpoint, ...]:
    """All that ``--watch`` names; parameters and errors as for :func:`watchpoint`."""
    if not texts:
        return ()
    if platform.machine() != "x86_64":
        raise UnsupportedError(
            f"--watch is there for x86-64 only, and this is {platform.machine()}"
        )
    if len(texts) > MOST_WATCHPOINTS:
        raise UnsupportedError(
            f"--watch was given {len(texts)} times, and the processor has {MOST_WATCHPOINTS} "
            "registers for it"
        )
    return tuple(watchpoint(text, program) for text in texts)


def check_registers(watched: int, sampled: int) -> None:
    """See that there are registers for watchpoints and for sampled instructions.

    Parameters:
        watched: how many watchpoints.
        sampled: how many instructions at a time; one more register guards what they access.

    Raises:
        UnsupportedError: there are not.
    """
    if platform.machine() != "x86_64":
        raise UnsupportedError(
            f"--sample-accesses is there for x86-64 only, and this is {platform.machine()}"
        )
    if watched + sampled + 1 > MOST_WATCHPOINTS:
        raise UnsupportedError(
            f"--sample-accesses {sampled} takes {sampled + 1} of the {MOST_WATCHPOINTS} debug "
            f"registers of the processor, and --watch takes {watched}: ask for less"
        )


def prepare(record: AccessesRecord, wanted: Sequence[Watchpoint], sampled: int = 0) -> None:
    """Tell the shim what to watch.

    Parameters:
        record: in the segment of the next execution.
        wanted: what to watch.
        sampled: how many instructions have a register, beside the one that guards.
    """
    # A second register for the same memory tells writes from reads, while there is one.
    spare = MOST_WATCHPOINTS - len(wanted) - (sampled + 1 if sampled else 0)
    for number, each in enumerate(wanted):
        raw = record.watchpoint[number]
        raw.path = each.path.encode("utf-8", "surrogateescape")[:239]
        raw.address, raw.size = each.address, each.size
        raw.tells_writes = number < spare
    record.watchpoints = len(wanted)


def refused(number: int) -> UnsupportedError:
    """Why the kernel did not let a program watch its memory.

    Parameters:
        number: what went wrong, as ``errno`` says it.
    """
    begin = "the kernel does not let programs watch their memory here: "
    if number in (errno.EACCES, errno.EPERM):
        paranoid = _paranoid()
        return UnsupportedError(
            f"{begin}perf_event_open is not permitted. kernel.perf_event_paranoid is {paranoid}, "
            "and 2 or less is needed (sysctl kernel.perf_event_paranoid=2); a container has to "
            "permit the system call, too (docker run --cap-add PERFMON, or a seccomp profile "
            "with perf_event_open)"
        )
    if number == errno.ENOSPC:
        return UnsupportedError(
            f"{begin}the debug registers of the processor are taken, by a debugger or by perf"
        )
    if number in (errno.EINVAL, errno.E2BIG):
        return UnsupportedError(f"{begin}that takes Linux 5.13 or newer")
    if number == errno.ENOSYS:
        return UnsupportedError(f"{begin}there is no perf_event_open, or this is not x86-64")
    return UnsupportedError(f"{begin}perf_event_open failed with {os.strerror(number)}")


def _paranoid() -> str:
    try:
        return Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip()
    except OSError:
        return "not known"


# -- symbols -----------------------------------------------------------------------------


def _variable(text: str, name: str, program: str) -> tuple[str, Symbol]:
    """The variable of a name, in the program or else in the first of its libraries that has it."""
    known: set[str] = set()
    for path in (program, *_libraries(program)):
        variables = _elf(path).variables
        found = variables.named(name)
        if len(found) > 1:
            raise UnsupportedError(_ambiguous(text, name, path, found))
        if found:
            return path, found[0]
        known.update(variables.names())
    near = get_close_matches(name, known, 3)
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    stripped = "" if known else " (the program has no symbol table: do not strip it)"
    raise UnsupportedError(
        f"--watch {text}: neither {Path(program).name} nor its libraries have a static variable "
        f"{name}{hint}{stripped}. Memory that is allocated, on a stack or of one thread only is "
        "named by its address"
    )


def _ambiguous(text: str, name: str, path: str, found: Sequence[Symbol]) -> str:
    places = ", ".join(f"{PROGRAM_BASE + symbol.address:#x}:{symbol.size}" for symbol in found)
    return (
        f"--watch {text}: {Path(path).name} has {len(found)} variables {name}; say which by its "
        f"address (of a position-independent program: {places})"
    )


@cache
def _elf(path: str) -> ElfFile:
    return ElfFile(path)


@cache
def _libraries(program: str) -> tuple[str, ...]:
    """What the loader would load with a program; nothing for what is no ELF file."""
    loader = interpreter_of(Path(program))
    if loader is None:
        return ()
    return tuple(_LIBRARY.findall(said_by([loader, "--list", program]) or ""))
