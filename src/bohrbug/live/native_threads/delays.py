"""Delays of threads: what they were for, and which of them were in force when something failed."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from bohrbug.live.native_threads.traps import Stack
from bohrbug.model.operation import Site
from bohrbug.paths import display_path

_OWN = __name__.partition(".")[0]
DEEPEST = 8
"""Frames of a stack that are kept."""


@dataclass(slots=True)
class Delay:
    """A thread is made to wait.

    Parameters:
        thread: its name.
        why: what for.
        at: where it waits.
        began: when, in seconds.
        ended: when it went on; ``None`` while it waits.
    """

    thread: str
    why: str
    at: Site
    began: float
    ended: float | None = None


class Log:
    """The last delays.

    Parameters:
        note: called with the last ones whenever there is one more.
        most: how many are kept.
    """

    def __init__(self, note: Callable[[list[Delay]], object] | None = None, most: int = 64) -> None:
        self._note = note
        self._delays: deque[Delay] = deque(maxlen=most)

    def add(self, delay: Delay) -> None:
        """A thread begins to wait."""
        self._delays.append(delay)
        if self._note is not None:
            self._note(self.before(delay.began))

    def before(self, now: float, seconds: float = 0.5, most: int = 6) -> list[Delay]:
        """Those in force just before a moment, the latest last.

        Parameters:
            now: the moment.
            seconds: how long ago they may have ended.
            most: how many are told.
        """
        lately = [
            delay
            for delay in tuple(self._delays)
            if delay.began <= now and (delay.ended is None or delay.ended >= now - seconds)
        ]
        return lately[-most:]


def caller() -> FrameType | None:
    """The innermost frame of the running thread that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame):
        frame = frame.f_back
    return frame


def is_own(frame: FrameType) -> bool:
    """Whether a frame runs code of ours."""
    name = frame.f_globals.get("__name__")
    return type(name) is str and name.partition(".")[0] == _OWN


_BEGINNINGS = frozenset({"Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap"})


def stack_of(frame: FrameType | None, most: int = DEEPEST) -> Stack:
    """The lines that a thread is at, innermost first, without ours and how it began."""
    found: list[Site] = []
    while frame is not None and len(found) < most:
        if not is_own(frame) and frame.f_code.co_qualname not in _BEGINNINGS:
            code = frame.f_code
            found.append(Site(code.co_filename, frame.f_lineno or 0, code.co_qualname))
        frame = frame.f_back
    return tuple(found) or (Site("<unknown>", 0, "?"),)


def site_in_words(site: Site) -> str:
    """A place for people: the file, the line where it is known, and the function."""
    line = f":{site.line}" if site.line else ""
    return f"{display_path(site.filename)}{line} in {site.function}"


def thread_name(number: int) -> str:
    """The name of a thread by its number, without making it one of ``threading``'s."""
    # Not ``current_thread``, which does so.
    thread = threading._active.get(number)  # type: ignore[attr-defined]
    return f"thread {number}" if thread is None else str(thread._name)
