"""Executions by a program that waits before its main function, and is ordered to make them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from functools import partial

from bohrbug.runtime.posix import enumerations
from bohrbug.runtime.posix.ended import Ended, Printed
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.serving import HIGHEST_FD, Server
from bohrbug.runtime.posix.starting import Starter
from bohrbug.runtime.posix.watching import Stop, Watch, kill_all, unfinished_of


class Orders:
    """Orders a program that waits to execute plans, and waits until it has.

    Parameters:
        starter: starts the program.
        watch: watches over the executions.
    """

    def __init__(self, starter: Starter, watch: Watch) -> None:
        self._starter = starter
        self._watch = watch
        self.server: Server | None = None
        """The program, if one waits."""
        # What it had printed when it came to its main function.
        self._printed_before = Printed(b"", b"")
        # What it was told to execute, and nobody has asked yet what came of it.
        self._ordered: Sequence[Segment] = ()
        self.waited = 0.0
        """Seconds for which the last order was waited for."""
        self._cpus = os.sched_getaffinity(0)
        self._shares_processor = False

    def leave(self) -> None:
        """In a forked process: the program belongs to the other one."""
        if self.server is not None:
            self.server.leave()
            self.server = None

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
        starter = self._starter
        self.end_server()
        import resource  # not on Windows, where this module is loaded as well

        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= HIGHEST_FD:
            return False
        starter.clear()
        self.server = Server(
            engine,
            partial(starter.start, segment),
            starter.input_path,
            starter.looks_up_early,
            stacks,
            is_safe,
        )
        if not self.server.is_ready:
            self.end_server()
        self._printed_before = starter.printed
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

    def execute(self, segments: Sequence[Segment]) -> list[tuple[Ended, Printed]]:
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
        self._starter.clear()
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
        stop = None if pid else self._watch.until_ended(server.poller, segments)
        if stop is not None:
            self._kill_served(server, unfinished_of(segments) or segments[-1])
            server.poller.poll()
        self.waited = time.perf_counter() - began
        if not pid:
            pid, status = server.answer()
        is_usual = all(each.header.over == enumerations.PRINTED_KEPT for each in segments)
        if behind and pid and stop is None and is_usual:
            self._ordered = behind
            server.order([segment.start for segment in behind])
        if server.engine is Engine.FORK_SERVER:
            return self._forked(server, segments, pid, self._watch.ended(status, stop))
        made = [self._over(each) for each in segments if each.header.over]
        server.executions += len(made)
        if pid:
            return made
        left = unfinished_of(segments)
        if left is not None and left.header.started:
            died = self._death_of(server, left, stop)
            # What had to be stopped is executed again when its turn comes.
            if died is not None and (stop is None or not made):
                made.append((died, self._printed()))
                server.executions += 1
        self.end_server()
        return made

    def _forked(
        self, server: Server, segments: Sequence[Segment], pid: int, last: Ended
    ) -> list[tuple[Ended, Printed]]:
        """What forks have done; for the last one the server has answered, if it is still there."""
        made = [self._over(s) for s in segments if s.header.over == enumerations.PRINTED_KEPT]
        is_lost = not pid
        if pid and len(made) < len(segments):
            segment = segments[len(made)]
            if not server.is_safe:
                kill_all(pid, segment)
            was_stopped = last.hung or last.interrupted
            is_none = server.is_safe and _is_none(segment, -last.code)
            # Nor is it one if there was no order any more.
            is_none = is_none or not (segment.header.started or was_stopped)
            # What has not begun may have left its order to the next one.
            is_lost = not segment.header.started or (is_none and not made)
            # What had to be stopped is executed again when its turn comes.
            if not is_none and not (made and was_stopped):
                made.append((last, self._printed()))
        if is_lost:
            self.end_server()
        server.executions += len(made)
        return made

    def _over(self, segment: Segment) -> tuple[Ended, Printed]:
        """What an execution has done that ended as usual, or that was undone."""
        kept = segment if segment.header.over == enumerations.PRINTED_KEPT else None
        return Ended(segment.header.status), self._printed(kept)

    def _printed(self, kept: Segment | None = None) -> Printed:
        """All that an execution has printed, with what came before its main function.

        Parameters:
            kept: where the rest is, if it is not in the files any more.
        """
        before = self._printed_before
        after = self._starter.printed if kept is None else Printed(*kept.read_printed())
        return Printed(before.stdout + after.stdout, before.stderr + after.stderr)

    def _death_of(self, server: Server, segment: Segment, stop: Stop | None) -> Ended | None:
        """How the process ended that was to be restored, if it is the program that ended it."""
        status = server.wait()
        if not os.WIFSIGNALED(status) or _is_none(segment, os.WTERMSIG(status)):
            return None
        return self._watch.ended(status, stop)

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


def _is_none(segment: Segment, number: int) -> bool:
    """Whether an execution is none, of a process that may not make all system calls.

    Parameters:
        segment: of the execution.
        number: of the signal that the process died of; not positive if it did not.
    """
    # A system call that was refused, or one that nobody could look at.
    is_refused = number == signal.SIGSYS and segment.header.ending == enumerations.UNFINISHED
    return bool(segment.header.given_up) or is_refused
