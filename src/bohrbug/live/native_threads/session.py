"""A program runs once, with its real threads, and what came of it."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import CodeType

from bohrbug.live.native_threads import harm as harms
from bohrbug.live.native_threads.calls import patches_for
from bohrbug.live.native_threads.cues import Counts, Cues
from bohrbug.live.native_threads.delays import Delay
from bohrbug.live.native_threads.harm import Harm
from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.live.native_threads.standstill import Frames, Standstill
from bohrbug.live.native_threads.windows import Windows
from bohrbug.runtime.threads.rewrite import tell


@dataclass(slots=True)
class NativeThreadsResult:
    """What came of a run, up to now or in the end.

    Parameters:
        counts: what windows have come to.
        seconds: of real time.
        share: the percentage of it that windows took.
        harm: what failed, in the order in which it did.
        interrupted: the user has ended it.
    """

    counts: Counts
    seconds: float = 0.0
    share: float = 0.0
    harm: list[Harm] = field(default_factory=list)
    interrupted: bool = False


class _Run:
    """A run, while it lasts."""

    def __init__(
        self,
        options: NativeThreadsOptions,
        codes: Iterable[CodeType],
        on_harm: Callable[[Harm], object],
        on_deadlock: Callable[[NativeThreadsResult], object],
        on_delay: Callable[[list[Delay]], object] | None,
    ) -> None:
        self._options, self._on_harm, self._on_deadlock = options, on_harm, on_deadlock
        self._began = time.monotonic()
        self._cues = Cues(note=on_delay)
        self._harm: list[Harm] = []
        self._windows = Windows(
            options, self._cues, Standstill(options.hang_seconds, self._deadlock), codes
        )
        self._patches = (
            patches_for(self._cues.synchronise),
            harms.patches_for_threads(self._left),
        )

    def run(self, program: Callable[[], object]) -> NativeThreadsResult:
        """Run it, and what its threads do afterwards, as the interpreter would."""
        interrupted = False
        if not faulthandler.is_enabled() and sys.__stderr__ is not None:
            faulthandler.enable(sys.__stderr__)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)
        for patches in self._patches:
            patches.install()
        self._windows.start()
        try:
            try:
                program()
            except Exception as error:  # noqa: BLE001  (a failure, whatever it is)
                self._left(error, "the main thread", False)
            _wait_for_threads()
        except KeyboardInterrupt:
            interrupted = True
            # Once is enough: nothing of what follows takes long, and it is to be told.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        finally:
            self._windows.stop()
            for patches in self._patches:
                patches.restore()
            self._cues.settle_all()
        return self.result(interrupted)

    def result(self, interrupted: bool = False) -> NativeThreadsResult:
        """What has come of it up to now."""
        return NativeThreadsResult(
            self._cues.counts,
            time.monotonic() - self._began,
            self._windows.share(),
            self._harm,
            interrupted,
        )

    def _forget(self) -> None:
        """A child process has no thread of ours: nothing is delayed there."""
        self._cues.close()
        tell.set_sink(None)

    def _left(self, error: BaseException, whose: str, is_shown: bool) -> None:
        self._note(harms.of_exception(error, whose, is_shown))

    def _deadlock(self, frames: Frames) -> None:
        self._note(harms.of_deadlock(frames, self._options.hang_seconds))
        self._cues.settle_all()
        self._on_deadlock(self.result())

    def _note(self, harm: Harm) -> None:
        harm.delays = self._cues.log.before(time.monotonic())
        self._harm.append(harm)
        self._on_harm(harm)


def _wait_for_threads() -> None:
    """Threads that are no daemons go on when the program is over."""
    own = threading.current_thread()
    while True:
        left = [each for each in threading.enumerate() if not each.daemon and each is not own]
        if not left:
            return
        left[0].join()


def run_with_native_threads(
    program: Callable[[], object],
    options: NativeThreadsOptions,
    codes: Iterable[CodeType],
    on_harm: Callable[[Harm], object],
    on_deadlock: Callable[[NativeThreadsResult], object],
    on_delay: Callable[[list[Delay]], object] | None = None,
) -> NativeThreadsResult:
    """Run a program once, with its real threads, and delay them now and then.

    Parameters:
        program: the program.
        options: of the run.
        codes: of functions that have cue points from the start.
        on_harm: called when something fails, in the thread in which it is noticed.
        on_deadlock: called after that if all threads wait for locks; has to end the process, as
            nothing else can.
        on_delay: called with the last delays whenever there is one more.
    """
    return _Run(options, codes, on_harm, on_deadlock, on_delay).run(program)
