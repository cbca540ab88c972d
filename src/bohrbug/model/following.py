"""Which recorded step an operation of another version of the program is."""

from __future__ import annotations

from collections.abc import Iterator

from bohrbug.model.operation import CHOOSE, ROOT, Operation, Site, TaskId
from bohrbug.model.plan import Aligned, Mark
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace


class Follower:
    """Goes through the marks of a policy as an execution goes on.

    Each task of the execution stands for at most one recorded task, and goes through the marks
    of that one in order.

    Parameters:
        policy: the marks.
    """

    def __init__(self, policy: Aligned) -> None:
        self._window = policy.window
        self._started_at = dict(policy.tasks)
        self._recorded: dict[TaskId, TaskId] = {ROOT: ROOT}
        self._met: set[TaskId] = {ROOT}
        self._marks: dict[TaskId, list[tuple[int, Mark]]] = {}
        self._position: dict[TaskId, int] = {}
        for index, mark in enumerate(policy.marks):
            self._marks.setdefault(mark.task, []).append((index, mark))
        # By task: the operation that was looked for last, and what was found.
        self._looked_up: dict[TaskId, tuple[Operation, int | None]] = {}

    def has_met(self, task: TaskId) -> bool:
        """Whether it was told of a task."""
        return task in self._met

    def meet(self, task: TaskId, started_at: Site | None) -> None:
        """Tell that a task exists, before anything else about it; in the order of their creation.

        It stands for the first recorded task that nobody stands for yet, that was started by
        the same task, and at the same place; or at one that is gone.

        Parameters:
            task: its id.
            started_at: where it was started.
        """
        if task in self._met:
            return
        self._met.add(task)
        parent = self._recorded.get(task.rpartition(".")[0])
        if parent is None:
            return
        taken = set(self._recorded.values())
        free = [
            other
            for other in self._started_at
            if other not in taken and other.rpartition(".")[0] == parent
        ]
        for same in (True, False):
            for other in free:
                place = self._started_at[other]
                if _is_at(started_at, place) if same else place is None:
                    self._recorded[task] = other
                    return

    def recorded(self, task: TaskId) -> TaskId | None:
        """The recorded task that a task stands for."""
        return self._recorded.get(task)

    def mark_of(self, task: TaskId, operation: Operation) -> int | None:
        """The index of the mark that a pending operation is, or ``None`` if it was put in."""
        known = self._looked_up.get(task)
        # What was executed is forgotten, so that an equal one is the same.
        if known is not None and known[0] == operation:
            return known[1]
        place = self._place_of(task, operation)
        index = None if place is None else self._left(task)[place][0]
        self._looked_up[task] = (operation, index)
        return index

    def next_mark(self, task: TaskId) -> int | None:
        """The index of the first mark that a task has not come to yet; ``None`` if it has none."""
        for index, _ in self._left(task)[:1]:
            return index
        return None

    def fires(self, index: int, task: TaskId) -> bool:
        """Whether the timeout of a marked operation fired."""
        return any(mark.fired for at, mark in self._left(task)[: self._window] if at == index)

    def executed(self, task: TaskId, operation: Operation) -> int | None:
        """Tell that an operation is done; the index of its mark, or ``None``."""
        place = self._place_of(task, operation)
        self._looked_up.pop(task, None)
        if place is None:
            return None
        index = self._left(task)[place][0]
        recorded = self._recorded[task]
        self._position[recorded] = self._position.get(recorded, 0) + place + 1
        return index

    def _left(self, task: TaskId) -> list[tuple[int, Mark]]:
        recorded = self._recorded.get(task)
        if recorded is None:
            return []
        position = self._position.get(recorded, 0)
        return self._marks.get(recorded, [])[position : position + self._window]

    def _place_of(self, task: TaskId, operation: Operation) -> int | None:
        """How many marks of a task come before the one that its operation is."""
        kind = operation.kind.name
        site: Site | None = None
        for place, (_, mark) in enumerate(self._left(task)):
            if mark.kind != kind:
                continue
            if mark.site is None:
                return place
            if site is None:
                site = site_of(operation.place)
            if _is_at(site, mark.site):
                return place
        return None


def _is_at(site: Site | None, wanted: Site | None) -> bool:
    if site is None or wanted is None:
        return site is wanted
    return site.line == wanted.line and site.filename == wanted.filename


def beginnings(trace: Trace) -> dict[TaskId, Site | None]:
    """For each task of an execution, after the one that started it, what tells it from others.

    Those that one task has started are in the order of their creation. What tells one is where it
    was about to do something for the first time: a thread where it was started, a task of an event
    loop in its coroutine.
    """
    found = {info.id: info.spawned for info in trace.task_infos.values()}
    known = set()
    steps = zip(trace.tasks, trace.operations, strict=True)
    for task, operation in (*steps, *trace.final_pending.items()):
        if task not in known:
            known.add(task)
            found[task] = site_of(operation.place)
    return {task: found[task] for task in sorted(found, key=_ancestry)}


def _ancestry(task: TaskId) -> list[int]:
    return [int(number) for number in task.split(".")]


def followed(policy: Aligned, trace: Trace) -> Iterator[int | None]:
    """For each step of an execution the index of the mark that it is; ``None`` if it is none.

    Parameters:
        policy: what the execution was to follow.
        trace: the execution.
    """
    follower = Follower(policy)
    for task, place in beginnings(trace).items():
        follower.meet(task, place)
    for task, operation in zip(trace.tasks, trace.operations, strict=True):
        if operation.kind is CHOOSE:
            yield None
        else:
            yield follower.executed(task, operation)


def tasks_followed(policy: Aligned, trace: Trace) -> dict[TaskId, TaskId]:
    """Which recorded task each task of an execution stands for."""
    follower = Follower(policy)
    for task, place in beginnings(trace).items():
        follower.meet(task, place)
    found = {}
    for task in {**dict.fromkeys(trace.task_infos), **dict.fromkeys(trace.tasks)}:
        recorded = follower.recorded(task)
        if recorded is not None:
            found[task] = recorded
    return found
