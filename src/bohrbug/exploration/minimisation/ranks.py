"""How well orderings serve an explanation: which one to tell of two that are equally true."""

from __future__ import annotations

from collections.abc import Iterator

from bohrbug.model.asyncio_runs import AsyncioRuns
from bohrbug.model.history import History, events_of
from bohrbug.model.operation import (
    BEGIN,
    CALLBACK,
    CANCELLED,
    END,
    EXTERNAL,
    JOIN,
    RELEASE,
    RESUME,
    SPAWN,
    Site,
    TaskId,
)
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.trace import Trace
from bohrbug.model.trio_runs import TrioRuns

MOST_TIMEOUTS = 10
"""Timeouts of asyncio that may be told as what ended a wait: the last ones."""

LIFE = frozenset({SPAWN, BEGIN, END, JOIN})
"""Operations by which tasks begin and end: they say little of what these do."""

Rank = tuple[int, int, int, int]
"""How well a pair serves an explanation, the smallest best."""


class LoopEvents:
    """The event loops of the failing execution: what is their own business, and which timeouts.

    Parameters:
        trace: the execution.
    """

    def __init__(self, trace: Trace) -> None:
        self._asyncio = AsyncioRuns(trace.task_infos, trace.resources)
        self._trio = TrioRuns(trace)
        events = [event for event in events_of(trace) if event is not None]
        timeouts = [e for e in events if e.kind is CALLBACK and self._is_timeout(e)]
        self.timeouts = timeouts[-MOST_TIMEOUTS:]
        """Timers of asyncio that the program had set, but for sleeps, as they were over."""
        self._threads = set(self._threads_of(events))

    def _threads_of(self, events: list[Event]) -> Iterator[TaskId]:
        """The threads in which loops of asyncio run: they never begin there, and start tasks."""
        events = [event for event in events if self._asyncio.is_loop(event.resource)]
        begun = {(e.task, e.resource) for e in events if e.kind in (BEGIN, CALLBACK)}
        creators = {task.rpartition(".")[0] for task, _ in begun}
        for event in events:
            resumed = event.kind is RESUME and (event.task, event.resource) not in begun
            if resumed and event.task in creators:
                yield event.task

    def hidden(self, ordering: Ordering) -> int:
        """How many events of an ordering say nothing of the program.

        These are what loops do for themselves, and cancellations where a timeout has fired: that is
        how it ends a wait.
        """
        return self._is_hidden(ordering.first) + self._is_hidden(ordering.second)

    def _is_hidden(self, event: Event) -> bool:
        if event.kind is CANCELLED and self.timeouts:
            return True
        if event.kind in (RESUME, EXTERNAL) and event.task in self._threads:
            return True
        what = (event.task, event.kind, event.resource, _site_of(event))
        return self._trio.is_own(*what) or self._asyncio.is_own(*what)

    def _is_timeout(self, event: Event) -> bool:
        what = (event.task, event.kind, event.resource, _site_of(event))
        return self._asyncio.is_timeout(*what)


def _site_of(event: Event) -> Site | None:
    return event.where if isinstance(event.where, Site) else None


def rank_of(ordering: Ordering, history: History, length: int, hidden: int = 0) -> Rank:
    """How well an ordering serves an explanation.

    Life and death of tasks say least, data says most, the release of a lock says less than
    its acquire; of two pairs the one whose operations are nearer to each other.

    Parameters:
        ordering: the pair.
        history: of the failing execution.
        length: its number of steps.
        hidden: how many of its events say nothing of the program, which serves even less.
    """
    kinds = (ordering.first.kind, ordering.second.kind)
    first = history.step_of(ordering.first)
    second = history.step_of(ordering.second)
    here = length if second is None else second
    distance = here - (length if first is None else first)
    return (
        sum(kind in LIFE for kind in kinds) + 3 * hidden,
        sum(kind is RELEASE for kind in kinds),
        sum(not kind.is_data for kind in kinds),
        distance,
    )
