"""Recording and replaying whole commands."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bohrbug.runtime.channels.desynchronisation import Desynchronisation
from bohrbug.runtime.channels.joining import environment_for
from bohrbug.runtime.channels.programs import Shared, begin_log, end_log
from bohrbug.runtime.channels.session import SessionOptions

_GRACE = 3.0
"""Seconds that the other processes of a strict replay get to notice that it is over."""
_LOOK = 0.25
"""Seconds after which one looks whether there was a difference."""


class CommandError(ValueError):
    """A command can't be started; the message says why."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended.

    Parameters:
        status: its exit status, 128 and the signal's number if a signal ended it.
        took_part: whether a Python process of it took part.
        desynchronisation: of a replay, if there was one.
        warnings: what could not be told apart.
        interrupted: whether the user stopped it.
        events: of a replay that was stopped: how many there were.
        differences: of a replay from its log: how many there were.
    """

    status: int
    took_part: bool
    desynchronisation: Desynchronisation | None = None
    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False
    events: int = 0
    differences: int = 0

    @property
    def passed(self) -> bool:
        """Whether the exit status says that all is well."""
        return self.status == 0


def record_command(
    command: Sequence[str],
    file: Path,
    *,
    digests: bool = False,
    output: IO[bytes] | int | None = None,
) -> CommandResult:
    """Run a command and record the order of its messages.

    Parameters:
        command: program and arguments.
        file: the log to write.
        digests: record digests of values.
        output: where its standard output and error output go, if not to ours.

    Raises:
        CommandError: it can't be started.
        OSError: the log can't be written.
    """
    shared = Shared()
    try:
        begin_log(file, list(command))
        options = SessionOptions("record", str(file.absolute()), str(shared.folder), digests)
        status, interrupted = _run(command, options, shared, output)
        shared.recover(file)
        end_log(file, {"status": status, "passed": status == 0})
        took_part = shared.any_process()
        return CommandResult(status, took_part, None, shared.warnings(), interrupted)
    finally:
        shared.remove()


def replay_command(
    command: Sequence[str],
    file: Path,
    *,
    keep_going: bool = False,
    patience: float = 10.0,
    alternate: Path | None = None,
    output: IO[bytes] | int | None = None,
) -> CommandResult:
    """Run a command and enforce the order of messages of a log.

    Parameters:
        command: program and arguments.
        file: the log.
        keep_going: after a difference go on, and follow the log where that can be followed.
        patience: seconds without progress that end a wait.
        alternate: a log to write of what happens in the replay.
        output: where its standard output and error output go, if not to ours.

    Raises:
        CommandError: it can't be started.
        OSError: the log of what happens can't be written.
    """
    shared = Shared()
    try:
        if alternate is not None:
            begin_log(alternate, list(command))
        options = SessionOptions(
            "replay",
            str(file.absolute()),
            str(shared.folder),
            keep_going=keep_going,
            patience=patience,
            alternate="" if alternate is None else str(alternate.absolute()),
        )
        status, interrupted = _run(command, options, shared, output)
        shared.end_alternate(alternate, {"status": status, "passed": status == 0})
        return CommandResult(
            status,
            shared.any_process(),
            None if interrupted and not shared.reported_before_interrupt() else shared.report(),
            shared.warnings(),
            interrupted,
            shared.events_replayed(),
            shared.differences(),
        )
    finally:
        shared.remove()


def _run(
    command: Sequence[str], options: SessionOptions, shared: Shared, output: IO[bytes] | int | None
) -> tuple[int, bool]:
    """The exit status of a command, and whether the user stopped it."""
    environment: Mapping[str, str] = environment_for(options, os.environ, None)
    try:
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=output and subprocess.STDOUT
        )
    except OSError as error:
        hint = ""
        if command[0].endswith(".py"):
            hint = f"; to run a script: python {shlex.join(command)}"
        raise CommandError(f"can't start {command[0]}: {error.strerror or error}{hint}") from error
    strict = options.mode == "replay" and not options.keep_going
    seen: float | None = None
    interrupted = False
    while True:
        try:
            if strict:
                status = process.wait(timeout=0 if _await_end(process.pid, _LOOK) else _LOOK)
            else:
                status = process.wait()
            break
        except subprocess.TimeoutExpired:
            if shared.report() is not None:
                seen = seen or time.monotonic()
                waited = time.monotonic() - seen
                if waited > 2 * _GRACE:
                    process.kill()
                elif waited > _GRACE:
                    process.terminate()
        except KeyboardInterrupt:
            # The command got the signal too, and decides.
            interrupted = True
            shared.interrupt()
    if strict and shared.report() is not None:
        shared.end_processes()
    return (128 - status if status < 0 else status), interrupted


def _await_end(process: int, seconds: float) -> bool:
    """Wait until a process has ended, so many seconds at most; false where that can't be done.

    ``Popen.wait`` with a timeout looks every 50 ms, which short replays would pay for.
    """
    try:
        descriptor = os.pidfd_open(process)
    except (AttributeError, OSError):
        return False
    try:
        select.select([descriptor], [], [], seconds)
    finally:
        os.close(descriptor)
    return True


def words_of_signal(status: int) -> str:
    """``exit status 1``, ``signal SIGKILL``."""
    if status > 128:
        try:
            return f"signal {signal.Signals(status - 128).name}"
        except ValueError:
            pass
    return f"exit status {status}"
