"""Who runs next in a simulated program: the policies, written once more or those of runtimes."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from bohrbug.model.operation import Operation, TaskId
from bohrbug.model.plan import NonPreemptive, Policy, Priorities, Sleeping, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.runtime.policies import decider_for
from bohrbug.runtime.policies.sleeping import SleepingDecider

if TYPE_CHECKING:
    from tests.simulated import Machine, State


@dataclass
class View:
    """A task as the executors of ``bohrbug.runtime.policies`` see it."""

    id: TaskId
    index: int
    pending: Operation | None = None
    deadline: float | None = None


@dataclass
class _CountedView(View):
    counter: int = -2


class FirstPolicies:
    """The first policies of a plan, written once more for this machine."""

    def __init__(self, policy: Policy, machine: Machine, trace: Trace) -> None:
        self.policy = policy
        self.machine = machine
        self.sleeping = None
        if isinstance(policy, Sleeping):
            self.sleeping = SleepingDecider(policy, trace.effects)
        seed = policy.seed if isinstance(policy, UniformRandom | Priorities) else 0
        self.random = Random(seed)
        self.priorities: dict[int, float] = {}
        self.lowest = 0.0
        self.changes: dict[int, int] = {}
        if isinstance(policy, Priorities):
            for low in range(1, policy.depth):
                self.changes[self.random.randrange(policy.length)] = -low
            self.lowest = -float(policy.depth)

    def task(
        self,
        previous: int | None,
        enabled: tuple[int, ...],
        timed: tuple[int, ...],
        yielded: bool,
        step: int,
        state: State,
    ) -> int:
        if self.sleeping is not None:
            views = {
                task: View(
                    self.machine.ids[task],
                    task,
                    self.machine.pending(state, task) if task in enabled + timed else None,
                    0.0,
                )
                for task in range(len(self.machine.ids))
            }
            return self.sleeping.choose(
                views[previous or 0],
                [views[task] for task in enabled],
                [views[task] for task in timed],
                yielded,
                step,
            ).index
        if isinstance(self.policy, NonPreemptive):
            if not enabled:
                return timed[0]
            if previous is None:
                return enabled[0]
            if previous in enabled and not yielded:
                return previous
            return next((task for task in enabled if task > previous), enabled[0])
        options = enabled + timed
        if isinstance(self.policy, UniformRandom):
            return self.random.choice(options)
        if yielded and previous is not None:
            self._drop(previous)
        best = max(options, key=self._priority)
        if step in self.changes:
            self.priorities[best] = self.changes[step]
            best = max(options, key=self._priority)
        return best

    def _priority(self, task: int) -> float:
        return self.priorities.setdefault(task, self.random.random())

    def _drop(self, task: int) -> None:
        self.lowest -= 1
        self.priorities[task] = self.lowest

    def value(self, arity: int) -> int:
        if isinstance(self.policy, NonPreemptive | Sleeping):
            return 0
        return self.random.randrange(arity)


class RealPolicies:
    """An executor of ``bohrbug.runtime.policies`` on this machine."""

    def __init__(self, machine: Machine, policy: Policy) -> None:
        self.machine = machine
        self.decider = decider_for(policy)
        self.views = [_CountedView(task, number) for number, task in enumerate(machine.ids)]
        self.nobody = _CountedView("", -1)

    def task(
        self,
        previous: int | None,
        enabled: tuple[int, ...],
        timed: tuple[int, ...],
        yielded: bool,
        step: int,
        state: State,
    ) -> int:
        for task in enabled + timed:
            view = self.views[task]
            if view.counter != state.counters[task]:
                # A new object for a new event, and only then, as in every runtime.
                view.counter = state.counters[task]
                view.pending = self.machine.pending(state, task)
                instruction = self.machine.instruction(state, task)
                view.deadline = instruction.timeout if instruction is not None else None
        running = self.nobody if previous is None else self.views[previous]
        able = [[self.views[task] for task in tasks] for tasks in (enabled, timed)]
        chosen = self.decider.choose(running, able[0], able[1], yielded, step)
        return self.machine.number[chosen.id]

    def value(self, arity: int) -> int:
        return self.decider.value(arity)


def decider_of(policy: Policy, machine: Machine, trace: Trace) -> FirstPolicies | RealPolicies:
    """Follows a policy in one execution.

    Parameters:
        policy: what is followed.
        machine: what executes.
        trace: what it writes, as it grows.
    """
    if isinstance(policy, NonPreemptive | UniformRandom | Priorities | Sleeping):
        return FirstPolicies(policy, machine, trace)
    return RealPolicies(machine, policy)
