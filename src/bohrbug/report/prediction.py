"""Deadlocks and races that were predicted and did not happen when they were tried."""

from __future__ import annotations

from bohrbug.exploration.prediction import Prediction
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.model.operation import Site
from bohrbug.model.trace import Trace
from bohrbug.monitors.lock_order import LockCycle
from bohrbug.monitors.weak_order import PossibleRace
from bohrbug.report.naming import Names
from bohrbug.report.style import QUIET, Paper
from bohrbug.report.wording import plural

_MOST = 5


def _names(what: LockCycle | PossibleRace) -> Names:
    """Names for what a prediction mentions, as if an execution had consisted of just that."""
    trace = Trace()
    extra: list[Site] = []
    if isinstance(what, LockCycle):
        for nesting in what.nestings:
            for lock in (nesting.held, nesting.wanted):
                trace.resources[lock.id] = lock
            trace.operations += nesting.operations
    else:
        extra = [site for _, site, _ in (what.first, what.second) if site is not None]
    return Names(trace, extra)


def _deadlock_in_words(cycle: LockCycle, names: Names) -> str:
    tasks = [
        f"task {nesting.task} takes {names.short_resource(nesting.wanted.id)}"
        f"{names.at(nesting.operations[1])} while it holds "
        f"{names.short_resource(nesting.held.id)}{names.at(nesting.operations[0])}"
        for nesting in cycle.nestings
    ]
    return f"deadlock: {', '.join(tasks[:-1])} and {tasks[-1]}"


def _race_in_words(race: PossibleRace, names: Names) -> str:
    sides = [
        f"a {'write' if is_write else 'read'} at {names.place(site)} (task {task})"
        for task, site, is_write in (race.first, race.second)
    ]
    return f"data race on {race.label}: {sides[0]} and {sides[1]}, with no common lock"


def prediction_in_words(prediction: Prediction) -> str:
    """A prediction as one sentence, with the number of executions that did not confirm it.

    Such as "deadlock: task 0.1 takes Lock b (x.py:11) while it holds Lock a (x.py:10) and task
    0.2 takes Lock a (x.py:21) while it holds Lock b (x.py:20); could not be confirmed in 5
    executions".
    """
    what = prediction.what
    if isinstance(what, LockCycle):
        words = _deadlock_in_words(what, _names(what))
    else:
        words = _race_in_words(what, _names(what))
    executions = plural(prediction.executions, "execution")
    return f"{words}; could not be confirmed in {executions}"


def draw_unconfirmed(paper: Paper, result: Result, *, verbose: bool) -> bool:
    """Print the predictions that were not confirmed; true if there are any.

    None if all schedules were executed: that refutes them.  Races only if ``verbose``, as
    most of them are kept from happening by what the lock hands over; and beside
    failures, which are certain, nothing else.
    """
    predictions = [
        prediction
        for prediction in result.unconfirmed
        if verbose or (isinstance(prediction.what, LockCycle) and not result.failures)
    ]
    if not predictions or result.verdict.kind is VerdictKind.HOLDS:
        return False
    paper.heading("Predicted, not confirmed")
    for prediction in predictions[:_MOST]:
        paper.paragraph(paper.prose(prediction_in_words(prediction)), 2, 4)
    if len(predictions) > _MOST:
        paper.paragraph(paper.text(f"and {len(predictions) - _MOST} more", QUIET))
    return True
