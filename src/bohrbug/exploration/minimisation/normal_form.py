"""The same execution, told so that it reads well: each task in the longest stretches.

Operations that happen-before does not order may change places without changing
anything that the program can see.  Of all orders of a failing execution
that differ only so, one with few switches is looked for, and executed once, to
confirm it.  The idea is that of dejafu (Walker and Runciman, *Déjà Fu: a concurrency
testing library for Haskell*, 2015), which simplifies traces by commuting neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from bohrbug.exploration.minimisation.preemptions import Execute, cost
from bohrbug.model.happens_before import clocks
from bohrbug.model.operation import CHOOSE, TaskId
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace

LONGEST = 5_000
"""Steps beyond which an execution is left as it is: its clocks would cost too much."""

_Rank = Callable[[TaskId, int, int], tuple[int, ...]]


def predecessors(trace: Trace) -> list[set[int]]:
    """For each step the last step of each other task that happens before it."""
    times = clocks(trace)
    own: dict[TaskId, list[int]] = {}
    counts: dict[TaskId, list[int]] = {}
    found: list[set[int]] = []
    for index, task in enumerate(trace.tasks):
        before = set()
        clock = times[index]
        for other, time in clock.times.items():
            if other == task:
                continue
            steps, ticks = own.get(other, ()), counts.get(other, ())
            # The last step of the other task that its clock had counted by then.
            for step, tick in zip(reversed(steps), reversed(ticks), strict=True):
                if tick <= time:
                    before.add(step)
                    break
        found.append(before)
        own.setdefault(task, []).append(index)
        counts.setdefault(task, []).append(clock[task])
    return found


def longest_stretches(trace: Trace, *, longest_first: bool) -> list[int]:
    """The steps of an execution in another order that happens-before allows.

    Greedy: a task goes on as long as it can; then comes the task that
    can go on longest, or else the one that came first in the trace.

    Parameters:
        trace: the execution.
        longest_first: which of the two.

    Returns:
        The numbers of the steps, each once.
    """
    tasks = trace.tasks
    needed = predecessors(trace)
    queues: dict[TaskId, list[int]] = {}
    for index, task in enumerate(tasks):
        queues.setdefault(task, []).append(index)
    heads = dict.fromkeys(queues, 0)
    done: set[int] = set()
    order: list[int] = []

    def stretch(task: TaskId) -> list[int]:
        """The steps that a task could do now in a row."""
        queue = queues[task]
        start = end = heads[task]
        while end < len(queue) and needed[queue[end]] <= done:
            end += 1
        return queue[start:end]

    last = len(tasks) - 1
    while len(order) < len(tasks):
        choices = [own for task in queues if (own := stretch(task))]
        # What failed has to stay the end, or what comes after it would be lost.
        if len(order) < last:
            choices = [own[:-1] if own[-1] == last else own for own in choices]
            choices = [own for own in choices if own]
        if longest_first:
            chosen = max(choices, key=lambda own: (len(own), -own[0]))
        else:
            chosen = min(choices, key=lambda own: own[0])
        order += chosen
        done.update(chosen)
        heads[tasks[chosen[0]]] += len(chosen)
    return order


def _with_choices(trace: Trace, order: list[int]) -> bool:
    """Whether every data choice still comes right after the step that leads to it."""
    return all(
        trace.operations[step].kind is not CHOOSE or trace.tasks[before] == trace.tasks[step]
        for before, step in pairwise(order)
    )


def normalise(trace: Trace, execute: Execute) -> Trace:
    """The failing execution in its normal form, or as it is if that is no better.

    At most two executions are made.

    Parameters:
        trace: a failing execution.
        execute: executes a plan.

    Returns:
        An execution that fails in the same way with no more preemptions and fewer switches
        between tasks, or ``trace``.
    """
    if not 0 < len(trace) <= LONGEST:
        return trace
    best, lowest = trace, cost(trace)
    tried = {tuple(trace.choices)}
    for longest_first in (False, True):
        order = longest_stretches(trace, longest_first=longest_first)
        choices = tuple(trace.choices[step] for step in order)
        if choices in tried or not _with_choices(trace, order):
            continue
        tried.add(choices)
        candidate = execute(Plan(choices))
        if (
            candidate.outcome.signature() == trace.outcome.signature()
            and candidate.divergence is None
            and cost(candidate) < lowest
        ):
            best, lowest = candidate, cost(candidate)
    return best
