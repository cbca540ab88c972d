"""When threads are delayed: windows, as often as the budget allows, opened by a thread of ours."""

from __future__ import annotations

import _thread
import math
import sys
import time
from collections.abc import Callable, Iterable
from random import Random
from types import CodeType

from bohrbug.live.budget import Budget
from bohrbug.live.native_threads import durations
from bohrbug.live.native_threads.cues import Cues, Window
from bohrbug.live.native_threads.durations import (
    FIRST_GUESS,
    LENGTH,
    LONGEST_AMBUSH,
    MOST_CHANGES,
    MOST_TARGETS,
    PAUSE,
)
from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.live.native_threads.priorities import Priorities
from bohrbug.live.native_threads.standstill import LOOK_EVERY, Standstill
from bohrbug.runtime.threads.instrumentation import Instrumentation
from bohrbug.runtime.threads.rewrite import tell
from bohrbug.runtime.threads.rewrite.discovery import Discovery
from bohrbug.runtime.threads.rewrite.scope import Scope

CUE_SECONDS = 3e-6
"""What a cue point costs at which nothing is done, roughly."""

SWITCH_SECONDS = 0.001
"""After so long a thread gives up the GIL for others, and for the thread that opens windows; five
times as often as usual."""


class _Closing:
    """Closes a window once: a thread in it does so without waiting for the one that opened it.

    Parameters:
        close: what closes it.
    """

    def __init__(self, close: Callable[[], object]) -> None:
        self._close = close
        self._claimed, self._done = _thread.allocate_lock(), _thread.allocate_lock()
        self._done.acquire()
        self._ended = 0.0

    def close(self) -> None:
        """Close it, unless somebody did so."""
        if self._claimed.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._ended = time.monotonic()
                self._done.release()

    def wait(self, seconds: float, more: float) -> float:
        """Wait until it is closed; the moment at which it was.

        Parameters:
            seconds: for which to wait before it is closed here.
            more: for a trap that was set at the last moment.
        """
        if not self._done.acquire(timeout=seconds) and not self._done.acquire(timeout=more):
            self.close()
            self._done.acquire()
        return self._ended


class Windows:
    """Opens and closes windows, in a thread of its own, and looks for deadlocks in between.

    Parameters:
        options: of the run.
        cues: what happens in windows.
        standstill: asked now and then.
        codes: of functions that have cue points from the start.
    """

    def __init__(
        self,
        options: NativeThreadsOptions,
        cues: Cues,
        standstill: Standstill,
        codes: Iterable[CodeType],
    ) -> None:
        self._draw = Random(options.seed)
        self._cues, self._standstill = cues, standstill
        gil = options.gil
        self._instrumentation = Instrumentation(
            Scope(options.scope), breakers=gil, accesses=not gil
        )
        self._instrumentation.rewrite(codes)
        self._instrumentation.let_tell(_nobody)
        self._discovery = Discovery(original=self._instrumentation.original)
        now = time.monotonic()
        self.budget = Budget(options.budget, now)
        self._until = math.inf if options.seconds is None else now + options.seconds
        self._length = FIRST_GUESS
        self._grow_at = 0.0
        self._switch_interval = sys.getswitchinterval()
        self._stopping = _thread.allocate_lock()
        self._stopped = _thread.allocate_lock()

    def start(self) -> None:
        """Begin to open windows."""
        sys.setswitchinterval(min(self._switch_interval, SWITCH_SECONDS))
        self._discovery.__enter__()
        self._stopping.acquire()
        self._stopped.acquire()
        _thread.start_new_thread(self._run, ())

    def stop(self) -> None:
        """Open no more, and put everything back."""
        self._stopping.release()
        with self._stopped:
            pass
        sys.setswitchinterval(self._switch_interval)
        self._discovery.__exit__(None, None, None)
        self._instrumentation.restore()

    def share(self) -> float:
        """The percentage of the time that windows took."""
        return self.budget.share(time.monotonic())

    def _run(self) -> None:
        own = _thread.get_ident()
        try:
            pause = durations.LOOK_EVERY
            while not self._stopping.acquire(timeout=pause):
                now = time.monotonic()
                self._standstill.look(now, own)
                if self.budget.next_at <= now < self._until and _are_several():
                    self._grow()
                    self._open_one()
                pause = min(max(self.budget.next_at - now, durations.LOOK_EVERY), LOOK_EVERY)
        finally:
            self._stopped.release()

    def _grow(self) -> None:
        """Give cue points to the functions that were called up to now."""
        began = time.monotonic()
        if self._discovery.has_news and began >= self._grow_at:
            self._instrumentation.rewrite([code for code, _ in self._discovery.take()])
            self._instrumentation.note_made()
            ended = time.monotonic()
            # To find the functions takes long in a large program, even for a single new one.
            self._grow_at = ended + 9 * (ended - began)

    def _open_one(self) -> None:
        """Open a window, and wait until it is over; one of its threads closes it, or this one."""
        began = time.monotonic()
        window, wanted = self._drawn(began)
        is_ambush = bool(window.targets)
        closing = _Closing(lambda: self._close(window))
        window.over = closing.close
        if is_ambush:
            # Only now does it matter what the others do.
            window.sprung = lambda: self._instrumentation.let_tell(None)
        self._instrumentation.let_tell(None)
        if wanted is not None:
            # It is asked about functions only while all of them tell.
            self._instrumentation.let_tell(wanted)
        tell.set_sink(self._cues)
        self._cues.open(window)
        ended = closing.wait(window.ends - began, PAUSE[1] if window.priorities is None else 0.0)
        if is_ambush:
            began = ended - window.cues * CUE_SECONDS - (window.pause if window.is_set else 0.0)
        self.budget.spend(began, ended)

    def _close(self, window: Window) -> None:
        self._cues.close()
        tell.set_sink(None)
        self._instrumentation.let_tell(_nobody)
        if window.priorities is not None and window.cues:
            self._length = window.cues

    def _drawn(self, now: float) -> tuple[Window, Callable[[CodeType], bool] | None]:
        """What to do next, and which functions have cue points meanwhile; ``None``: all."""
        draw = self._draw
        kind = draw.random()
        if kind < 0.4:
            changes = draw.randint(0, MOST_CHANGES)
            priorities = Priorities(Random(draw.random()), changes, self._length)
            return Window(now + LENGTH, priorities), None
        # Short ones cost less, and long ones catch more.
        pause = PAUSE[0] * (PAUSE[1] / PAUSE[0]) ** draw.random()
        targets = self._cues.draw_targets(draw, MOST_TARGETS) if kind < 0.7 else {}
        if not targets:
            skipped = int(2 ** draw.uniform(0, 7)) - 1
            return Window(now + LENGTH, skipped=skipped, pause=pause), None
        codes = {id(self._instrumentation.original(code)) for code in targets.values()}
        window = Window(now + LONGEST_AMBUSH, targets=set(targets), pause=pause)
        return window, lambda each: id(each) in codes


def _nobody(_: CodeType) -> bool:
    return False


def _are_several() -> bool:
    """Whether there are two threads beside that which asks."""
    return len(sys._current_frames()) > 2
