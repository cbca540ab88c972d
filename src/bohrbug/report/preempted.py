"""What a debugger says where it stops: who is preempted, and who runs then."""

from __future__ import annotations

from bohrbug.model.operation import BEGIN, END
from bohrbug.model.trace import Trace
from bohrbug.report.naming import Names
from bohrbug.report.stories import TaskSteps


def preemptions_in_words(trace: Trace) -> list[tuple[int, str]]:
    """Each step of an execution that begins with a preemption, with a sentence on it."""
    names, steps = Names(trace), TaskSteps(trace)
    return [(step, _sentence(trace, names, steps, step)) for step in trace.preemptions()]


def _sentence(trace: Trace, names: Names, steps: TaskSteps, step: int) -> str:
    task, operation = trace.tasks[step], trace.operations[step]
    runs = f"task {names.task(task)} {names.does(operation)}"
    if operation.kind in (BEGIN, END):
        runs = f"task {names.task(task)} {operation.kind.name}s"
    if step == 0:
        return f"Step 0: {runs}."
    running = trace.goes_on(step)
    if trace.has_fired(step):
        return f"Step {step}: task {names.task(running)} stops here, and a timeout fires: {runs}."
    pending = steps.next_operation(trace, running, step)
    before = f", before its {names.noun(pending)}" if pending is not None else ""
    return f"Step {step}: task {names.task(running)} is preempted here{before}; then {runs}."
