"""Where the tasks of a replay stand, and why each of them does not run, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bohrbug.model.decision import Readiness, Standing
from bohrbug.model.operation import BEGIN, END, JOIN, TaskId
from bohrbug.model.outcome import BlockedTask
from bohrbug.model.trace import Trace
from bohrbug.report.deadlock import (
    abandoned_in_words,
    chain_in_words,
    held_by_in_words,
    signal_words,
)
from bohrbug.report.naming import Names, task_order
from bohrbug.report.sources import source_line
from bohrbug.report.standings import Row, draw_rows, operation_words, site_of_standing
from bohrbug.report.stories import TaskSteps
from bohrbug.report.stories import is_late as is_late_at
from bohrbug.report.style import Paper

_WAITING = (Readiness.BLOCKED, Readiness.TIMED)


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """A replay that stands still.

    Parameters:
        standings: all its tasks.
        running: the task that somebody looks at.
        step: how many steps were done, or begun.
        trace: the whole execution that is replayed.
        follows: it is replayed as the trace says.
        is_over: nothing goes on any more.
    """

    standings: Sequence[Standing]
    running: TaskId
    step: int
    trace: Trace
    follows: bool = True
    is_over: bool = False

    def standing(self, task: TaskId) -> Standing | None:
        """Where a task stands; ``None`` if there is none of that id."""
        return next((each for each in self.standings if each.task == task), None)

    def runs_next(self, task: TaskId) -> bool:
        """Whether the next step is that of a task."""
        return self._next_task() == task

    def _next_task(self) -> TaskId | None:
        if not self.follows or self.is_over or self.step >= len(self.trace):
            return None
        return self.trace.tasks[self.step]

    def goes_on_at(self, task: TaskId) -> int | None:
        """The step at which a task goes on; ``None`` if it does not."""
        tasks = self.trace.tasks
        return next((i for i in range(self.step, len(tasks)) if tasks[i] == task), None)

    def preempted_at(self, task: TaskId) -> int | None:
        """The step at which control was taken from a task that has not gone on since."""
        trace = self.trace
        for step in range(min(self.step, len(trace) - 1), 0, -1):
            if step < self.step and trace.tasks[step] == task:
                return None
            if trace.goes_on(step) == task and trace.is_preemption(step, trace.tasks[step]):
                return None if trace.has_fired(step) else step
        return None


def draw_tasks(paper: Paper, at: Whereabouts, names: Names) -> None:
    """Print one line for each task."""
    rows = [_row(at, standing, names) for standing in at.standings]
    draw_rows(paper, rows, place_first=True)


def _row(at: Whereabouts, standing: Standing, names: Names) -> Row:
    task, operation = standing.task, standing.operation
    known = [word for word in (names.thread_name(task), names.target(task)) if word]
    site = site_of_standing(standing, names)
    if operation is not None and operation.kind in (BEGIN, END):
        # It was started there, and that is not where it goes on.
        site = None
    return Row(
        "",
        " ".join(dict.fromkeys([task, *known])),
        _state_in_words(at, standing, names),
        names.place(site),
        source_line(site) if site is not None and site.line else "",
        is_next=task == at.running,
        is_quiet=standing.readiness is Readiness.ENDED,
    )


def _state_in_words(at: Whereabouts, standing: Standing, names: Names) -> str:
    """The state of a task, and what it is about to do."""
    readiness = standing.readiness
    if readiness is Readiness.HOSTING:
        return "runs an event loop"
    if readiness in (Readiness.ENDED, Readiness.RUNNING):
        return "ended" if readiness is Readiness.ENDED else "runs"
    if readiness is Readiness.TIMED and at.runs_next(standing.task):
        return f"next: {operation_words(standing, names).removeprefix('waits: ')}"
    if readiness in _WAITING:
        return _blocked_in_words(standing, names)
    state = "ready"
    if at.runs_next(standing.task):
        state = "next"
    elif at.follows and (step := at.preempted_at(standing.task)) is not None:
        state = "late" if step in at.trace.defaults else "preempted"
    if standing.operation is None:
        return state
    return f"{state}: {operation_words(standing, names)}"


def _blocked_in_words(standing: Standing, names: Names) -> str:
    operation = standing.operation
    if operation is None or operation.kind.is_yield or operation.kind is JOIN:
        return f"blocked: {operation_words(standing, names)}"
    words = f"blocked on {names.awaited(standing.task, operation)}"
    if standing.holders and not names.is_for_an_end(operation):
        words += f", held by {' and '.join(standing.holders)}"
    return f"{words}; its timeout may fire" if standing.readiness is Readiness.TIMED else words


def why_in_words(at: Whereabouts, standing: Standing, names: Names) -> list[str]:
    """Why a task does not run: sentences on whom it waits for, and on why they do not run.

    Parameters:
        at: the replay.
        standing: where the task stands.
        names: of what they speak.
    """
    if standing.readiness not in _WAITING or standing.operation is None:
        return [_not_blocked(at, standing, names)]
    chain, last = _chain(at, standing)
    waiting = chain[-1]
    text = chain_in_words(chain, names)
    said = []
    if last is None:
        text += _without_holder(at, waiting, names)
    else:
        text += _held_by(waiting, last, chain[0].task, names)
        others = [task for task in waiting.holders if task != last.task]
        if others:
            text += f" (and by task {' and '.join(others)})"
    said.append(f"{text}.")
    known = [blocked.task for blocked in chain]
    if last is not None and last.task in known:
        around = sorted(known[known.index(last.task) :], key=task_order)
        if len(around) > 1:
            said.append(f"Tasks {', '.join(around[:-1])} and {around[-1]} wait for each other.")
    elif last is not None:
        said.append(_not_blocked(at, last, names))
    if standing.readiness is Readiness.TIMED:
        fires = "fires next" if at.runs_next(standing.task) else "may fire"
        said.append(f"Its timeout {fires}.")
    return said


def _chain(at: Whereabouts, standing: Standing) -> tuple[list[BlockedTask], Standing | None]:
    """From a task that waits to whom it waits for, and on.

    Returns:
        Those that wait; and whom the last of them waits for: one of them, if they wait in a
        circle; one that waits for nobody; or ``None``, if nobody holds what it waits for.
    """
    chain: list[BlockedTask] = []
    seen: set[TaskId] = set()
    here: Standing | None = standing
    while here is not None and here.operation is not None and here.readiness in _WAITING:
        if here.task in seen:
            break
        seen.add(here.task)
        chain.append(
            BlockedTask(
                here.task,
                here.operation,
                here.holders,
                here.holding,
                here.stack,
                abandoned=here.abandoned,
            )
        )
        here = at.standing(here.holders[0]) if here.holders else None
    return chain, here


def _held_by(waiting: BlockedTask, last: Standing, first: TaskId, names: Names) -> str:
    if last.task == waiting.task:
        taken = held_by_in_words(waiting, last.task, last.holding, last.operation, names)
        _, _, where = taken.partition("taken at ")
        return ", which it holds itself" + (f" (taken at {where.rstrip(')')})" if where else "")
    if last.task == first:
        # Where it took it was said at the beginning.
        return "" if names.is_for_an_end(waiting.operation) else f", held by task {first}"
    return held_by_in_words(waiting, last.task, last.holding, last.operation, names)


def _without_holder(at: Whereabouts, waiting: BlockedTask, names: Names) -> str:
    if waiting.operation.kind is JOIN or waiting.operation.kind.is_yield:
        return ""
    if waiting.abandoned is not None:
        return f", {abandoned_in_words(waiting.abandoned, names)}"
    signal = signal_words(waiting, names.type(waiting.operation.resource))
    if at.is_over:
        return f"; nobody is left who could {signal}"
    return f"; another task has to {signal}"


def _not_blocked(at: Whereabouts, standing: Standing, names: Names) -> str:
    """One sentence or two on a task that does not wait for anybody."""
    task, readiness = standing.task, standing.readiness
    who = f"Task {names.task(task)}"
    if readiness is Readiness.ENDED:
        return f"{who} has ended."
    if readiness is Readiness.HOSTING:
        return f"{who} is the thread of an event loop, which runs its tasks."
    if readiness is Readiness.RUNNING:
        return f"{who} runs."
    if at.is_over:
        return f"{who} is ready, and does not go on: the execution ends here."
    if not at.follows:
        return f"{who} is ready; this replay no longer follows the plan."
    if at.runs_next(task):
        return f"{who} is ready, and runs next."
    text = f"{who} is ready"
    preempted = at.preempted_at(task)
    pending = TaskSteps(at.trace).next_operation(at.trace, task, at.step)
    before = ""
    if pending is not None and pending.kind not in (BEGIN, END):
        before = f", before its {names.noun(pending)}"
    if preempted is not None:
        is_late = is_late_at(at.trace, preempted, pending)
        happened = "late" if is_late else "preempted"
        where = "here" if preempted == at.step else f"at step {preempted}"
        text = f"{who} {'is' if where == 'here' else 'was'} {happened} {where}{before}"
    now = at.standing(at.running)
    is_between = now is None or now.readiness is not Readiness.RUNNING
    runs = at.trace.tasks[at.step] if is_between and at.step < len(at.trace) else at.running
    goes_on = at.goes_on_at(task)
    when = "does not go on again" if goes_on is None else f"goes on at step {goes_on}"
    return f"{text}: the plan runs task {names.task(runs)}, and task {task} {when}."
