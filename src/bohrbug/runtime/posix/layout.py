"""The layout of the shared segment; ``shim/segment.h`` is the other side of it.

The shim refuses a segment whose sizes are not its own, and a test compares every offset.
"""

from __future__ import annotations

import ctypes
import struct
from ctypes import c_char, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64

from bohrbug.runtime.posix.enumerations import MISUSES

MAGIC = 0x47554252484F42
VERSION = 1

NONE = 0xFFFFFFFF
"""Nobody, where a task is named; nothing, where an index is."""
UNKNOWN_ADDRESS = 0xFFFFFFFFFFFFFFFF
"""Of a fatal signal no address is known."""
OUTSIDE = 0xFFFFFFFE
"""Stands for whoever holds a mutex that was locked where nobody could see it."""
NO_DEADLINE = 0xFFFFFFFFFFFFFFFF
TASK_BIT = 0x80000000
"""Set in the number of a resource that stands for a task."""
VALUE_BIT = 0x40000000
"""Set in an element of a prefix that is the value of a data choice."""

MOST_TASKS = 1024
MOST_READERS = 8
CPU_WORDS = 16
PORT_WORDS = 1024
STACK_DEPTH = 32
MOST_PRINTED = 4096
"""Bytes of each output stream that are kept in the segment."""


class TaskRecord(ctypes.Structure):
    """``struct task``."""

    _fields_ = (
        ("turn", c_uint32),
        ("state", c_uint32),
        ("parent", c_uint32),
        ("number", c_uint32),
        ("name_in_plan", c_uint32),
        ("children", c_uint32),
        ("process", c_uint32),
        ("thread", c_int32),
        ("handle", c_uint64),
        ("routine", c_uint64),
        ("argument", c_uint64),
        ("spawned_at", c_uint64),
        ("stack_size", c_uint64),
        ("kind", c_uint32),
        ("resource", c_uint32),
        ("site", c_uint64),
        ("stack", c_uint32),
        ("condition", c_uint32),
        ("target", c_uint64),
        ("deadline", c_uint64),
        ("blocked_since", c_uint32),
        ("timed_out", c_uint32),
        ("woken", c_uint32),
        ("eligible", c_uint32),
        ("awaits", c_uint32),
        ("fd_ready", c_uint32),
        ("fd_outside", c_uint32),
        ("fd_checked", c_uint32),
        ("signals", c_uint64),
        ("mask", c_uint64),
        ("cancellable", c_uint8),
        ("cancelled", c_uint8),
        ("cancel_disabled", c_uint8),
        ("cancel_anywhere", c_uint8),
        ("unwinds", c_uint8),
        ("interruptible", c_uint8),
        ("detached", c_uint8),
        ("joined", c_uint8),
        ("main", c_uint8),
        ("restarts", c_uint8),
        ("held", c_uint8),
        ("handling", c_uint8),
        ("looks", c_uint32),
        ("fires", c_uint32),
        ("seen_changes", c_uint64),
        ("last_yield", c_uint32),
        ("last_run", c_uint32),
        ("begun", c_uint32),
        ("also", c_uint32),
        ("asleep", c_uint32),
        ("marks", c_uint32),
        ("point", c_uint32),
        ("choices", c_uint32),
        ("stands", c_uint64),
        ("stood", c_uint64),
        ("unheeded", c_uint32),
        ("has_looked", c_uint16),
        ("doubted", c_uint16),
        ("computes", c_uint32),
        ("name", c_char * 16),
    )


class HolderRecord(ctypes.Structure):
    """``struct holder``."""

    _fields_ = (("task", c_uint32), ("stack", c_uint32), ("site", c_uint64))


class ResourceRecord(ctypes.Structure):
    """``struct resource``."""

    _fields_ = (
        ("address", c_uint64),
        ("space", c_uint64),
        ("type", c_uint32),
        ("creator", c_uint32),
        ("number", c_uint32),
        ("process", c_uint32),
        ("created_at", c_uint64),
        ("owner", HolderRecord),
        ("count", c_uint32),
        ("readers", c_uint32),
        ("flags", c_uint32),
        ("clock", c_uint32),
        ("value", c_int32),
        ("tokens", c_uint32),
        ("generation", c_uint32),
        ("destroyed", c_uint32),
        ("marks", c_uint32),
        ("point", c_uint32),
        ("bytes", c_uint32),
        ("history", c_uint32),
        ("reader", HolderRecord * MOST_READERS),
    )


