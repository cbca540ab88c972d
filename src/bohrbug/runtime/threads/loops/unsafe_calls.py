"""Calls that only the thread of a running event loop may make, made by another one.

``Future.set_result``, ``Event.set``, ``Queue.put_nowait`` and ``create_task`` end in ``call_soon``,
which does not wake the loop up: what it calls for comes when something else does.  asyncio raises
``RuntimeError`` for that in its debug mode alone.  So executions note it, and deadlocks tell of it.
"""

from __future__ import annotations

from sys import _getframe
from types import FrameType
from typing import Any

from bohrbug.model.site import site_of
from bohrbug.paths import line_in_notes
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.loops.tasks import place_from
from bohrbug.runtime.threads.tracebacks import is_left_out, stack_up_to_in_words

SAFE_WAYS = {
    "call_soon": "call_soon_threadsafe",
    "call_at": "call_soon_threadsafe(loop.call_later, ...)",
    "stop": "call_soon_threadsafe(loop.stop)",
}
"""The methods of a loop that are for its own thread, and what others have in their place."""

_made: dict[str, str] = {}
"""The calls of this execution, and with their stacks."""
forgotten_afterwards(_made)


def note_unsafe_call(execution: Execution, loop: Any, method: str) -> None:
    """A thread that does not run a loop calls a method of it; the caller's caller is asyncio's.

    Parameters:
        execution: the running one.
        loop: the loop.
        method: its name.
    """
    safe = SAFE_WAYS.get(method)
    if safe is None or getattr(loop, "_thread_id", None) is None:
        # Nobody waits in a loop that does not run.
        return
    frame = _getframe(2)
    what = f"{method} of an event loop that another thread runs"
    execution.trace.uncontrolled.call_unsafely(f"{what}{_place_in_words(frame)}: use {safe}")
    task = execution.current.id
    words = f"Task {task} called {what}, which does not wake it up: use {safe}"
    execution.logged_errors.setdefault(words, None)
    if words not in _made:
        _made[words] = f"{words}\n{stack_up_to_in_words(frame)}"


def unsafe_calls_by_now() -> list[str]:
    """The calls of this execution, in words and with their stacks."""
    return [*_made.values()]


def _place_in_words(frame: FrameType) -> str:
    site = site_of(place_from(frame))
    if site is None or is_left_out(site.filename):
        # The method is itself what the thread runs.
        return ""
    return f", at {line_in_notes(site.filename, site.line)}"
