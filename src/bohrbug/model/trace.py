"""Traces: what an execution did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

from bohrbug.model.checksum import checksum_of
from bohrbug.model.operation import (
    CALLBACK,
    CHOOSE,
    Operation,
    Resource,
    ResourceId,
    TaskId,
    is_fault,
)
from bohrbug.model.outcome import PASSED, Divergence, Outcome, Race, TaskInfo, Uncontrolled
from bohrbug.model.plan import Choice, Plan


class Step(NamedTuple):
    """One step: a task did an operation and ran on to its next scheduling point.

    Parameters:
        number: position in the trace, from 0.
        task: who ran.
        operation: what it did first.
        enabled: the tasks that could have run instead of waiting, in order of
            their creation; contains ``task`` unless its timeout fired.
        timed: the blocked tasks whose timeout could have fired here.
        choice: the element of the choice sequence: ``task``, or the value of a
            data choice.
        arity: the number of values of a data choice, 0 for a thread choice.
        preemption: control was taken from a task that was enabled and had not
            yielded, or a timeout fired although a task was enabled.
    """

    number: int
    task: TaskId
    operation: Operation
    enabled: tuple[TaskId, ...]
    timed: tuple[TaskId, ...]
    choice: Choice
    arity: int
    preemption: bool


class Raised(NamedTuple):
    """When the exception was raised that made the test fail.

    Parameters:
        task: by whom.
        steps: how many steps the execution had done by then.
    """

    task: TaskId
    steps: int


class Gate(NamedTuple):
    """Whether operations on a semaphore or queue would have blocked just before a step on it.

    Parameters:
        can_take: acquiring or getting would not.
        can_put: putting would not.
        waits: the step's own operation is one that waits until it is possible.
    """

    can_take: bool
    can_put: bool
    waits: bool


@dataclass(slots=True, repr=False)
class Trace:
    """What an execution did: columns with one entry per step, and its outcome.

    The columns are what strategies work on; :meth:`steps` puts them together
    for people.  ``enabled[i]``, ``timed[i]`` and ``yielded[i]`` describe the
    moment *before* step ``i`` was chosen; ``enabled`` and ``timed`` hold every
    task that could have been chosen.

    Parameters:
        plan: the plan that was executed.
        choices: the choice sequence, one per step; executing :meth:`as_plan` gives the same
            execution again.
        tasks: who ran in each step.
        operations: what it did.
        enabled: see :class:`Step`.
        timed: see :class:`Step`.
        yielded: whether the task that ran before had given control away
            of its own will (its pending operation is a yield), so that going
            on with another task is no preemption.
        arities: ``{step: number of values}`` for data choices.
        defaults: steps before which another task than the one that ran was to go on, with that
            task: what comes next in an event loop.
        effects: ``(step, task, resource, is_write)`` of accesses that a step made
            beyond its own operation, such as the lock that a ``wait`` releases.
        early_timeouts: steps whose operation could have ended by its timeout at any time
            before; in ascending order.  Not kept in files, and neither are ``gates`` and
            ``raised`` and ``longest_stall``.
        longest_stall: seconds for which all other tasks had to stand still, at the longest, for a
            timeout to fire or a sleep to end when it did.
        gates: of steps on semaphores and queues, by step.
        final_pending: what each task that did not end was about to do.
        withdrawn: what tasks of event loops could have done and did not do after all, as the
            timer of a timeout that came in time.  Not kept in files.
        task_infos, resources: descriptions for people.
        races: the data races seen.
        outcome: how it ended.
        raised: when the exception was raised that decided this, if that is known.
        divergence: where the plan could not be followed, or ``None``.
        uncontrolled: what ran outside our control.
        virtual_time: seconds of virtual time that passed.
        seconds: wall time that the execution took.
    """

    plan: Plan = field(default_factory=Plan)
    choices: list[Choice] = field(default_factory=list)
    tasks: list[TaskId] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    enabled: list[tuple[TaskId, ...]] = field(default_factory=list)
    timed: list[tuple[TaskId, ...]] = field(default_factory=list)
    yielded: list[bool] = field(default_factory=list)
    arities: dict[int, int] = field(default_factory=dict)
    defaults: dict[int, TaskId] = field(default_factory=dict)
    effects: list[tuple[int, TaskId, ResourceId, bool]] = field(default_factory=list)
    early_timeouts: list[int] = field(default_factory=list)
    longest_stall: float = 0.0
    gates: dict[int, Gate] = field(default_factory=dict)
    final_pending: dict[TaskId, Operation] = field(default_factory=dict)
    withdrawn: dict[TaskId, Operation] = field(default_factory=dict)
    task_infos: dict[TaskId, TaskInfo] = field(default_factory=dict)
    resources: dict[ResourceId, Resource] = field(default_factory=dict)
    races: list[Race] = field(default_factory=list)
    outcome: Outcome = PASSED
    raised: Raised | None = None
    divergence: Divergence | None = None
    uncontrolled: Uncontrolled = field(default_factory=Uncontrolled)
    virtual_time: float = 0.0
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {len(self)} steps by {self.task_count} tasks:"
            f" {self.outcome.kind.value}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # A class derived from this one may keep what belongs to an execution.
        return Trace, tuple(getattr(self, each.name) for each in fields(Trace))

    def as_plan(self) -> Plan:
        """The plan that gives this execution again."""
        return Plan(tuple(self.choices), conditions=self.plan.conditions)

    ONE_IN: ClassVar[int] = 25
    """Of so many executions that passed one is looked at more closely, such as for lock orders."""

    def checksum(self) -> int:
        """A number of it by which it is sampled, the same in every process."""
        return checksum_of(self.choices)

    @property
    def task_count(self) -> int:
        """How many tasks there were; those that never ran count where they are known."""
        return max(len(self.task_infos), len(set(self.tasks)))

    def goes_on(self, index: int) -> TaskId:
        """The task that was to go on at a step, which is not the first: whom a preemption takes
        control from.  It may not be enabled."""
        return self.defaults.get(index) or self.tasks[index - 1]

    def is_preemption(self, index: int, task: TaskId) -> bool:
        """Whether choosing ``task`` at step ``index`` is, or would be, a preemption.

        It is one if the task that ran before (or :meth:`goes_on` by default) is enabled, has not
        yielded and is not ``task``; or if ``task`` would run because its timeout fires although
        another task is enabled.  CHESS, section 4.4.1.
        """
        if index in self.arities:
            return False
        enabled = self.enabled[index]
        if task not in enabled:
            return bool(enabled)
        if index == 0 or self.yielded[index]:
            return False
        previous = self.goes_on(index)
        return previous != task and previous in enabled

    def with_outcome(self, outcome: Outcome) -> Trace:
        """The same execution with another outcome.

        Not :func:`dataclasses.replace`: a class derived from this one may keep its columns in
        another way.
        """
        columns: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(Trace)}
        return Trace(**{**columns, "outcome": outcome})

    def never_done(self, task: TaskId) -> Operation:
        """What a task was about to do at the end, or could have done until it was cancelled.

        Raises:
            KeyError: it has done all that it came to.
        """
        operation = self.final_pending.get(task)
        return self.withdrawn[task] if operation is None else operation

    def has_fired(self, index: int) -> bool:
        """Whether the task of step ``index`` ran because its timeout fired."""
        return self.tasks[index] in self.timed[index]

    def rounds(self) -> tuple[int, int]:
        """Where the steps that repeat until the end begin, and how many belong to one round.

        ``(number of steps, 0)`` if nothing is known to repeat.
        """
        count = len(self)
        period = len(self.outcome.repeating)
        if not period or self.outcome.repeating[-1] != count - 1:
            return count, 0
        start = count - period
        while start > 0 and self.repeats(start - 1 + period, start - 1):
            start -= 1
        return start, period

    def repeats(self, index: int, earlier: int) -> bool:
        """Whether a step does at its place what an earlier one did.

        Callbacks are tasks of their own, but whoever asks for one again is the same.
        """
        one, other = self.operations[index], self.operations[earlier]
        return (
            one.kind is other.kind
            and self._on_behalf_of(index) == self._on_behalf_of(earlier)
            # In long native executions only the last steps have stacks, and places further out.
            and (one.place == other.place or one.resource == other.resource)
        )

    def _on_behalf_of(self, index: int) -> TaskId:
        task = self.tasks[index]
        return task.rpartition(".")[0] if self.operations[index].kind is CALLBACK else task

    def fired_early(self) -> tuple[int, ...]:
        """Indices of the steps in which a timeout or a sleep ended while another task could run."""
        steps = range(len(self))
        return tuple(step for step in steps if self.enabled[step] and self.has_fired(step))

    def faults(self) -> list[int]:
        """Indices of the data choices by which a call failed."""
        return [
            i
            for i in sorted(self.arities)
            if self.choices[i] and is_fault(self.operations[i].resource)
        ]

    def preemptions(self) -> list[int]:
        """Indices of the steps that begin with a preemption."""
        return [i for i, task in enumerate(self.tasks) if self.is_preemption(i, task)]

    def options(self, index: int) -> tuple[Choice, ...]:
        """All choices there were at step ``index``, the chosen one among them."""
        arity = self.arities.get(index, 0)
        if arity:
            return tuple(range(arity))
        return self.enabled[index] + self.timed[index]

    def steps(self) -> Iterator[Step]:
        """The steps in order, for people and files."""
        for i, task in enumerate(self.tasks):
            yield Step(
                i,
                task,
                self.operations[i],
                self.enabled[i],
                self.timed[i],
                self.choices[i],
                self.arities.get(i, 0),
                self.is_preemption(i, task),
            )

    def pending(self, index: int) -> dict[TaskId, Operation]:
        """What each enabled or timed task was about to do before step ``index``.

        It is the operation of the task's next step from ``index`` on, or, for a
        task that never ran again, what it was still about to do at the end.
        """
        wanted = set(self.enabled[index]) | set(self.timed[index])
        found: dict[TaskId, Operation] = {}
        for i in range(index, len(self.tasks)):
            task = self.tasks[i]
            if task in wanted and task not in found and self.operations[i].kind is not CHOOSE:
                found[task] = self.operations[i]
                if len(found) == len(wanted):
                    return found
        for task in wanted - found.keys():
            if task in self.final_pending:
                found[task] = self.final_pending[task]
        return found
