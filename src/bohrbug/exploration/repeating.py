"""Whether a test does the same when it is executed again under the same schedule.

What a search says about all schedules is true only if the choices determine what the test does. A
search that follows only a few plans may not notice that they do not: as long as the tasks that a
plan names can run, the plan can be followed, whatever they do.
"""

from __future__ import annotations

from itertools import zip_longest

from bohrbug.exploration.learning import Learner
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace

_Did = tuple[str, str, str]
"""Of a step: its task, the name of the kind of its operation, and the resource."""


def difference_when_repeated(learner: Learner) -> str:
    """Execute the schedule without preemptions twice; one sentence if the two differ, else "".

    State that the test leaves behind once, such as a cache that it fills, makes no difference here.
    """
    first = learner.replay(Plan().under(learner.conditions)).trace
    second = learner.replay(first.as_plan()).trace
    return _difference(first, second)


def _difference(first: Trace, second: Trace) -> str:
    for step, (one, other) in enumerate(zip_longest(_steps(first), _steps(second))):
        if one is not None and other is not None and one[:2] == other[:2] and one != other:
            return (
                "the test is not deterministic: executed twice under the same schedule, it "
                f"{_words(one)} at step {step} on {one[2]}, and then on {other[2]}"
            )
        if one != other:
            return (
                "the test is not deterministic: executed twice under the same schedule, it "
                f"{_words(one)} at step {step}, and then {_words(other)}"
            )
    if first.outcome.signature() != second.outcome.signature():
        return (
            "the test is not deterministic: executed twice under the same schedule, it "
            f"{_end(first)}, and then {_end(second)}"
        )
    return ""


def _steps(trace: Trace) -> list[_Did]:
    return [
        (task, kind.name, resource)
        for task, (kind, resource, _) in zip(trace.tasks, trace.operations, strict=True)
    ]


def _words(did: _Did | None) -> str:
    if did is None:
        return "has ended"
    task, kind, _ = did
    return f"did {kind} in task {task}"


def _end(trace: Trace) -> str:
    outcome = trace.outcome
    return f"ended with: {outcome.message or outcome.kind.value}"
