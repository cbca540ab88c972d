"""Tools of ``sys.monitoring`` (Python 3.12 on) that a test has: with the ids that it would have.

We have an id ourselves, by which we learn of functions that are new. A program that asks for it
finds it free, and gets it. What Python calls for a tool is no code of the program, as what it calls
to trace or to profile is not; where the test itself registers it, the verdict says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.control import controlled, in_another_thread
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.rewrite.discovery import (
    give_way,
    has_tool,
    real_free_tool_id,
    real_get_tool,
    real_register_callback,
    real_use_tool_id,
)

patches = LatePatches()

CALLED = "what sys.monitoring calls as no code of the test"
"""What is taken for granted, as a verdict says it behind "taking"."""

_monitoring: Any = getattr(sys, "monitoring", None)


def use_tool_id(tool_id: int, name: str, /) -> None:
    """Stands for ``sys.monitoring.use_tool_id``."""
    give_way(tool_id)
    real_use_tool_id(tool_id, name)


def get_tool(tool_id: int, /) -> Any:
    """Stands for ``sys.monitoring.get_tool``: ours is none."""
    return None if has_tool(tool_id) else real_get_tool(tool_id)


def free_tool_id(tool_id: int, /) -> None:
    """Stands for ``sys.monitoring.free_tool_id``: ours is free as it is."""
    if not has_tool(tool_id):
        real_free_tool_id(tool_id)


def register_callback(tool_id: int, event: int, function: Callable[..., Any] | None, /) -> Any:
    """Stands for ``sys.monitoring.register_callback``."""
    execution = controlled()
    if execution is not None and function is not None and not in_another_thread():
        execution.trace.uncontrolled.assume(CALLED)
    return real_register_callback(tool_id, event, function)


if _monitoring is not None:
    for _stand_in in (use_tool_id, get_tool, free_tool_id, register_callback):
        patches.function(_monitoring, _stand_in.__name__)(_stand_in)
