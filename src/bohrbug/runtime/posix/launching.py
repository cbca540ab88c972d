"""Starting a program under control, and watching over it until it has ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bohrbug.runtime.posix import layout
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.serving import Server
from bohrbug.runtime.posix.standstill import LOOK_SECONDS, Standstill, nudge

_ADDR_NO_RANDOMIZE = 0x0040000
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Ended:
    """How the first process of an execution ended.

    Parameters:
        code: its exit code; ``-number`` if it died of a signal.
        hung: it made no progress for too long and was killed.
        interrupted: the user stopped it.
        seconds: how long it made no progress, for ``hung``.
        stopped: it hung because a signal had stopped the process whose turn it was.
    """

    code: int
    hung: bool = False
    interrupted: bool = False
    seconds: float = 0.0
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Printed:
    """What an execution printed."""

    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """All of it, as one text."""
        return (self.stdout + self.stderr).decode("utf-8", "replace")


class Capture:
    """A file in memory that gets what an execution prints.

    Parameters:
        name: for people who look into ``/proc``.
    """

    def __init__(self, name: str) -> None:
        self.file = os.memfd_create(name)
        # Every write goes to the end, whoever holds a descriptor of it.
        self.writer = os.open(f"/proc/self/fd/{self.file}", os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)

    def clear(self) -> None:
        """Forget what the last execution printed."""
        if os.lseek(self.file, 0, os.SEEK_END):
            os.ftruncate(self.file, 0)
        # Some programs ask where they are in their output.
        os.lseek(self.writer, 0, os.SEEK_SET)

    def read(self) -> bytes:
        """What was printed."""
        size = os.lseek(self.file, 0, os.SEEK_END)
        return os.pread(self.file, size, 0) if size else b""

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.file)
        os.close(self.writer)


class Input:
    """Standard input that every execution reads from its beginning.

    A file is opened anew each time; what comes through a pipe is read to its end first; a terminal
    is replaced by an empty input, as nobody could type the same a thousand times.
    """

    def __init__(self) -> None:
        self._kept: int | None = None
        self._path = os.devnull
        self._own = f"/proc/{os.getpid()}/fd"
        try:
            mode = os.fstat(0).st_mode
        except OSError:
            return
        if stat.S_ISREG(mode):
            self._path = f"{self._own}/0"
        elif stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            self._kept = os.memfd_create("bohrbug-stdin")
            while chunk := os.read(0, 1 << 16):
                os.write(self._kept, chunk)
            self._path = f"{self._own}/{self._kept}"

    @property
    def path(self) -> str:
        """Where another process finds the input."""
        return self._path

    def open(self) -> int:
        """A descriptor at the beginning of the input."""
        return os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Give the memory back."""
        if self._kept is not None:
            os.close(self._kept)


