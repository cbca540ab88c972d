"""No trace, however odd, may make a report fail: then it is needed most."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from bohrbug.exploration.result import Failure, Interpreter
from bohrbug.model.operation import KINDS, Operation, Resource, Site
from bohrbug.model.outcome import BlockedTask, Frame, Held, Outcome, OutcomeKind, TaskInfo
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.report.text import failure_text
from tests.thoroughness import examples
from tests.unit.report_samples import GOLD

TASKS = ["0", "0.1", "0.2", "0.1.1"]
IDS = ["0:0", "0:1", "0:2.name", "before:3", "exit", *TASKS]
known_sites = st.builds(
    Site,
    st.sampled_from([str(GOLD / "bank.py"), str(GOLD / "waiting.py"), "<string>", "gone.py"]),
    st.integers(0, 70),
    st.sampled_from(["f", "A.g", "test.<locals>.h", ""]),
)
sites = st.one_of(st.none(), known_sites)
operations = st.builds(
    Operation, st.sampled_from(list(KINDS.values())), st.sampled_from(IDS), sites
)
words = st.text(max_size=30)
frames = st.lists(st.builds(Frame, known_sites), max_size=3).map(tuple)
held = st.lists(st.builds(Held, st.sampled_from([*IDS, "?"]), sites), max_size=2).map(tuple)
tasks = st.lists(st.sampled_from(TASKS), max_size=3, unique=True).map(tuple)
blocked = st.builds(BlockedTask, st.sampled_from(TASKS), operations, tasks, held, frames)


@st.composite
def failures(draw: st.DrawFn) -> Failure:
    step = st.tuples(st.sampled_from(TASKS), operations, tasks, tasks, st.booleans())
    # Long executions repeat themselves; drawing each of their steps would take too long.
    steps = draw(st.lists(step, max_size=12)) * draw(st.integers(1, 12))
    count = len(steps)
    trace = Trace()
    for index, (task, operation, enabled, timed, yielded) in enumerate(steps):
        trace.tasks.append(task)
        trace.choices.append(task)
        trace.operations.append(operation)
        trace.enabled.append(enabled)
        trace.timed.append(timed)
        trace.yielded.append(yielded)
        if operation.kind.name == "choose":
            trace.arities[index] = 2
    trace.task_infos = {
        task: TaskInfo(task, draw(words), draw(words)) for task in TASKS if draw(st.booleans())
    }
    trace.resources = {
        id: Resource(id, "Lock", draw(st.sampled_from(["Lock", "Lock x.py:3", "A.b", ""])))
        for id in IDS
        if draw(st.booleans())
    }
    trace.final_pending = draw(st.dictionaries(st.sampled_from(TASKS), operations, max_size=3))
    period = draw(st.integers(0, min(count, 4)))
    trace.outcome = Outcome(
        draw(st.sampled_from([kind for kind in OutcomeKind if kind.is_failure])),
        draw(words),
        draw(st.one_of(st.none(), st.sampled_from(TASKS))),
        stack=draw(frames),
        traceback=draw(words),
        blocked=tuple(draw(st.lists(blocked, max_size=4))),
        cycle=draw(tasks),
        repeating=tuple(range(count - period, count)),
    )
    return Failure(
        trace.outcome,
        trace,
        Plan(),
        "pct",
        1,
        2,
        essential=tuple(draw(st.lists(st.integers(0, count), max_size=4, unique=True))),
        interpreter=draw(st.sampled_from(list(Interpreter))),
    )


@settings(max_examples=examples(30), deadline=None)
@given(failure=failures(), width=st.integers(40, 200), full=st.booleans())
def test_any_trace_can_be_reported(failure: Failure, width: int, full: bool) -> None:
    text = failure_text(failure, width=width, full=full, encoding="latin-1")
    text.encode("latin-1")
    for line in text.splitlines():
        assert cell_len(line) <= width


@pytest.mark.parametrize("kind", [kind for kind in OutcomeKind if kind.is_failure])
def test_bare_outcomes(kind: OutcomeKind) -> None:
    outcome = Outcome(kind)
    text = failure_text(Failure(outcome, Trace(outcome=outcome), Plan(), "", 0, 0))
    assert kind.value in text.lower() or "did not end" in text
