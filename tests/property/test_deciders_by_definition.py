"""The deciders that keep books for speed choose what their definitions, written out, would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from bohrbug.model.operation import READ, WRITE, Operation
from bohrbug.model.plan import Constraint, ReadsFrom, ResourceEvent, WeightedRandom
from bohrbug.runtime.policies.decider import Decider, Tasks, TaskView
from bohrbug.runtime.policies.drawing import SplitMix
from bohrbug.runtime.policies.partial_order import PartialOrderDecider
from bohrbug.runtime.policies.reads_from import ReadsFromDecider
from bohrbug.runtime.policies.weighted import WeightedRandomDecider
from tests.thoroughness import examples

few = settings(max_examples=examples(40), deadline=None)
seeds = st.integers(0, 2**32 - 1)
operations = st.builds(
    Operation, st.sampled_from([READ, WRITE]), st.sampled_from(["x", "y"]), st.none()
)
codes = st.lists(st.lists(operations, max_size=5), min_size=2, max_size=4)


@dataclass
class Task:
    """A task that can always go on."""

    id: str
    index: int
    code: Sequence[Operation]
    deadline: float | None = None
    done: int = field(default=0)

    @property
    def pending(self) -> Operation | None:
        return self.code[self.done] if self.done < len(self.code) else None


def choices(decider: Decider, code: list[list[Operation]]) -> list[str]:
    """Who runs, step by step; the end of a task is a step too."""
    tasks = [Task(f"0.{index}", index, each) for index, each in enumerate(code)]
    running, made = tasks[0], []
    while tasks:
        chosen = decider.choose(running, tasks, (), False, len(made))
        assert isinstance(chosen, Task)
        running = chosen
        made.append(running.id)
        if running.pending is None:
            tasks.remove(running)
        running.done += 1
    return made


class PlainPartialOrder:
    """POS as the paper puts it."""

    def __init__(self, seed: int) -> None:
        self._random = SplitMix(seed)
        self._priorities: dict[str, int] = {}
        self._pending: dict[str, Operation | None] = {}

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        for task in enabled:
            if task.id not in self._priorities:
                self._priorities[task.id] = self._random.priority()
                self._pending[task.id] = task.pending
        chosen = max(enabled, key=lambda task: self._priorities[task.id])
        executed = self._pending.pop(chosen.id)
        del self._priorities[chosen.id]
        for task, other in self._pending.items():
            if executed is not None and other is not None and executed.conflicts_with(other):
                self._priorities[task] = self._random.priority()
        return chosen

    def value(self, arity: int) -> int:
        raise NotImplementedError


@given(codes, seeds)
@few
def test_partial_order_sampling(code: list[list[Operation]], seed: int) -> None:
    assert choices(PartialOrderDecider(seed, None), code) == choices(PlainPartialOrder(seed), code)


class PlainlyHeldBack(ReadsFromDecider):
    """Asks of every constraint whether its reader comes too early or its source is overwritten."""

    def _note(self, task: str, operation: Operation | None) -> None:
        if operation is not None:
            event = self._counter.executed(task, operation)
            self._done.add(event)
            if operation.is_write:
                self._last[operation.resource] = event

    def _allowed(self, options: list[TaskView]) -> list[TaskView]:
        return [task for task in options if not self._breaks_a_constraint(task)]

    def _breaks_a_constraint(self, task: TaskView) -> bool:
        operation = task.pending
        if operation is None:
            return False
        event = self._counter.pending(task.id, operation)
        last = self._last.get(operation.resource)
        for constraint in self._constraints.get(operation.resource, ()):
            source, reader = constraint.source, constraint.reader
            if reader in self._done:
                continue
            if not constraint.holds:
                breaks = event == reader and last == source
            elif event == reader:
                breaks = last != source and source is not None and source not in self._done
            else:
                breaks = operation.is_write and last == source
            if breaks:
                return True
        return False


events = st.builds(
    ResourceEvent,
    st.sampled_from(["0.0", "0.1", "0.2"]),
    st.sampled_from(["read", "write"]),
    st.just("x"),
    st.none(),
    st.integers(1, 2),
)


@given(codes, seeds, st.lists(st.builds(Constraint, st.none() | events, events, st.booleans())))
@few
def test_what_constraints_hold_back(
    code: list[list[Operation]], seed: int, constraints: list[Constraint]
) -> None:
    policy = ReadsFrom(seed, tuple(constraints))
    assert choices(ReadsFromDecider(policy), code) == choices(PlainlyHeldBack(policy), code)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), seeds)
@few
def test_a_task_is_drawn_as_one_of_its_events(weights: list[int], seed: int) -> None:
    decider, random = WeightedRandomDecider(WeightedRandom(seed, ())), SplitMix(seed)
    tasks: list[TaskView] = [Task(f"0.{index}", index, ()) for index in range(len(weights))]
    events = [task for task, number in zip(tasks, weights, strict=True) for _ in range(number)]
    for _ in range(20):
        expected = events[random.below(len(events))] if events else None
        assert decider._one_of(tasks, weights) is expected
