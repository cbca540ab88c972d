"""What counts as a failure of a run with real threads, noticed where it happens."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from bohrbug.live.native_threads.delays import Delay, is_own, thread_name
from bohrbug.live.native_threads.standstill import Frames, other_threads
from bohrbug.runtime.threads.patches import Patches


@dataclass(slots=True)
class Harm:
    """Something that failed.

    Parameters:
        what: in a line.
        details: lines below it: a traceback, or the stacks of all threads.
        delays: those in force just before.
    """

    what: str
    details: list[str]
    delays: list[Delay] = field(default_factory=list)


def of_exception(error: BaseException, whose: str, is_shown: bool) -> Harm:
    """An exception leaves a thread.

    Parameters:
        error: which one.
        whose: the name of the thread.
        is_shown: Python itself shows the traceback.
    """
    text = (
        []
        if is_shown
        else traceback.format_exception(type(error), error, _without_ours(error.__traceback__))
    )
    kind = type(error).__name__
    said = "".join(traceback.format_exception_only(error)).strip().partition("\n")[0]
    what = "a failed assertion" if isinstance(error, AssertionError) else kind
    return Harm(f"{what} left {whose}: {said}", "".join(text).rstrip().splitlines())


def _without_ours(trace: Any) -> Any:
    """A traceback from the first frame on that is not ours."""
    found = trace
    while found is not None and is_own(found.tb_frame):
        found = found.tb_next
    return found if found is not None else trace


def of_crash(number: int) -> Harm:
    """A signal has ended the program because of what it did.

    Parameters:
        number: of the signal.
    """
    return Harm(
        f"the program crashed: {signal.strsignal(number)} ({signal.Signals(number).name})", []
    )


def of_deadlock(frames: Frames, seconds: float) -> Harm:
    """All threads wait for locks.

    Parameters:
        frames: where they stand.
        seconds: for how long.
    """
    lines: list[str] = []
    for number, frame in frames.items():
        lines += [f"{thread_name(number)}:", *_stack(frame)]
    # The one that looks is none of them, and none of Python's others.
    others = other_threads(len(frames) + 1)
    if others:
        lines.append(
            f"(If one of the {others} threads that are not Python's would have gone on and called "
            "Python, it is no deadlock.)"
        )
    count = f"all {len(frames)} threads wait" if len(frames) > 1 else "the only thread waits"
    return Harm(f"deadlock: {count} for locks, and nothing moved for {seconds:g} s", lines)


_OUTERMOST = ("bohrbug.cli.programs", "bohrbug.live.native_threads.session")
"""Modules of ours that call the program: what is behind them is no part of it."""


def _stack(frame: FrameType) -> list[str]:
    """As Python shows it: the innermost frame last."""
    frames = []
    found: FrameType | None = frame
    while found is not None and found.f_globals.get("__name__") not in _OUTERMOST:
        if not is_own(found):
            frames.append(found)
        found = found.f_back
    summary = traceback.StackSummary.extract(
        (each, each.f_lineno or 0) for each in reversed(frames)
    )
    return "".join(summary.format()).rstrip().splitlines()


def patches_for_threads(tell: Callable[[BaseException, str, bool], object]) -> Patches:
    """What notices exceptions that leave threads, before ``threading.excepthook`` is called.

    Parameters:
        tell: called with the exception, the name of the thread, and whether Python itself shows
            the traceback.
    """
    patches = Patches()
    show = threading.excepthook
    make: Any = threading._make_invoke_excepthook  # type: ignore[attr-defined]

    def make_telling() -> Callable[[threading.Thread], None]:
        invoke = make()

        def tell_and_invoke(thread: threading.Thread) -> None:
            error = sys.exception()
            if error is not None and not isinstance(error, SystemExit):
                tell(error, thread.name, threading.excepthook is show)
            invoke(thread)

        return tell_and_invoke

    patches.add(threading, "_make_invoke_excepthook", make_telling)
    usual = sys.unraisablehook

    def tell_unraisable(raised: sys.UnraisableHookArgs, /) -> None:
        error = raised.exc_value
        is_of_thread = (raised.err_msg or "").startswith("Exception ignored in thread started by")
        if is_of_thread and error is not None and not isinstance(error, SystemExit):
            tell(error, thread_name(threading.get_ident()), True)
        usual(raised)

    patches.add(sys, "unraisablehook", tell_unraisable)
    return patches
