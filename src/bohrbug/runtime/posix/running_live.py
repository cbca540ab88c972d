"""Running a program once, for as long as it runs, with its own input and output."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from bohrbug.model.outcome import Outcome
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.posix import build
from bohrbug.runtime.posix.accesses import HooksFolder
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.commands import command_of
from bohrbug.runtime.posix.completed import CompletedExecution
from bohrbug.runtime.posix.ended import Ended, Printed
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.enumerations import NOT_ON_FIBERS, TOO_BIG
from bohrbug.runtime.posix.learnt import Learnt
from bohrbug.runtime.posix.live_layout import LiveRecord
from bohrbug.runtime.posix.passing_on import PassingOn
from bohrbug.runtime.posix.preparing import Preparation
from bohrbug.runtime.posix.runtime import Explainer
from bohrbug.runtime.posix.segment import Segment, SegmentFile
from bohrbug.runtime.posix.settings import NativeSettings
from bohrbug.runtime.posix.standstill import LOOK_SECONDS, Standstill, nudge
from bohrbug.runtime.posix.starting import (
    addresses_not_random,
    environment_for,
    spawned,
    supported_here,
)
from bohrbug.runtime.posix.trace_reading import TraceReader


class LiveProgram:
    """A program that is run once; a context manager.

    Parameters:
        command: the program and its arguments.
        settings: how it is run; there is room for its ``max_steps``.

    Attributes:
        record: what its rounds are told, before it runs, and come to.
        interrupted: whether the user has pressed Ctrl-C.

    Raises:
        UnsupportedError: the command or this system is not one for native programs.
    """

    def __init__(self, command: Sequence[str], settings: NativeSettings) -> None:
        if not supported_here():
            raise UnsupportedError("native programs can be run live on Linux 5.3 and newer only")
        self.command = command_of(command)
        build.shim()
        program = Path(self.command[0]).resolve()
        self._preparation = Preparation(settings, str(program), Learnt())
        self._reader = TraceReader(program, self._preparation)
        self._file = SegmentFile(settings.max_steps, live=ctypes.sizeof(LiveRecord))
        self._segment = self._file.first
        self._hooks = HooksFolder(build.hooks())
        self.record = self._segment.live
        self.interrupted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._hooks.close()
        del self.record
        self._file.close()

    def run(self, plan: Plan) -> CompletedExecution:
        """Run it to its end.

        Parameters:
            plan: what is done where no fragment is followed.

        Raises:
            UnsupportedError: it can't be run with fibers, or did not take part.
        """
        prepared = self._preparation.prepare(self._segment, plan, fibers=True)
        self._preparation.prepare_accesses(self._segment)
        with PassingOn(self._note) as signals:
            pid = self._start()
            signals.go_to(pid)
            ended = self._wait_for(pid)
        made = CompletedExecution(
            plan, prepared.names, self._segment, Engine.ANEW, ended, Printed(b"", b"")
        )
        self._check(ended)
        return made

    def read(self, made: CompletedExecution, explainer: Explainer) -> Trace:
        """The trace of the run, with its outcome.

        Parameters:
            made: what :meth:`run` gave.
            explainer: turns its end into an outcome.
        """
        trace, reading = self._reader.read(made.plan, made, self._hooks, learn=False)
        trace.outcome = explainer(reading, trace, made.ended, made.printed)
        # The segment is about to be no more.
        reading.detach()
        return trace

    def outcome_of(self, made: CompletedExecution, explainer: Explainer) -> Outcome:
        """How the run ended."""
        return self.read(made, explainer).outcome

    @property
    def steps(self) -> int:
        """How many steps it had, with those that are forgotten."""
        return int(self.record.forgotten + self._segment.header.steps)

    @property
    def segment(self) -> Segment:
        """What it has in common with the program."""
        return self._segment

    def _start(self) -> int:
        base = self._hooks.environment(dict(os.environ))
        environment = environment_for(self._segment, self._preparation.preload, base)
        with addresses_not_random():
            return spawned(self.command, environment)

    def _wait_for(self, pid: int) -> Ended:
        standstill = Standstill(self._segment)
        descriptor = os.pidfd_open(pid)
        try:
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            while not poller.poll(LOOK_SECONDS * 1000):
                if self.record.waits:
                    # For others, so that it does not stand still through any fault of its own.
                    standstill = Standstill(self._segment)
                    continue
                standstill.look()
                if standstill.is_too_long:
                    nudge(self._segment)
            _, status = os.waitpid(pid, 0)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise
        finally:
            os.close(descriptor)
        code = os.waitstatus_to_exitcode(status)
        return Ended(code, interrupted=self.interrupted and code == -signal.SIGINT)

    def _note(self, number: int) -> None:
        if number == signal.SIGINT:
            self.interrupted = True

    def _check(self, ended: Ended) -> None:
        header = self._segment.header
        name = self.command[0]
        if header.ending == NOT_ON_FIBERS:
            what = header.needs_kernel_threads.decode("ascii", "replace")
            raise UnsupportedError(
                f"live rounds need all tasks of a program in one kernel thread, and {name} has "
                f"what is right on kernel threads only: {what}. The program was ended there; to "
                "explore it: bohrbug run"
            )
        if header.ending == TOO_BIG:
            message = header.message.decode("utf-8", "replace")
            raise UnsupportedError(f"the run was ended after {self.steps:,} steps: {message}")
        if not header.started:
            raise UnsupportedError(
                f"{name} did not take part: the shim was not loaded, or the program ended before "
                f"it (exit code {ended.code})"
            )
        self._hooks.check(self._segment)
