"""What makes an event loop one of asyncio's own, and what its turns do beside running callbacks."""

from __future__ import annotations

import selectors
import sys
from typing import Any

from bohrbug.accelerator import with_fast_path


def runs_as_asyncios(loop: Any) -> bool:
    """Whether the order of what a loop runs can be chosen: its turns are those of asyncio's own.

    Parameters:
        loop: an event loop of any kind.
    """
    events = sys.modules.get("asyncio.selector_events")
    if events is None or not isinstance(loop, events.BaseSelectorEventLoop):
        return False
    if not isinstance(getattr(loop, "_selector", None), selectors.BaseSelector):
        # It is closed, or waits for what nobody knows.
        return False
    if not is_selected_as_asyncios(loop):
        return False
    own = sys.modules["asyncio.base_events"].BaseEventLoop
    cls = type(loop)
    # What makes a loop turn as asyncio's do, in the time that passes under control.
    return (
        cls.run_forever is own.run_forever
        and cls._run_once is own._run_once
        and cls.time is own.time
    )


def is_code_of(function: Any, module: Any) -> bool:
    """Whether a function is as its module has it, and nothing that a program has put in its place.

    Parameters:
        function: a method of a class of the module.
        module: of the standard library.
    """
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == getattr(module, "__file__", None)


@with_fast_path
def is_selected_as_asyncios(loop: Any) -> bool:
    """Whether a loop waits by the standard library's own ``select``, in the time under control.

    A program may have another one in its place, even while the loop runs: one that lets a clock of
    its own pass, by the time that it was to wait.  Where nobody calls it, that clock stands still.

    Parameters:
        loop: a selector event loop of asyncio.
    """
    selector = loop._selector
    if "select" in getattr(selector, "__dict__", ()):
        return False
    for cls in type(selector).__mro__:
        if "select" in cls.__dict__:
            return bool(cls.__module__ == selectors.__name__)
    return False


def time_of(loop: Any) -> float:
    """What the clock of a loop says, where it is not the program that looks at it.

    Parameters:
        loop: one that turns as asyncio's do, under control.
    """
    # What stands for the method would take this for the program's own look.
    seconds: float = type(loop).time.__wrapped__(loop)
    return seconds


def handles_signals(loop: Any) -> bool:
    """Whether signals come to a loop, through the socket by which it is woken."""
    # Only the loops of Unix have handlers.
    return bool(getattr(loop, "_signal_handlers", None))


def descriptor_that_wakes(loop: Any) -> int:
    """The descriptor by which a loop is woken; -1: it has none, or none yet.

    Parameters:
        loop: a selector event loop of asyncio.
    """
    own = vars(loop).get("_ssock")
    return -1 if own is None else int(own.fileno())


def watches(loop: Any) -> list[int]:
    """The descriptors that a loop watches, but for the one by which it is only woken.

    Parameters:
        loop: a selector event loop of asyncio.
    """
    # What its ``get_map`` looks into; it is asked for at each step.
    watched = loop._selector._fd_to_key
    if not watched:
        return []
    own = -1 if handles_signals(loop) else descriptor_that_wakes(loop)
    if len(watched) == 1 and own in watched:
        return []
    return sorted(descriptor for descriptor in watched if descriptor != own)


def run_debugged(loop: Any, handle: Any) -> None:
    """Run a callback of a loop in debug mode, which logs those that take long.

    Parameters:
        loop: an event loop of asyncio.
        handle: what it is to run.
    """
    loop._current_handle = handle
    try:
        began = loop.time()
        handle._run()
        seconds = loop.time() - began
        if seconds >= loop.slow_callback_duration:
            base_events = sys.modules["asyncio.base_events"]
            told = base_events._format_handle(handle)
            base_events.logger.warning("Executing %s took %.3f seconds", told, seconds)
    finally:
        loop._current_handle = None
        # A traceback may keep this frame.
        del handle
