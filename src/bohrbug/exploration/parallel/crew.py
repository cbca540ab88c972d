"""The first process: hands out pieces of the work, and gathers what workers find."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from bohrbug.exploration.figures import Figures, Signature
from bohrbug.exploration.learning import Learner
from bohrbug.exploration.parallel.messages import (
    Channel,
    End,
    FoundFailure,
    FoundLockOrder,
    FoundRace,
    GaveBack,
    Hung,
    Learned,
    Piece,
    readable,
)
from bohrbug.exploration.parallel.shared import SharedNumbers
from bohrbug.exploration.parallel.worker import Task, Worker, live_as_worker
from bohrbug.model.plan import Plan
from bohrbug.search.divisible import Divisible

IN_SEQUENCE = 32
"""Plans of one sequence that a worker takes at a time, if those after a failure are not wanted."""

MOST_IN_SEQUENCE = 256
"""The same if all are wanted: each piece costs the first process as much as an execution."""

LOOK_EVERY = 0.1
"""Seconds between two looks at the budget and at what the user wants."""

AT_ONCE = 0.2
"""Seconds that a worker has to end its execution in its own time."""

GRACE = 2.0
"""Seconds that a worker has to end its execution, and then again to end it at any price."""

MOST_DEATHS = 20
"""Workers that may end by themselves, one after the other, before any of them is heard of."""

_now = time.perf_counter
_close, _fork, _getpid, _kill = os.close, os.fork, os.getpid, os.kill
_pipe, _sleep, _waitpid = os.pipe, time.sleep, os.waitpid


class Chief(Protocol):
    """What a crew needs of the explorer: the one place where findings are kept."""

    @property
    def has_ended(self) -> bool:
        """Whether the budget is spent, enough was found, or the user wants it to end."""
        ...

    @property
    def executions_left(self) -> int:
        """The rest of the budget."""
        ...

    @property
    def stops_at_first_failure(self) -> bool:
        """Whether one confirmed failure is enough."""
        ...

    @property
    def has_to_restart(self) -> bool:
        """Whether what was found changes what every execution does from now on."""
        ...

    def confirms(self, plan: Plan, signature: Signature) -> bool:
        """Whether a failure that a worker found shows here, too."""
        ...

    def take_failure(self, plan: Plan, signature: Signature, is_counted: bool) -> None:
        """Confirm a failure that a worker found, reduce it and add it to the findings.

        Parameters:
            plan: with which it was found.
            signature: of its outcome.
            is_counted: the figures of the worker's piece, which are still to come, count it.
        """
        ...

    def learn_from(self, plan: Plan) -> None:
        """Execute a plan and watch for what is new; the search begins again if there is reason."""
        ...

    def take_race(self, plan: Plan) -> None:
        """Look at a data race that a worker found, and that its figures count."""
        ...

    def take_lock_order(self, plan: Plan, spare: int) -> None:
        """Look at an order of locks that a worker has seen.

        Parameters:
            plan: of its execution.
            spare: the part of the budget that is not with workers.
        """
        ...

    def take_figures(self, figures: Figures) -> None:
        """Add up the figures of a piece."""
        ...

    def note_hang(self, message: str) -> None:
        """An execution hung in a worker."""
        ...

    def note_death(self, message: str) -> None:
        """Workers died, and a part of the search was given up."""
        ...

    def tell_progress(self, executions: int) -> None:
        """Called several times a second with the executions not yet in figures."""
        ...

    def save(self, pieces: list[Piece]) -> None:
        """Called several times a second: keep the state of the exploration, if it is time.

        Parameters:
            pieces: the work that is with workers or waits for one.
        """
        ...


@dataclass(slots=True)
class _Hired:
    """What the first process knows of a worker.

    Parameters:
        number: from 0.
        process: its id.
        channel: to it.
        piece: what it has.
        since: when it got that.
        asked: when it was asked to give that back, if it was.
    """

    number: int
    process: int
    channel: Channel
    piece: Piece | None = None
    since: float = 0.0
    asked: float | None = None


class Crew:
    """Worker processes that explore together until nothing is left or something ends it.

    Parameters:
        size: how many workers.
        chief: keeps the findings.
        learner: of the test, with all that is known of it.
        strategy: knows the whole of the work.
        task: what every worker is to know; its number is filled in.
        settle: called in each worker first, such as to give it an own place for its output.
    """

    def __init__(
        self,
        size: int,
        chief: Chief,
        learner: Learner,
        strategy: Divisible,
        task: Task,
        settle: Callable[[int], object] | None = None,
    ) -> None:
        self._size = size
        self._chief = chief
        self._learner = learner
        self._strategy = strategy
        self._task = task
        self._settle = settle
        self._shared = SharedNumbers(size)
        self._hired: list[_Hired] = []
        self._waiting: deque[Piece] = deque()
        self._lesson: Plan | None = None
        self._first: FoundFailure | None = None
        self._looked = 0.0
        # How many workers ended by themselves since one of them was last heard of.
        self._deaths = 0

    # -- the whole -----------------------------------------------------------------

    def work(self) -> None:
        """Let workers explore, until nothing is left, or enough was found, or all changes.

        When it returns, the workers have ended and the strategy knows all that is left.
        """
        self._strategy.begin_sharing()
        try:
            for number in range(self._size):
                self._hire(number)
            while not self._is_over():
                self._assign()
                if not self._waiting and not any(hired.piece for hired in self._hired):
                    break
                self._listen(LOOK_EVERY)
                self._look_up()
            self._stop()
        finally:
            self._dismiss()
            self._take_back()
        if self._first is not None:
            # The figures came when it was not among the findings yet.
            self._chief.take_failure(self._first.plan, self._first.signature, is_counted=False)
        if self._lesson is not None and not self._chief.has_ended:
            self._chief.learn_from(self._lesson)

    def _is_over(self) -> bool:
        chief = self._chief
        return self._lesson is not None or chief.has_to_restart or chief.has_ended

    def _look_up(self) -> None:
        """Several times a second: progress, and the state to keep."""
        now = _now()
        if now - self._looked > LOOK_EVERY:
            self._looked = now
            self._chief.tell_progress(self._shared.executions())
            self._chief.save(self._pieces())

    def _pieces(self) -> list[Piece]:
        held = [hired.piece for hired in self._hired if hired.piece is not None]
        return [*held, *self._waiting]

    # -- work ----------------------------------------------------------------------

    def _assign(self) -> None:
        """Give whoever has nothing to do a piece; or let others give theirs back to be cut."""
        idle = [hired for hired in self._hired if hired.piece is None]
        while idle:
            piece = self._waiting.popleft() if self._waiting else self._next_piece(len(idle))
            if piece is None:
                break
            hired = idle.pop(0)
            hired.piece, hired.since, hired.asked = piece, _now(), None
            self._shared.ask(hired.number, False)
            self._send(hired, piece)
        if idle:
            self._ask(len(idle))

    def _ask(self, wanted: int) -> None:
        """Let so many workers give back what they have, those first who have had it longest."""
        now = _now()
        busy = [hired for hired in self._hired if hired.piece is not None]
        # One that does not answer has not enough for two.
        wanted -= sum(hired.asked is not None and now - hired.asked < LOOK_EVERY for hired in busy)
        others = sorted((each for each in busy if each.asked is None), key=lambda each: each.since)
        for hired in others[: max(wanted, 0)]:
            hired.asked = now
            self._shared.ask(hired.number, True)

    def _next_piece(self, wanted: int) -> Piece | None:
        strategy = self._strategy
        position = strategy.position()
        if position is not None and position >= self._shared.limit:
            # What is left of the sequence comes after a failure.
            return None
        most = self._spare()
        if most < 1:
            return None
        # Some of the budget stays here, so that those who end early get more.
        most = max(most // (2 * self._size), 1)
        if position is not None:
            # In order, or a failure late in the sequence is found before an early one.
            stops = self._chief.stops_at_first_failure
            most = min(most, IN_SEQUENCE if stops else MOST_IN_SEQUENCE)
        state = strategy.take_piece(most, wanted)
        if state is None and not self._pieces():
            # All has come back: this may be the time for the next bound, or the next strategy.
            if strategy.next_plan() is None:
                return None
            state = strategy.take_piece(most, wanted)
        return None if state is None else Piece(state, most)

    def _spare(self) -> int:
        """How much of the budget is not with workers."""
        return self._chief.executions_left - sum(piece.most for piece in self._pieces())

    def _send(self, hired: _Hired, message: Piece | End) -> None:
        # A worker that is gone is noticed by what it does not say any more.
        with suppress(BrokenPipeError):
            hired.channel.send(message)

    def _listen(self, seconds: float) -> None:
        """Wait for messages, at most so long, and deal with them."""
        ready = readable((hired.channel for hired in self._hired), seconds)
        for hired in list(self._hired):
            if hired.channel.incoming not in ready:
                continue
            try:
                messages = hired.channel.received()
            except EOFError:
                self._bury(hired)
                continue
            for message in messages:
                self._hear(hired, message)

    def _hear(self, hired: _Hired, message: object) -> None:
        chief = self._chief
        self._deaths = 0
        match message:
            case GaveBack(state, figures):
                hired.piece = None
                chief.take_figures(figures)
                self._shared.set_executions(hired.number, 0)
                self._strategy.merge(state)
                if not self._shared.stop:
                    self._assign()
            case FoundFailure(plan, signature, position):
                if position is None or not chief.stops_at_first_failure:
                    chief.take_failure(plan, signature, is_counted=True)
                elif position < self._shared.limit and chief.confirms(plan, signature):
                    # Those before it in the sequence are still executed, those after it not.
                    self._first = message
                    self._shared.limit = position
            case FoundRace(plan):
                chief.take_race(plan)
            case FoundLockOrder(plan):
                chief.take_lock_order(plan, self._spare())
            case Learned(plan, position):
                # What is learned behind a failure need not stop those before it.
                if position is None or position < self._shared.limit:
                    self._lesson = plan
            case Hung(text):
                chief.note_hang(text)

    # -- workers -------------------------------------------------------------------

    def _hire(self, number: int) -> None:
        """Fork a worker."""
        to_read, from_worker = _pipe()
        from_here, to_write = _pipe()
        parent = _getpid()
        with warnings.catch_warnings():
            # Other threads (of pytest-xdist, say) do not exist in the worker. It uses nothing
            # of theirs, and leaves without any clean-up.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = _fork()
        if process == 0:
            # Or the pipes would not end with the first process.
            for descriptor in (to_read, to_write):
                _close(descriptor)
            for hired in self._hired:
                hired.channel.close()
            live_as_worker(parent, lambda: self._be_worker(number, from_here, from_worker))
        _close(from_here)
        _close(from_worker)
        self._hired.append(_Hired(number, process, Channel(to_read, to_write)))

    def _be_worker(self, number: int, incoming: int, outgoing: int) -> None:
        if self._settle is not None:
            self._settle(number)
        channel = Channel(incoming, outgoing)
        task = replace(self._task, number=number)
        Worker(task, self._learner, self._strategy, channel, self._shared).run()

    def _bury(self, hired: _Hired) -> None:
        """A worker has ended by itself."""
        self._hired.remove(hired)
        hired.channel.close()
        self._shared.set_executions(hired.number, 0)
        code = os.waitstatus_to_exitcode(_waitpid(hired.process, 0)[1])
        piece = hired.piece
        if piece is None:
            if code and not self._shared.stop:
                self._chief.note_death(f"a worker process {_how(code)}")
            return
        self._strategy.lost_a_worker()
        piece.died += 1
        if piece.died < 2 or self._shared.stop:
            self._waiting.append(piece)
        else:
            self._chief.note_death(
                f"a part of the search was given up: two worker processes, one after the other, "
                f"{_how(code)} in it"
            )
        self._deaths += 1
        if self._deaths == MOST_DEATHS:
            self._chief.note_hang(
                "worker processes end again and again before they have done anything: the last "
                f"one {_how(code)}; explore with one process (-j 1) to see what ends it"
            )
        elif not self._shared.stop:
            self._hire(hired.number)

    def _stop(self) -> None:
        """Let all workers end their executions, and take back what they have."""
        self._shared.stop = True
        self._listen_until(AT_ONCE)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for hired in self._hired:
                if hired.piece is not None:
                    _kill(hired.process, number)
            self._listen_until(GRACE)

    def _listen_until(self, seconds: float) -> None:
        """Hear what workers say until none of them is at work; at most so long."""
        end = _now() + seconds
        while any(hired.piece for hired in self._hired) and _now() < end:
            self._listen(min(seconds, LOOK_EVERY))

    def _dismiss(self) -> None:
        """End all workers and wait until they are gone."""
        self._shared.stop = True
        for hired in self._hired:
            self._send(hired, End())
        end = _now() + GRACE
        for hired in self._hired:
            # The end of its pipe is the end of the worker, or of all that it will do.
            while not self._is_gone(hired):
                if _now() > end:
                    _kill(hired.process, signal.SIGKILL)
                    _waitpid(hired.process, 0)
                    break
                _sleep(0.001)
            hired.channel.close()

    def _is_gone(self, hired: _Hired) -> bool:
        return _waitpid(hired.process, os.WNOHANG)[0] != 0

    def _take_back(self) -> None:
        """What nobody has finished goes back to where all is known."""
        for piece in self._pieces():
            self._strategy.merge(piece.state)
        self._waiting.clear()
        self._hired.clear()


def _how(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"died of {signal.Signals(-code).name}"
    except ValueError:
        return f"died of signal {-code}"
