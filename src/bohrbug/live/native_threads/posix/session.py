"""A native program runs once, with its real threads, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from bohrbug.live.native_threads import harm as harms
from bohrbug.live.native_threads.cues import Counts
from bohrbug.live.native_threads.delays import Log, site_in_words
from bohrbug.live.native_threads.guard import CRASHES
from bohrbug.live.native_threads.harm import Harm
from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.live.native_threads.posix.reading import Reading
from bohrbug.live.native_threads.posix.standstill import NativeStandstill
from bohrbug.live.native_threads.posix.windows import NativeWindows
from bohrbug.live.native_threads.session import NativeThreadsResult
from bohrbug.live.native_threads.standstill import LOOK_EVERY
from bohrbug.platforms.posix.command import Command
from bohrbug.runtime.posix.delayed import DelayedProgram
from bohrbug.runtime.posix.ended import Ended

_NANOSECONDS = 1_000_000_000
MODULES_EVERY = 1.0
"""Seconds between two looks at which modules the program has loaded."""

DEADLOCKED = 128 + 9
"""The exit code of a program that we have ended."""


class NativeThreadsRun:
    """A run of a native program, while it lasts.

    Parameters:
        command: the program, and the exit code that it should have.
        options: of the run.
        on_harm: called when it has failed.
    """

    def __init__(
        self, command: Command, options: NativeThreadsOptions, on_harm: Callable[[Harm], object]
    ) -> None:
        self._command, self._options, self._on_harm = command, options, on_harm
        self._harm: list[Harm] = []

    def run(self) -> tuple[NativeThreadsResult, int]:
        """Run it to its end; what came of it, and its exit code, as a shell has it.

        Raises:
            UnsupportedError: it can't be run so.
        """
        with DelayedProgram(self._command.words) as program:
            began = time.monotonic()
            reading = Reading(program)
            windows = NativeWindows(program.record, self._options, reading.note_race)
            ended = self._watch(program, reading, windows)
            windows.finish()
            if ended is not None:
                self._judge(ended, program, reading)
            record = program.record
            counts = Counts(
                windows.count,
                record.traps,
                record.gave_way,
                record.delayed / _NANOSECONDS,
                reading.races(),
            )
            result = NativeThreadsResult(
                *(counts, time.monotonic() - began, windows.share(), self._harm),
                interrupted=program.interrupted,
            )
        if ended is None:
            return result, DEADLOCKED
        return result, ended.code if ended.code >= 0 else 128 - ended.code

    def _watch(
        self, program: DelayedProgram, reading: Reading, windows: NativeWindows
    ) -> Ended | None:
        """Until it has ended; ``None`` if it was ended because of a deadlock."""
        standstill = NativeStandstill(self._options.hang_seconds, program, reading)
        look_at = 0.0
        pause = 0.0
        while not program.has_ended(pause):
            now = time.monotonic()
            if now >= look_at and program.record.maps_length:
                program.look_at_modules()
                look_at = now + MODULES_EVERY
            pause = min(windows.look(), LOOK_EVERY)
            harm = standstill.look(now)
            if harm is not None:
                self._note(harm, reading, now - self._options.hang_seconds)
                program.kill()
                return None
        program.look_at_modules()
        return program.ended()

    def _judge(self, ended: Ended, program: DelayedProgram, reading: Reading) -> None:
        """What the end of the program says."""
        expected = self._command.exit_code
        record = program.record
        if -ended.code in CRASHES:
            if record.has_asserted:
                self._note(self._of_assertion(program, reading), reading)
            else:
                self._note(harms.of_crash(-ended.code), reading)
        elif expected is not None and ended.code != expected and ended.code >= 0:
            self._note(Harm(f"exit code {ended.code} instead of {expected}", []), reading)

    def _of_assertion(self, program: DelayedProgram, reading: Reading) -> Harm:
        record = program.record
        thread = reading.thread(record.asserted_by, record.asserting_routine)
        said = record.assertion.decode("utf-8", "replace")
        stack = reading.stack([each for each in record.assertion_stack if each])
        lines = [f"at {site_in_words(site)}" for site in stack if site.line]
        return Harm(f"a failed assertion in {thread}: {said}", lines)

    def _note(self, harm: Harm, reading: Reading, moment: float | None = None) -> None:
        log = Log()
        for delay in reading.delays():
            log.add(delay)
        harm.delays = log.before(time.monotonic() if moment is None else moment)
        self._harm.append(harm)
        self._on_harm(harm)