class ProcessRecord(ctypes.Structure):
    """``struct process``."""

    _fields_ = (
        ("pid", c_int32),
        ("parent", c_uint32),
        ("state", c_uint32),
        ("collected", c_uint32),
        ("joined", c_uint32),
        ("main_task", c_uint32),
        ("signals", c_uint64),
        ("handled", c_uint64),
        ("restarting", c_uint64),
        ("locked_out_by", c_int32),
        ("locked_out_since", c_uint32),
    )


class ModuleRecord(ctypes.Structure):
    """``struct module``."""

    _fields_ = (
        ("base", c_uint64),
        ("start", c_uint64),
        ("end", c_uint64),
        ("process", c_uint32),
        ("is_shim", c_uint32),
        ("path", c_char * 240),
    )


TABLES = (
    "tasks",
    "resources",
    "processes",
    "modules",
    "names",
    "prefix",
    "segments",
    "values",
    "points",
    "events",
    "pairs",
    "below",
    "policy_tasks",
    "steps",
    "pool",
    "stacks",
    "printed",
    "accesses",
    "live",
)
"""``struct tables``."""


class Tables(ctypes.Structure):
    """``struct tables``: offsets from the start of the segment, in bytes."""

    _fields_ = tuple((name, c_uint64) for name in TABLES)


class LetPassRecord(ctypes.Structure):
    """``struct let_pass``."""

    _fields_ = (("site", c_uint64), ("task", c_uint32), ("count", c_uint32))


MOST_CHANGES = 64


class PolicyState(ctypes.Structure):
    """``struct policy_state`` of ``core/policy.h``."""

    _fields_ = (
        ("random", c_uint64),
        ("lowest_priority", c_int64),
        ("changes", c_uint32 * MOST_CHANGES),
        ("changes_count", c_uint32),
        ("decided_until", c_uint32),
        ("with_priority", c_uint32),
        ("intended", c_uint32),
    )


class PolicyTask(ctypes.Structure):
    """``struct policy_task`` of ``core/policy.h``."""

    _fields_ = (
        ("parent", c_uint32),
        ("name", c_uint32),
        ("is_quiet", c_uint8),
        ("is_selected", c_uint8),
        ("has_priority", c_uint8),
        ("is_counted", c_uint8),
        ("nth_to_draw", c_uint32),
        ("priority", c_int64),
        ("events", c_int64),
        ("promised", c_int64),
    )


class NameRecord(ctypes.Structure):
    """``struct name_in_plan`` of ``core/policy.h``."""

    _fields_ = (
        ("parent", c_uint32),
        ("number", c_uint32),
        ("asleep", c_uint32),
        ("task", c_uint32),
        ("events", c_int64),
    )


class PointRecord(ctypes.Structure):
    """``struct point``."""

    _fields_ = (
        ("key", c_uint64),
        ("decides", c_uint32),
        ("selected", c_uint32),
        ("events", c_uint32),
        ("events_end", c_uint32),
        ("pairs", c_uint32),
        ("pairs_end", c_uint32),
        ("last", c_uint32),
        ("last_occurrence", c_uint32),
    )


class EventRecord(ctypes.Structure):
    """``struct event_of_plan``."""

    _fields_ = (
        ("what", c_uint32),
        ("count", c_uint32),
        ("pairs", c_uint32),
        ("pairs_end", c_uint32),
    )


class PairRecord(ctypes.Structure):
    """``struct pair_of_plan``."""

    _fields_ = (
        ("first", c_uint32),
        ("second", c_uint32),
        ("first_occurrence", c_uint32),
        ("second_occurrence", c_uint32),
        ("holds", c_uint32),
    )


class StepRecord(ctypes.Structure):
    """``struct step``."""

    _fields_ = (
        ("site", c_uint64),
        ("resource", c_uint32),
        ("stack", c_uint32),
        ("effect", c_uint32),
        ("options", c_uint32),
        ("enabled", c_uint16),
        ("timed", c_uint16),
        ("task", c_uint16),
        ("process", c_uint16),
        ("kind", c_uint8),
        ("flags", c_uint8),
    )


STEP = struct.Struct("=QIIIIHHHHBB6x")
"""The same, for reading many of them."""
FLAGS_AT = StepRecord.flags.offset


class SegmentRecord(ctypes.Structure):
    """``struct segment_of_plan``."""

    _fields_ = (("name", c_uint32), ("steps", c_uint32))


class ValueRecord(ctypes.Structure):
    """``struct value_of_plan``."""

    _fields_ = (("name", c_uint32), ("number", c_uint32), ("value", c_uint32))


