"""Order between steps of a trace that the resources of their operations do not show."""

from __future__ import annotations

from bisect import bisect_left

from bohrbug.model.operation import ResourceId, TaskId
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.trace import Trace


def effects_from(trace: Trace, start: int) -> dict[int, list[tuple[int, TaskId, ResourceId, bool]]]:
    """The effects of the steps from ``start`` on, by step."""
    effects = trace.effects
    found: dict[int, list[tuple[int, TaskId, ResourceId, bool]]] = {}
    if effects:
        first = bisect_left(effects, start, key=lambda effect: effect[0]) if start else 0
        for effect in effects[first:]:
            found.setdefault(effect[0], []).append(effect)
    return found


def beginning_of_step(trace: Trace, step: int) -> int:
    """The step itself, or, for a data choice, the one within which it was made."""
    while step > 0 and step in trace.arities:
        step -= 1
    return step


def ordered_by_fairness(trace: Trace, end: int) -> frozenset[int] | set[int]:
    """The steps on whose order it may depend what fairness allows.

    That is the step with which a task comes to its yield, and then all steps until those
    have run that the task may have to wait for (see
    :class:`~bohrbug.runtime.threads.fairness.Fairness`).  The trace shows the options that
    fairness left, so that whoever may have been held back counts as one that could run.
    """
    if True not in trace.yielded:
        return frozenset()
    ordered: set[int] = set()
    last_run: dict[TaskId, int] = {}
    last_yield: dict[TaskId, int] = {}
    below: dict[TaskId, set[TaskId]] = {}
    for step, (task, yielded) in enumerate(zip(trace.tasks[:end], trace.yielded, strict=False)):
        if yielded and step:
            ordered.update(range(beginning_of_step(trace, step - 1), step + 1))
            yielder = trace.tasks[step - 1]
            since = last_yield.get(yielder, 0)
            last_yield[yielder] = step
            below.setdefault(yielder, set()).update(
                [
                    other
                    for other in (*trace.enabled[step], *below)
                    if other != yielder and last_run.get(other, -1) < since
                ]
            )
        if below:
            ordered.add(step)
            for others in below.values():
                others.discard(task)
            below = {each: others for each, others in below.items() if others}
        last_run[task] = step
    return ordered


def fairness_memory(trace: Trace, end: int) -> list[tuple[str, ...]]:
    """What fairness remembers before each step, and the graph of the steps does not tell.

    For each task that has yielded: who has run since, and of the others at which of its yields
    since they last ran they could have run.  Two executions with the same graph and the same memory
    allow the same from there on.

    Parameters:
        trace: what happened.
        end: steps from this one on are not looked at.

    Returns:
        The memory for each step from the first yield on.
    """
    memory: list[tuple[str, ...]] = []
    have_run: set[TaskId] = set()
    ran: dict[TaskId, set[TaskId]] = {}
    yields: dict[TaskId, int] = {}
    kept_waiting: dict[TaskId, dict[TaskId, list[int | str]]] = {}
    for step in range(end):
        if trace.yielded[step] and step:
            yielder = trace.tasks[step - 1]
            since = ran.get(yielder, have_run)
            yields[yielder] = yields.get(yielder, 0) + 1
            marks = kept_waiting.setdefault(yielder, {})
            enabled = trace.enabled[step]
            for other in {*enabled, *ran}.difference(since, (yielder,)):
                if other in enabled:
                    marks.setdefault(other, []).append(yields[yielder])
                elif kept_waiting[other]:
                    # Held back or not able to run: the trace does not tell, so nothing is alike.
                    marks.setdefault(other, []).append(",".join(trace.tasks[:step]))
            ran[yielder] = set()
        if ran:
            memory.append(
                tuple(
                    f"{each} {sorted(ran[each])} {sorted(kept_waiting[each].items())}"
                    for each in sorted(ran)
                )
            )
        task = trace.tasks[step]
        have_run.add(task)
        for others in ran.values():
            others.add(task)
        for marks in kept_waiting.values():
            marks.pop(task, None)
    return memory


def cut_off(trace: Trace) -> bool:
    """Whether the last step ended the execution, whatever other tasks had still to do."""
    kind = trace.outcome.kind
    if kind is OutcomeKind.PASSED:
        return bool(trace.final_pending)
    if kind is OutcomeKind.DEADLOCK:
        # Tasks that wait for each other end it, though others could go on. If nothing is said of
        # them, all wait.
        blocked = {each.task for each in trace.outcome.blocked}
        return bool(blocked) and not blocked.issuperset(trace.final_pending)
    return True


def late_firings(trace: Trace, start: int, end: int, early: frozenset[int]) -> set[int]:
    """Steps from ``start`` to ``end`` that are timeouts which fire because no task is enabled.

    Parameters:
        trace: what happened.
        start: the first step to look at.
        end: the step behind the last.
        early: steps whose operation could have ended by its timeout at any time before.
    """
    if not any(trace.timed[start:end]):
        return set()
    return {
        step
        for step in range(start, end)
        if not trace.enabled[step] and step not in trace.arities and step not in early
    }


def due_firings(trace: Trace, start: int, end: int, early: frozenset[int]) -> set[int]:
    """Steps from ``start`` to ``end`` that are timeouts which could fire beside enabled tasks.

    Not at any time, but from the moment on when they were due.

    Parameters:
        trace, start, end, early: see :func:`late_firings`.
    """
    if not trace.plan.conditions.late_timeouts or not any(trace.timed[start:end]):
        return set()
    return {
        step
        for step in range(start, end)
        if step not in early and trace.has_fired(step) and _was_due_beside_others(trace, step)
    }


def _was_due_beside_others(trace: Trace, step: int) -> bool:
    task = trace.tasks[step]
    for earlier in range(step, -1, -1):
        if earlier < step and trace.tasks[earlier] == task:
            return False
        if trace.enabled[earlier] and task in trace.timed[earlier]:
            return True
    return False
