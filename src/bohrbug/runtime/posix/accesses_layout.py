"""The layout of what the shared segment holds of accesses; ``shim/accesses.h`` is the other side.

A test compares every offset.
"""

from __future__ import annotations

import ctypes
import struct
from ctypes import c_char, c_int64, c_uint8, c_uint32, c_uint64

from bohrbug.runtime.posix.layout import MOST_TASKS, HolderRecord

COUNT_BITS = 22
"""Of an epoch; the bits above are the index of the task."""

MOST_RESOURCE_CLOCKS = 1 << 16
MOST_POINTS = 8192
MOST_POINT_MODULES = 64
MOST_RACES = 512
MOST_SHARED_PLACES = 8192
MOST_WITNESSES = 64
MOST_LOCKS = 8
CLOCK_WORDS = 1 << 25
STACK_IN_ORDER = 4
"""Of ``enum weak``: a task stored to its own stack, and memory showed that at once."""
MOST_WEAK_PLACES = 64
MOST_ENTRIES = 24
"""Of a store buffer, as resources."""
MOST_HISTORIES = 1024
MOST_PAST_STORES = 8
STORE_BUFFER_WORDS = 965
"""The size of ``struct store_buffer``, in words of eight bytes."""
MOST_WATCHPOINTS = 4
MOST_SAMPLED = 3

NOBODY_KNOWS = 2
"""Of ``may_be_buffered``: nobody has seen the stores before."""

WATCH_NOTHING, WATCH_RACES, WATCH_SHARED = range(3)
"""``enum watch``."""


class PointRecord(ctypes.Structure):
    """``struct access_point``."""

    _fields_ = (("offset", c_uint64), ("module", c_uint32), ("spare", c_uint32))


class PointModuleRecord(ctypes.Structure):
    """``struct point_module``."""

    _fields_ = (("path", c_char * 240),)


class RaceRecord(ctypes.Structure):
    """``struct seen_race``."""

    _fields_ = (
        ("address", c_uint64),
        ("first_place", c_uint64),
        ("second_place", c_uint64),
        ("first_epoch", c_uint32),
        ("second_epoch", c_uint32),
        ("first_kind", c_uint32),
        ("second_kind", c_uint32),
        ("size", c_uint32),
        ("count", c_uint32),
        ("process", c_uint32),
        ("step", c_uint32),
    )


RACE = struct.Struct("=QQQIIIIIIII")
"""The same, for reading many of them."""


class PlaceRecord(ctypes.Structure):
    """``struct place_in_process``."""

    _fields_ = (("place", c_uint64), ("process", c_uint32), ("spare", c_uint32))


class WitnessRecord(ctypes.Structure):
    """``struct witness``."""

    _fields_ = (
        ("place", c_uint64),
        ("address", c_uint64),
        ("epoch", c_uint32),
        ("kind", c_uint32),
        ("seen", c_uint32),
        ("stack", c_uint32),
        ("found", c_uint64),
        ("before", c_uint64),
        ("after", c_uint64),
        ("has_after", c_uint32),
        ("size", c_uint32),
        ("may_be_buffered", c_uint32),
        ("locks", c_uint32),
        ("lock", HolderRecord * MOST_LOCKS),
        ("block", c_uint64),
        ("block_size", c_uint64),
        ("allocated_at", c_uint64),
    )


class WatchpointRecord(ctypes.Structure):
    """``struct watchpoint``."""

    _fields_ = (
        ("path", c_char * 240),
        ("address", c_uint64),
        ("size", c_uint32),
        ("tells_writes", c_uint32),
    )


class SampledRecord(ctypes.Structure):
    """``struct sampled_place``."""

    _fields_ = (
        ("path", c_char * 240),
        ("offset", c_uint64),
        ("displacement", c_int64),
        ("base", c_uint32),
        ("index", c_uint32),
        ("scale", c_uint32),
        ("size", c_uint32),
        ("length", c_uint32),
        ("kind", c_uint32),
    )


class TaskOrderRecord(ctypes.Structure):
    """``struct task_order``."""

    _fields_ = (
        ("count", c_uint32),
        ("clock", c_uint32),
        ("released", c_uint32),
        ("unlearnt", c_uint32),
        ("stored", c_uint32),
        ("older", c_uint32),
        ("older_in_a_row", c_uint32),
        ("spare", c_uint32),
        ("older_at", c_uint64),
    )


class StoreBufferRecord(ctypes.Structure):
    """``struct store_buffer``, in which only the shim looks."""

    _fields_ = (("content", c_uint64 * STORE_BUFFER_WORDS),)


class PastStoreRecord(ctypes.Structure):
    """``struct past_store``."""

    _fields_ = (
        ("value", c_uint8 * 16),
        ("task", c_uint32),
        ("moment", c_uint32),
        ("strength", c_uint32),
        ("released", c_uint32),
        ("seen", c_uint32),
        ("spare", c_uint32),
    )


class StoreHistoryRecord(ctypes.Structure):
    """``struct store_history``."""

    _fields_ = (
        ("size", c_uint32),
        ("count", c_uint32),
        ("store", PastStoreRecord * MOST_PAST_STORES),
    )


class AccessesRecord(ctypes.Structure):
    """``struct accesses``."""

    _fields_ = (
        ("watch", c_uint32),
        ("points", c_uint32),
        ("point_modules", c_uint32),
        ("witnesses", c_uint32),
        ("most_of_a_place", c_uint32),
        ("watchpoints", c_uint32),
        ("sampled", c_uint32),
        ("takes_part", c_uint32),
        ("gave_up", c_uint32),
        ("tired_places", c_uint32),
        ("races", c_uint32),
        ("dropped_races", c_uint32),
        ("shared_places", c_uint32),
        ("clock_words", c_uint32),
        ("weak", c_uint32),
        ("weak_places", c_uint32),
        ("histories", c_uint32),
        ("histories_full", c_uint32),
        ("strongest_stores", c_uint32),
        ("fences", c_uint32),
        ("has_fences", c_uint32),
        ("watch_error", c_uint32),
        ("hits", c_uint32),
        ("tired_watchpoints", c_uint32),
        ("watchpoint", WatchpointRecord * MOST_WATCHPOINTS),
        ("sampled_place", SampledRecord * MOST_SAMPLED),
        ("order", TaskOrderRecord * MOST_TASKS),
        ("task_clock", c_uint32 * MOST_TASKS),
        ("resource_clock", c_uint32 * MOST_RESOURCE_CLOCKS),
        ("module", PointModuleRecord * MOST_POINT_MODULES),
        ("point", PointRecord * MOST_POINTS),
        ("witness", WitnessRecord * MOST_WITNESSES),
        ("race", RaceRecord * MOST_RACES),
        ("shared_place", PlaceRecord * MOST_SHARED_PLACES),
        ("weak_place", c_uint64 * MOST_WEAK_PLACES),
        ("words", c_uint32 * CLOCK_WORDS),
        ("buffer", StoreBufferRecord * MOST_TASKS),
        ("history", StoreHistoryRecord * MOST_HISTORIES),
    )
