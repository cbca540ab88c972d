"""The layout of what a program with real threads shares with us; see ``delays/record.h``.

A test compares every offset.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_int64, c_uint32, c_uint64

MOST_THREADS = 256
MOST_DELAYS = 64
MOST_PLACES = 4096
MOST_CHANGES = 3
MOST_TARGETS = 3
MOST_FRAMES = 16
MOST_NAMES = 64
MAPS_SIZE = 65536
_LINE = 128

READS, WRITES, IS_ATOMIC, FIRST_CALL = 1, 2, 4, 8
"""What a thread is about to do: an access, or, from the last on, the call of a function."""

BY_PRIORITIES, WITH_TRAP, AMBUSH = 1, 2, 3
"""Kinds of windows."""

(
    NO_WAIT,
    MUTEX,
    READ_LOCK,
    WRITE_LOCK,
    CONDITION,
    SEMAPHORE,
    BARRIER,
    JOIN,
    SPIN_LOCK,
    TIMED,
) = range(10)
"""What a thread waits for."""

FREE_SLOT, STARTING, IN_USE = 0, 1, 2

UNSET, SETTING, SET, CATCHING, CAUGHT, IN_VAIN, SPRUNG, SETTLED, PHASES = range(9)
"""What has become of a trap; its state has the number of the window above these."""


class SlotRecord(ctypes.Structure):
    """``struct slot``."""

    _fields_ = (
        ("state", c_uint32),
        ("number", c_uint32),
        ("tid", c_uint32),
        ("is_delayed", c_uint32),
        ("is_blocked", c_uint32),
        ("drawn_in", c_uint32),
        ("wait", c_uint32),
        ("waits", c_uint32),
        ("priority", c_int64),
        ("seen", c_uint64),
        ("self", c_uint64),
        ("routine", c_uint64),
        ("argument", c_uint64),
        ("wait_object", c_uint64),
        ("wait_place", c_uint64),
        ("wait_function", c_uint64),
        ("passed", c_uint64),
        ("spare", c_uint64 * 3),
    )


class DelayRecord(ctypes.Structure):
    """``struct delay``."""

    _fields_ = (
        ("ticket", c_uint64),
        ("number", c_uint32),
        ("act", c_uint32),
        ("gives_way", c_uint32),
        ("size", c_uint32),
        ("routine", c_uint64),
        ("address", c_uint64),
        ("began", c_uint64),
        ("ended", c_uint64),
        ("depth", c_uint32),
        ("spare", c_uint32),
        ("stack", c_uint64 * MOST_FRAMES),
    )


class SideRecord(ctypes.Structure):
    """``struct side``."""

    _fields_ = (
        ("number", c_uint32),
        ("act", c_uint32),
        ("size", c_uint32),
        ("depth", c_uint32),
        ("routine", c_uint64),
        ("address", c_uint64),
        ("stack", c_uint64 * MOST_FRAMES),
    )


class TrapRecord(ctypes.Structure):
    """``struct trap``."""

    _fields_ = (
        ("state", c_uint64),
        ("sprung_at", c_uint64),
        ("paused", SideRecord),
        ("other", SideRecord),
        ("values", c_uint64 * 3),
        ("known", c_uint32 * 3),
        ("slot", c_uint32),
    )


def _up_to_line(size: int) -> type[ctypes.Array[c_char]]:
    """What fills the last line of the processor's cache."""
    return c_char * (-size % _LINE)


class DelaysRecord(ctypes.Structure):
    """``struct record``."""

    _fields_ = (
        ("pid", c_uint32),
        ("has_asserted", c_uint32),
        ("assertion", c_char * 512),
        ("asserted_by", c_uint32),
        ("spare", c_uint32),
        ("asserting_routine", c_uint64),
        ("assertion_stack", c_uint64 * MOST_FRAMES),
        ("owner_at", c_uint32),
        ("mutex_kind_at", c_uint32),
        ("writer_at", c_uint32),
        ("rwlock_shared_at", c_uint32),
        ("condition_shared_at", c_uint32),
        ("spare_too", c_uint32),
        ("_fill_0", _up_to_line(560 + 8 * MOST_FRAMES)),
        ("open", c_uint32),
        ("_fill_1", _up_to_line(4)),
        ("kind", c_uint32),
        ("changes_count", c_uint32),
        ("targets_count", c_uint32),
        ("spare_again", c_uint32),
        ("ends", c_uint64),
        ("seed", c_uint64),
        ("pause", c_uint64),
        ("changes", c_uint64 * MOST_CHANGES),
        ("targets", c_uint64 * MOST_TARGETS),
        ("longest", c_uint64),
        ("slice", c_uint64),
        ("grace", c_uint64),
        ("gone", c_uint64),
        ("_fill_2", _up_to_line(72 + 8 * (MOST_CHANGES + MOST_TARGETS))),
        ("cues", c_uint64),
        ("skipped", c_int64),
        ("ended", c_uint64),
        ("gave_way", c_uint64),
        ("traps", c_uint64),
        ("delayed", c_uint64),
        ("delays_begun", c_uint64),
        ("numbers", c_uint32),
        ("alive", c_uint32),
        ("slots_used", c_uint32),
        ("places_count", c_uint32),
        ("_fill_3", _up_to_line(72)),
        ("trap", TrapRecord),
        ("_fill_4", _up_to_line(ctypes.sizeof(TrapRecord))),
        ("slots", SlotRecord * MOST_THREADS),
        ("delays", DelayRecord * MOST_DELAYS),
        ("places", c_uint64 * MOST_PLACES),
        ("names", (c_char * 32) * MOST_NAMES),
        ("maps_length", c_uint32),
        ("maps", c_char * MAPS_SIZE),
        ("_fill_5", _up_to_line(4 + MAPS_SIZE)),
    )
