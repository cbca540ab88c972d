"""Time that passes while tasks only look at it now and then, and nobody comes any further.

A monitor that looks twice a second whether it is to stop goes on doing so beside any deadlock, and
so does an event loop with a heartbeat.  As long as timeouts fire, somebody can go on; but once all
that happens is that they fire, those who wait without one wait for ever.

Two findings end such an execution.  Either the tasks that go on come back to where they were, with
nothing changed that they look at, and without asking for the time: then nothing will ever change.
Or that is not so, as they count, say, but it has gone on for so long that nobody would wait for it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from bohrbug.model.operation import TaskId
from bohrbug.runtime.threads.loops.coroutines import frames_of_coroutine
from bohrbug.runtime.threads.task import Task
from bohrbug.runtime.threads.within_reach import Contents, frames_around, within_reach

if TYPE_CHECKING:
    from bohrbug.model.outcome import Outcome
    from bohrbug.runtime.threads.execution import Execution

JUMPS_PER_LOOK = 100
"""How often virtual time jumps from one look at the tasks to the next, when none is enabled."""

QUIET_LOOKS = 2
"""Looks in a row that find all as it was at the one before, after which nothing ever changes."""

LONG_LOOKS = 10
"""Looks in a row that find the same tasks waiting, before it matters for how long they have."""

LONG_SECONDS = 3600.0
"""Seconds of virtual time for which nobody would wait."""


class _Look(NamedTuple):
    """What is found at one look.

    Parameters:
        step: the number of the step that comes next.
        moment: of virtual time, in seconds.
        tasks: those that have not ended, threads and those of event loops, by id.
        timers: of event loops, which are still to come.
        contents: what those who ran since the last look could look at; ``None`` if that can't be
            told.
    """

    step: int
    moment: float
    tasks: dict[TaskId, Task]
    timers: frozenset[tuple[float, int]]
    contents: dict[TaskId, Contents | None]


class Idling:
    """What the looks at the tasks of one execution have found.

    Parameters:
        execution: the execution.
    """

    __slots__ = ("_before", "_execution", "_looks", "_pollers", "_quiet", "_since")

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._before: _Look | None = None
        # Of the looks in a row that found the same tasks going on: which these are, how many
        # looks, since when, and how many of the last ones found that nothing had changed.
        self._pollers: frozenset[TaskId] = frozenset()
        self._looks = 0
        self._since = 0.0
        self._quiet = 0

    def forget(self) -> None:
        """What was found is out of date."""
        self._before = None
        self._looks = self._quiet = 0

    def outcome(self) -> Outcome | None:
        """Virtual time is about to jump; the outcome, if nobody will ever come any further.

        To be asked once in :data:`JUMPS_PER_LOOK` jumps.
        """
        self._look()
        if self._quiet < QUIET_LOOKS:
            seconds = self._execution.clock.now - self._since
            if self._looks < LONG_LOOKS or seconds < LONG_SECONDS:
                return None
        found = self.explain()
        if found is None:
            # Asked again only after as long a time.
            self.forget()
        return found

    def outcome_at_limit(self) -> Outcome | None:
        """The step limit is reached; the outcome, if it was while some wait for ever."""
        return self.explain() if self._looks >= LONG_LOOKS else None

    def explain(self) -> Outcome | None:
        """The outcome, if those who go on are all that ever will, as the last look found them."""
        is_certain = self._quiet >= QUIET_LOOKS
        return self._execution.ending.explain_idling(self._pollers, is_certain)

    def _look(self) -> None:
        before = self._before
        ran = {row[1] for row in self._execution.rows[before.step if before else 0 :]}
        self._before = now = self._found(ran)
        if before is None:
            return
        there = before.tasks.keys() & now.tasks.keys()
        pollers = frozenset(there & ran)
        if before.timers & now.timers or any(
            now.tasks[id].deadline is not None for id in there - pollers
        ):
            # The time of some is still to come.
            self._looks = self._quiet = 0
            return
        if pollers != self._pollers or not self._looks:
            self._pollers = pollers
            self._looks = self._quiet = 0
            self._since = before.moment
        self._looks += 1
        is_quiet = self._only_looked_since(before, ran - there) and all(
            now.contents.get(id) is not None and before.contents.get(id) == now.contents[id]
            for id in pollers
        )
        self._quiet = self._quiet + 1 if is_quiet else 0

    def _found(self, ran: set[TaskId]) -> _Look:
        """What is found now.

        Parameters:
            ran: the tasks that have run since the last look.
        """
        execution = self._execution
        tasks = {task.id: task for task in execution.alive}
        loops = execution.loops
        coroutines = [] if loops is None else loops.coroutines()
        tasks.update({task.id: task for _, task in coroutines})
        contents: dict[TaskId, Contents | None] = {}
        if not ran.issuperset(tasks):
            # Somebody waits, perhaps for ever.
            contents = {
                task.id: _contents_of_thread(task, execution)
                for task in execution.alive
                if task.id in ran
            }
            # All that the thread of a loop does is to run that.
            contents.update({task.host.id: () for _, task in coroutines if task.host is not None})
            for coroutine, task in coroutines:
                if task.id in ran:
                    frames = frames_of_coroutine(coroutine)
                    contents[task.id] = within_reach(reversed(frames))
        timers = frozenset[tuple[float, int]]() if loops is None else loops.timers()
        return _Look(execution.steps, execution.clock.now, tasks, timers, contents)

    def _only_looked_since(self, look: _Look, others: set[TaskId]) -> bool:
        """Whether, since then, nothing was done but to look at what only others change.

        Parameters:
            look: made then.
            others: tasks that have run and are no longer there.
        """
        execution = self._execution
        if execution.clock.read_since(look.moment):
            return False
        # A callback of the program may count, or do anything else that is not seen.
        loops = execution.loops
        return loops is None or not any(
            task.id in others and loops.is_of_program(task) for task in execution.loop_tasks
        )


def _contents_of_thread(task: Task, execution: Execution) -> Contents | None:
    if task is execution.current:
        return within_reach(frames_around(sys._getframe()))
    return within_reach(frames_around(None if task.greenlet is None else task.greenlet.gr_frame))