@contextlib.contextmanager
def addresses_not_random() -> Iterator[None]:
    """Programs started in here find their memory at the same addresses each time."""
    before = _libc.personality(0xFFFFFFFF)
    if before >= 0:
        _libc.personality(before | _ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        if before >= 0:
            _libc.personality(before)


def environment_for(segment: Segment, preload: str, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of the tested program.

    Parameters:
        segment: what it takes part in.
        preload: what it preloads, with colons in between.
        base: the environment that it would have had.
    """
    found = dict(base)
    others = found.get("LD_PRELOAD", "")
    found["LD_PRELOAD"] = f"{preload}:{others}" if others else preload
    found["BOHRBUG_SEGMENT"] = segment.path
    # Address sanitizer wants to be the first library, for no reason that concerns us.
    options = found.get("ASAN_OPTIONS", "")
    found["ASAN_OPTIONS"] = f"{options}:verify_asan_link_order=0".lstrip(":")
    return found


class Launcher:
    """Starts one program again and again.

    Parameters:
        command: the program and its arguments.
        environment: without what control needs.
        preload: the libraries to preload, with colons in between.
        hang_seconds: seconds of real time without a step after which it hangs; 0 for never.
        interrupted: whether the user wants to stop.
        input: what every execution reads; closed by whoever made it.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        preload: str,
        hang_seconds: float,
        interrupted: Callable[[], bool],
        input: Input,
    ) -> None:
        self._command = list(command)
        self._environment = dict(environment)
        self._preload = preload
        self._hang_seconds = hang_seconds
        self._interrupted = interrupted
        self.stdout = Capture("bohrbug-stdout")
        self.stderr = Capture("bohrbug-stderr")
        self._input = input
        self.server: Server | None = None
        # What the server was told to execute, and nobody has asked yet what came of it.
        self._ordered: Sequence[Segment] = ()
        self.waited = 0.0
        """Seconds for which the last order was waited for."""
        self._cpus = os.sched_getaffinity(0)
        self._shares_processor = False

    def close(self) -> None:
        """Give everything back."""
        self.end_server()
        self.stdout.close()
        self.stderr.close()

    def leave(self) -> None:
        """In a forked process: what this launcher has started belongs to the other one."""
        if self.server is not None:
            self.server.leave()
            self.server = None
        self.close()

    @property
    def printed(self) -> Printed:
        """What the last execution printed."""
        return Printed(self.stdout.read(), self.stderr.read())

    def run(self, segment: Segment) -> Ended:
        """Execute the plan in a segment, in a program that is started for it."""
        self._clear()
        pid = self._spawn(segment, self._environment)
        try:
            descriptor = os.pidfd_open(pid)
            try:
                poller = select.poll()
                poller.register(descriptor, select.POLLIN)
                stop = self._until_ended(poller, [segment])
            finally:
                os.close(descriptor)
            if stop is not None:
                kill_all(pid, segment)
            _, status = os.waitpid(pid, 0)
            return self._ended(status, stop)
        finally:
            kill_all(pid, segment)

    def _clear(self) -> None:
        self.stdout.clear()
        self.stderr.clear()

    def _ended(self, status: int, stop: str | None) -> Ended:
        code = os.waitstatus_to_exitcode(status)
        hung = stop in ("hung", "stopped")
        seconds = self._hang_seconds
        return Ended(code, hung, stop == "interrupted", seconds, stop == "stopped")

    def _spawn(
        self, segment: Segment, base: Mapping[str, str], more: Sequence[tuple[int, int]] = ()
    ) -> int:
        """Start the program; ``more`` are further descriptors, each with its number there."""
        stdin = self._input.open()
        descriptors = [(stdin, 0), (self.stdout.writer, 1), (self.stderr.writer, 2), *more]
        try:
            with addresses_not_random():
                return os.posix_spawn(
                    self._command[0],
                    self._command,
                    environment_for(segment, self._preload, base),
                    file_actions=[(os.POSIX_SPAWN_DUP2, old, new) for old, new in descriptors],
                    # A session of its own: some servers end by kill(0, SIGTERM).
                    setsid=True,
                    setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ],
                )
        except OSError as error:
            raise UnsupportedError(
                f"{self._command[0]} can't be started: {error.strerror}"
            ) from None
        finally:
            os.close(stdin)

    # -- programs that wait before main ----------------------------------------------------

    def serve(
        self,
        segment: Segment,
        engine: Engine,
        stacks: Sequence[int] = (),
        is_safe: bool = False,
    ) -> bool:
        """Start the program once and let it wait before its main function; whether it can.

        Parameters:
            segment: what it takes part in.
            engine: what it does for each execution.
            stacks: of the threads that it is expected to start in each, see
                :attr:`~bohrbug.runtime.posix.engines.Choice.stacks`.
            is_safe: its forks are to leave nothing behind.
        """

        def spawn(more: dict[str, str], descriptors: list[tuple[int, int]]) -> int:
            return self._spawn(segment, {**self._environment, **more}, descriptors)

        self.end_server()
        early = "LD_BIND_NOW" in self._environment
        self.server = Server(engine, spawn, self._input.path, early, stacks, is_safe)
        if not self.server.is_ready:
            self.end_server()
        return self.server is not None

    def _share_processor(self, wanted: bool) -> None:
        """Whether this process stays on the processor of the one that is restored.

        Where the one waits for the other, one processor need not be woken for each execution, which
        costs more than many an execution.
        """
        server = self.server
        if wanted and server is not None and server.pid is not None and not self._shares_processor:
            self._cpus = os.sched_getaffinity(0)
            os.sched_setaffinity(0, os.sched_getaffinity(server.pid))
        if not wanted and self._shares_processor:
            os.sched_setaffinity(0, self._cpus)
        self._shares_processor = wanted

    def serves(self, engine: Engine, is_safe: bool = False) -> bool:
        """Whether a program waits for orders by that engine; ``is_safe`` as of :meth:`serve`."""
        server = self.server
        return server is not None and server.engine is engine and server.is_safe >= is_safe

    def run_served(self, segments: Sequence[Segment]) -> list[tuple[Ended, Printed]]:
        """Execute plans in the waiting program.

        Parameters:
            segments: what they are in; one if its forks may leave something behind.

        Returns:
            What :meth:`collect` does.
        """
        self.order(segments, is_awaited=True)
        return self.collect()

    def order(self, segments: Sequence[Segment], *, is_awaited: bool) -> None:
        """Let the waiting program execute plans; :meth:`collect` has to follow.

        Parameters:
            segments: what they are in; one if its forks may leave something behind.
            is_awaited: there is nothing else to do until it has.
        """
        server = self.server
        assert server is not None
        assert not self._ordered
        self._clear()
        if server.engine is Engine.SNAPSHOT:
            self._share_processor(is_awaited)
        self._ordered = segments
        server.order([segment.start for segment in segments])

    @property
    def has_orders(self) -> bool:
        """Whether the waiting program was ordered to do something, and nobody waits for it yet."""
        return bool(self._ordered)

    def collect(self, behind: Sequence[Segment] = ()) -> list[tuple[Ended, Printed]]:
        """Wait for what was ordered.

        Parameters:
            behind: what to order at once if all went as usual, see :attr:`has_orders`; before
                anything is done with what was made, so that the waiting program need not wait.

        Returns:
            How the first of the executions ended, as many as were made; none if not even the first
            is an execution.  The server may be gone then, and may be gone after one in which it
            died.
        """
        segments, server = self._ordered, self.server
        self._ordered = ()
        assert server is not None
        began = time.perf_counter()
        # Mostly it is there at once: the two share a processor, or there was something to do.
        pid, status = server.answer()
        stop = None if pid else self._until_ended(server.poller, segments)
        if stop is not None:
            self._kill_served(server, _unfinished(segments) or segments[-1])
            server.poller.poll()
        self.waited = time.perf_counter() - began
        if not pid:
            pid, status = server.answer()
        is_usual = all(each.header.over == layout.PRINTED_KEPT for each in segments)
        if behind and pid and stop is None and is_usual:
            self._ordered = behind
            server.order([segment.start for segment in behind])
        if server.engine is Engine.FORK_SERVER:
            return self._forked(server, segments, pid, self._ended(status, stop))
        made = [self._over(each) for each in segments if each.header.over]
        server.executions += len(made)
        if pid:
            return made
        left = _unfinished(segments)
        if left is not None and left.header.started:
            died = self._death_of(server, left, stop)
            # What had to be stopped is executed again when its turn comes.
            if died is not None and (stop is None or not made):
                made.append((died, self.printed))
                server.executions += 1
        self.end_server()
        return made

    def _forked(
        self, server: Server, segments: Sequence[Segment], pid: int, last: Ended
    ) -> list[tuple[Ended, Printed]]:
        """What forks have done; for the last one the server has answered, if it is still there."""
        made = [self._over(s) for s in segments if s.header.over == layout.PRINTED_KEPT]
        is_made = False
        if pid and len(made) < len(segments):
            segment = segments[len(made)]
            if not server.is_safe:
                kill_all(pid, segment)
            was_stopped = last.hung or last.interrupted
            is_none = server.is_safe and _is_none(segment, -last.code)
            # Nor is it one if there was no order any more.
            is_none = is_none or not (segment.header.started or was_stopped)
            # What had to be stopped is executed again when its turn comes.
            is_made = not is_none and not (made and was_stopped)
        if is_made:
            made.append((last, self.printed))
        elif not made or not pid:
            self.end_server()
        server.executions += len(made)
        return made

    def _over(self, segment: Segment) -> tuple[Ended, Printed]:
        """What an execution has done that was not the last of its order, or that was undone."""
        header = segment.header
        kept = header.over == layout.PRINTED_KEPT
        return Ended(header.status), Printed(*segment.read_printed()) if kept else self.printed

    def _death_of(self, server: Server, segment: Segment, stop: str | None) -> Ended | None:
        """How the process ended that was to be restored, if it is the program that ended it."""
        status = server.wait()
        if not os.WIFSIGNALED(status) or _is_none(segment, os.WTERMSIG(status)):
            return None
        return self._ended(status, stop)

    def _kill_served(self, server: Server, segment: Segment) -> None:
        if segment.header.processes:
            pid = segment.processes[0].pid
            kill_all(pid, segment)
            # It may have no session of its own yet.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        else:
            # It never got as far as to say who it is.
            server.kill()

    def end_server(self) -> None:
        """Let the waiting program go."""
        if self.server is not None:
            self._share_processor(False)
            self.server.close()
            self.server = None

    def _until_ended(self, poller: select.poll, segments: Sequence[Segment]) -> str | None:
        """Wait until there is something to read; else why it has to be killed."""
        segment = segments[0]
        standstill = Standstill(segment)
        while not poller.poll(LOOK_SECONDS * 1000):
            if self._interrupted():
                return "interrupted"
            now = _unfinished(segments) or segment
            if now is not segment:
                segment, standstill = now, Standstill(now)
            standstill.look()
            if standstill.is_stopped:
                return "stopped"
            if self._hang_seconds and standstill.seconds > self._hang_seconds:
                return "hung"
            if standstill.is_too_long:
                nudge(segment)
        return None


def _is_none(segment: Segment, number: int) -> bool:
    """Whether an execution is none, of a process that may not make all system calls.

    Parameters:
        segment: of the execution.
        number: of the signal that the process died of; not positive if it did not.
    """
    # A system call that was refused, or one that nobody could look at.
    is_refused = number == signal.SIGSYS and segment.header.ending == layout.UNFINISHED
    return bool(segment.header.given_up) or is_refused


def _unfinished(segments: Sequence[Segment]) -> Segment | None:
    """The first one whose execution is not over."""
    return next((segment for segment in segments if not segment.header.over), None)


def kill_all(pid: int, segment: Segment) -> None:
    """End whatever is left of an execution."""
    if segment.header.processes > 1:
        pids = [process.pid for process in segment.processes if process.state == layout.ALIVE]
        for other in pids:
            if other > 0 and other != pid:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(other, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def supported_here() -> bool:
    """Whether this system has what starting programs under control needs."""
    return sys.platform.startswith("linux") and hasattr(os, "pidfd_open")
