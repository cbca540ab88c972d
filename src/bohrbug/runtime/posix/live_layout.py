"""The layout of what live rounds keep in the segment; ``shim/live.h`` is the other side.

A test compares every offset.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_uint32, c_uint64

MOST_FRAGMENTS = 64
MOST_FILTER = 512
MOST_FRAGMENT_PAIRS = 256
FRAGMENT_ENDS = 8

OWN_NUMBER = 0x7FFFFFFF
"""Stands in the filter for the process id of a fragment, which nobody knows before."""


class FragmentRecord(ctypes.Structure):
    """``struct fragment_report``."""

    _fields_ = (
        ("is_written", c_uint32),
        ("end", c_uint32),
        ("ending", c_uint32),
        ("misuse", c_uint32),
        ("signal", c_uint32),
        ("task", c_uint32),
        ("code", c_int32),
        ("steps", c_uint32),
        ("waiting", c_uint32),
        ("held", c_uint32),
        ("pairs_count", c_uint32),
        ("choices", c_uint64),
        ("pairs", c_uint64 * MOST_FRAGMENT_PAIRS),
    )


class LiveRecord(ctypes.Structure):
    """``struct live``."""

    _fields_ = (
        ("budget", c_uint32),
        ("window", c_uint32),
        ("fragments", c_uint32),
        ("at_once", c_uint32),
        ("history", c_uint32),
        ("most_rounds", c_uint32),
        ("nanoseconds", c_uint64),
        ("patience", c_uint64),
        ("seed", c_uint64),
        ("has_code", c_uint32),
        ("code", c_int32),
        ("filter_length", c_uint32),
        ("spare", c_uint32),
        ("filter", c_uint64 * MOST_FILTER),
        ("waits", c_uint32),
        ("met_outside", c_uint32),
        ("has_children", c_uint32),
        ("followed", c_uint32),
        ("rounds", c_uint64),
        ("retired", c_uint64),
        ("parted", c_uint64),
        ("failed_copies", c_uint64),
        ("unproved", c_uint64),
        ("forgotten", c_uint64),
        ("ends", c_uint64 * FRAGMENT_ENDS),
        ("began", c_uint64),
        ("spent", c_uint64),
        ("longest", c_uint64),
        ("suspect", FragmentRecord),
        ("reports", FragmentRecord * MOST_FRAGMENTS),
    )
