"""What a fragment may ask of the system: only what changes nothing outside its own memory.

The rule is a whitelist, as a program for the kernel's filter of system calls (seccomp).  All other
calls are not carried out; the fragment ends there.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

Instruction = tuple[int, int, int, int]
"""One of the filter: code, offset if true, offset if false, operand."""


@dataclass(frozen=True, slots=True)
class Machine:
    """How system calls are numbered.

    Parameters:
        audit: what the kernel calls the machine.
        column: of :data:`_NUMBERS`.
        clone: the number of ``clone``.
    """

    audit: int
    column: int
    clone: int


MACHINES = {
    "x86_64": Machine(0xC000003E, 0, 56),
    "aarch64": Machine(0xC00000B7, 1, 220),
}
"""Those that fragments can be held back on, by their names."""

_ANY = """
    munmap 11 215, mprotect 10 226, mremap 25 216, brk 12 214, madvise 28 233,
    clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, time 201 -1, times 100 153,
    getrusage 98 165, sysinfo 99 179, getpid 39 172, gettid 186 178, getppid 110 173, uname 63 160,
    getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177,
    getrandom 318 278, sched_yield 24 124, sched_getaffinity 204 123, getcpu 309 168,
    membarrier 324 283, restart_syscall 219 128, arch_prctl 158 -1,
    rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132,
    exit 60 93, exit_group 231 94,
    fstat 5 80, newfstatat 262 79, stat 4 -1, lstat 6 -1, statx 332 291, access 21 -1,
    faccessat 269 48, faccessat2 439 439, readlink 89 -1, readlinkat 267 78, getcwd 79 17,
    close 3 57, poll 7 -1, ppoll 271 73, select 23 -1, pselect6 270 72,
    getsockname 51 204, getpeername 52 205
"""
"""Calls that are let pass: memory of its own, the time, who it is, its signals and its end, and
looking at files and descriptors, which moves nothing. Each with its numbers on the machines; -1: it
is not there."""

_WAITING_FOR_EVENTS = {
    "epoll_wait": (232, -1),
    "epoll_pwait": (281, 22),
    "epoll_pwait2": (441,) * 2,
}
_OF_WRITTEN = {"write": (1, 64), "writev": (20, 66), "lseek": (8, 62)}
_IOCTL = (16, 29)
_OF_ITSELF = {"kill": (62, 129), "tgkill": (234, 131)}
_MMAP, _FUTEX, _FCNTL = (9, 222), (202, 98), (72, 25)

_MAP_TYPE, _MAP_PRIVATE = 0x0F, 0x02
_FUTEX_PRIVATE = 128
_F_GETFD, _F_GETFL = 1, 3
_GETSOCKOPT = (55, 209)
_WHAT_IT_IS = (3, 38, 39)
"""``SO_TYPE``, ``SO_PROTOCOL`` and ``SO_DOMAIN``; others, such as ``SO_ERROR``, take away."""
_LOOKING = (0x5401, 0x5413)
"""``TCGETS`` and ``TIOCGWINSZ``: whether it is a terminal, and how large."""

_LOAD, _JUMP_EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOW: Instruction = (_RETURN, 0, 0, 0x7FFF0000)
_TRAP: Instruction = (_RETURN, 0, 0, 0x00030000)
_NUMBER, _ARCHITECTURE = 0, 4


def _numbers(text: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, each.split()[1:])) for each in text.split(",")]


def _argument(index: int) -> Instruction:
    """Load the lower half of an argument."""
    return (_LOAD, 0, 0, 16 + 8 * index)


def _one_of(index: int, values: Iterable[int]) -> list[Instruction]:
    """Allow what has one of these values as an argument, and end the fragment otherwise."""
    block = [_argument(index)]
    for value in values:
        block += [(_JUMP_EQUAL, 0, 1, value & 0xFFFFFFFF), _ALLOW]
    return [*block, _TRAP]


def _either(one: list[Instruction], other: list[Instruction]) -> list[Instruction]:
    """Allow what one of two blocks allows."""
    return [*one[:-1], *other]


def _masked(index: int, mask: int, value: int) -> list[Instruction]:
    return [_argument(index), (_AND, 0, 0, mask), (_JUMP_EQUAL, 0, 1, value), _ALLOW, _TRAP]


def filter_of(
    machine: Machine, process: int, descriptors: Collection[int], waits_for_events: bool
) -> list[Instruction]:
    """The filter for one fragment.

    Parameters:
        machine: on which it runs.
        process: its id: it may send signals to itself, as ``abort`` does.
        descriptors: that it may write to, as nothing comes of it.
        waits_for_events: it may ask what epoll has to tell, as that takes nothing away.
    """
    column = machine.column
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, machine.audit),
        _TRAP,
        (_LOAD, 0, 0, _NUMBER),
    ]
    free = _numbers(_ANY)
    if waits_for_events:
        free += _WAITING_FOR_EVENTS.values()
    for numbers in free:
        if numbers[column] >= 0:
            program += [(_JUMP_EQUAL, 0, 1, numbers[column]), _ALLOW]
    blocks: list[tuple[tuple[int, ...], Sequence[Instruction]]] = [
        (_MMAP, _masked(3, _MAP_TYPE, _MAP_PRIVATE)),
        (_FUTEX, _masked(1, _FUTEX_PRIVATE, _FUTEX_PRIVATE)),
        (_FCNTL, _one_of(1, (_F_GETFD, _F_GETFL))),
        (_GETSOCKOPT, _one_of(2, _WHAT_IT_IS)),
        *((numbers, _one_of(0, sorted(descriptors))) for numbers in _OF_WRITTEN.values()),
        (_IOCTL, _either(_one_of(0, sorted(descriptors)), _one_of(1, _LOOKING))),
        *((numbers, _one_of(0, (process,))) for numbers in _OF_ITSELF.values()),
    ]
    for numbers, block in blocks:
        program += [(_JUMP_EQUAL, 0, len(block), numbers[column]), *block]
    return [*program, _TRAP]


def packed(program: Iterable[Instruction]) -> bytes:
    """A filter as the kernel reads it: an array of ``struct sock_filter``."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def outcome_of(
    program: Sequence[Instruction], machine: Machine, number: int, arguments: Sequence[int]
) -> bool:
    """Whether a filter lets a system call pass: what the kernel would compute.

    Parameters:
        program: the filter.
        machine: on which the call is made.
        number: of the call.
        arguments: of the call; those that are missing are 0.
    """
    words = {_NUMBER: number, _ARCHITECTURE: machine.audit}
    words |= {16 + 8 * index: value & 0xFFFFFFFF for index, value in enumerate(arguments)}
    value = at = 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        if code == _LOAD:
            value = words.get(operand, 0)
        elif code == _AND:
            value &= operand
        elif code == _JUMP_EQUAL:
            at += if_true if value == operand else if_false
        else:
            return operand == _ALLOW[3]