class Header(ctypes.Structure):
    """``struct header``."""

    _fields_ = (
        ("magic", c_uint64),
        ("version", c_uint32),
        ("task_size", c_uint32),
        ("resource_size", c_uint32),
        ("process_size", c_uint32),
        ("module_size", c_uint32),
        ("step_size", c_uint32),
        ("header_size", c_uint32),
        ("at", Tables),
        ("total", c_uint64),
        ("most_resources", c_uint32),
        ("most_processes", c_uint32),
        ("most_modules", c_uint32),
        ("most_steps", c_uint32),
        ("most_pool", c_uint32),
        ("most_stacks", c_uint32),
        ("policy", c_uint32),
        ("depth", c_uint32),
        ("seed", c_uint64),
        ("length", c_uint64),
        ("names", c_uint32),
        ("prefix_length", c_uint32),
        ("segments_length", c_uint32),
        ("values_length", c_uint32),
        ("points_length", c_uint32),
        ("decides_everywhere", c_uint32),
        ("selects_everywhere", c_uint32),
        ("first", c_uint32),
        ("events_length", c_uint32),
        ("pairs_length", c_uint32),
        ("max_steps", c_uint32),
        ("late_timeouts", c_uint32),
        ("after_release", c_uint32),
        ("with_stacks", c_uint32),
        ("one_cpu", c_uint32),
        ("faults", c_uint32),
        ("expected_choices", c_uint32),
        ("faults_left", c_uint32),
        ("allowed_misuses", c_uint32),
        ("nobody_comes", c_uint32),
        ("kernel_matters", c_uint32),
        ("polls_matter", c_uint32),
        ("numbers_matter", c_uint32),
        ("room_matters", c_uint32),
        ("modes_matter", c_uint32),
        ("fibers", c_uint32),
        ("memory", c_uint32),
        ("starter", c_int32),
        ("cpus", c_uint64 * CPU_WORDS),
        ("right_deaths", c_uint32),
        ("epoch", c_uint64),
        ("made", c_uint64),
        ("shim", c_char * 512),
        ("path", c_char * 128),
        ("started", c_uint32),
        ("finished", c_uint32),
        ("given_up", c_uint32),
        ("reached_main", c_uint32),
        ("steps_before_main", c_uint32),
        ("resources_before_main", c_uint32),
        ("ending", c_uint32),
        ("ending_task", c_uint32),
        ("ending_misuse", c_uint32),
        ("signal", c_uint32),
        ("deaths", c_uint32),
        ("fault_address", c_uint64),
        ("ending_resource", c_uint32),
        ("ending_stack", c_uint32),
        ("ending_site", c_uint64),
        ("message", c_char * 512),
        ("let_pass", LetPassRecord * len(MISUSES)),
        ("steps", c_uint32),
        ("pool_used", c_uint32),
        ("stacks_used", c_uint32),
        ("tasks", c_uint32),
        ("resources", c_uint32),
        ("processes", c_uint32),
        ("modules", c_uint32),
        ("alive_count", c_uint32),
        ("alive", c_uint16 * MOST_TASKS),
        ("running", c_uint32),
        ("nudges", c_uint32),
        ("nudge_steps", c_uint32),
        ("diverged", c_uint32),
        ("diverged_step", c_uint32),
        ("diverged_name", c_uint32),
        ("not_modelled", c_uint32),
        ("memory_given_up", c_uint32),
        ("overlaps", c_uint32),
        ("now", c_uint64),
        ("slept", c_uint64),
        ("changes", c_uint64),
        ("policy_state", PolicyState),
        ("slice_began", c_uint32),
        ("fairness_active", c_uint32),
        ("segment", c_uint32),
        ("segment_left", c_uint32),
        ("behind_prefix", c_uint32),
        ("patience", c_uint32),
        ("fd_changes", c_uint32),
        ("probe", c_uint32),
        ("dying", c_int32),
        ("taking_over", c_uint32),
        ("signals_matter", c_uint32),
        ("waited_in_vain", c_uint32),
        ("choices", c_uint32),
        ("random_values", c_uint64),
        ("idle_timeouts", c_uint32),
        ("idle_looked_at", c_uint32),
        ("idle_since", c_uint64),
        ("idle_changes", c_uint64),
        ("idle_yields", c_uint32),
        ("timers", c_uint32),
        ("looks_closely", c_uint32),
        ("releases", c_uint32),
        ("timers_run", c_uint32),
        ("helped_by_timers", c_uint32),
        ("stale_numbers", c_uint32),
        ("lacked_room", c_uint32),
        ("set_modes", c_uint32),
        ("yields_assumed", c_uint32),
        ("ended_beside_others", c_uint32),
        ("handlers_run", c_uint32),
        ("cancelled_anywhere", c_uint32),
        ("ports", c_uint64 * PORT_WORDS),
        ("needs_kernel_threads", c_char * 32),
        ("over", c_uint32),
        ("status", c_uint32),
        ("printed", c_uint32 * 2),
    )
