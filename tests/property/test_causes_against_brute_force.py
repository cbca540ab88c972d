"""Causes of failures of made-up programs, against all of their interleavings."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.minimisation.causes import find_cause
from bohrbug.exploration.minimisation.examples import renamed, renamings
from bohrbug.exploration.minimisation.normal_form import longest_stretches, normalise
from bohrbug.exploration.minimisation.preemptions import cost, minimise
from bohrbug.model.cause import Cause, Strength
from bohrbug.model.happens_before import canonical_hash
from bohrbug.model.history import history_of
from bohrbug.model.outcome import Outcome, OutcomeKind, TaskInfo
from bohrbug.model.plan import Ordered, Plan
from bohrbug.model.trace import Trace
from tests.simulated import Final, Instruction, Program, execute, is_small
from tests.thoroughness import examples

MOST_SCHEDULES = 250

moderate = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)

variables = st.sampled_from(["x", "y"])
pieces = st.one_of(
    variables.map(lambda v: [Instruction("read", v)]),
    st.builds(lambda v, n: [Instruction("write", v, n)], variables, st.integers(1, 2)),
    variables.map(lambda v: [Instruction("read", v), Instruction("write", v, 1)]),
    st.permutations(["k", "l"]).map(
        lambda both: [
            *[Instruction("acquire", lock) for lock in both],
            *[Instruction("release", lock) for lock in both],
        ]
    ),
    st.builds(
        lambda v: [
            Instruction("acquire", "k"),
            Instruction("read", v),
            Instruction("write", v, 1),
            Instruction("release", "k"),
        ],
        variables,
    ),
    st.just([Instruction("down", "s")]),
    st.just([Instruction("up", "s")]),
)
programs = st.lists(st.lists(pieces, min_size=1, max_size=2), min_size=2, max_size=3).map(
    lambda code: Program(
        tuple(
            ("0" if number == 0 else f"0.{number}", tuple(i for piece in task for i in piece))
            for number, task in enumerate(code)
        ),
        semaphores=(("s", 0),),
    )
)


class Test:
    """A program that fails if it ends in a given way."""

    __test__ = False

    def __init__(self, program: Program, failing: Final, alike: bool = False) -> None:
        self.program = program
        self.failing = failing
        self.alike = alike

    def execute(self, plan: Plan) -> Trace:
        trace, final = execute(self.program, plan)
        failed = final == self.failing
        trace.outcome = Outcome(OutcomeKind.ASSERTION if failed else OutcomeKind.PASSED)
        if self.alike:
            for task, _ in self.program.tasks:
                trace.task_infos[task] = TaskInfo(task, target="work")
        return trace

    def all(self) -> Iterator[Trace]:
        """Every schedule once."""
        work: list[tuple[str | int, ...]] = [()]
        while work:
            prefix = work.pop()
            trace = self.execute(Plan(prefix))
            assert trace.divergence is None
            yield trace
            for step in range(len(prefix), len(trace)):
                work += [
                    (*trace.choices[:step], option)
                    for option in trace.options(step)
                    if option != trace.choices[step]
                ]


def met(cause: Cause, trace: Trace, with_renamings: bool) -> bool:
    history = history_of(trace)
    ways = renamings(trace) if with_renamings else [{}]
    return any(all(history.meets(renamed(o, way)) for o in cause.orderings) for way in ways)


def check(cause: Cause, traces: list[Trace]) -> None:
    """Whether what is claimed is so, on all schedules that there are."""
    sides: dict[bool, list[bool]] = {True: [], False: []}
    for trace in traces:
        sides[met(cause, trace, bool(cause.alike))].append(trace.outcome.is_failure)
    match cause.strength:
        case Strength.EXACT:
            assert all(sides[True])
            assert not any(sides[False])
        case Strength.SUFFICIENT:
            assert all(sides[True])
            assert any(sides[False])
        case Strength.NECESSARY:
            assert not any(sides[False])
        case Strength.ALWAYS:
            assert all(sides[True])
            assert not sides[False]
    assert sides[True], "orderings that nothing can meet explain nothing"


def plans(program: Program) -> Iterator[Plan]:
    """All schedules of a program, as plans."""
    for trace in Test(program, ("done", frozenset(), ())).all():
        yield Plan(tuple(trace.choices))


def cause_and_traces(
    program: Program, number: int, executions: int, alike: bool = False
) -> tuple[Cause | None, list[Trace]]:
    """The cause of one of the ends of a program, taken for a failure, and all its traces."""
    finals = sorted({repr(f): f for f in (execute(program, t)[1] for t in plans(program))}.items())
    test = Test(program, finals[number % len(finals)][1], alike)
    traces = list(test.all())
    failing = [trace for trace in traces if trace.outcome.is_failure]
    budget = Budget(executions)
    return find_cause(failing[number % len(failing)], test.execute, budget), traces


def check_cause(program: Program, number: int, alike: bool = False) -> None:
    cause, traces = cause_and_traces(program, number, 20_000, alike)
    if cause is not None:
        assert cause.complete
        check(cause, traces)


@given(programs, st.integers(0, 10_000))
@moderate
def test_what_is_claimed_of_all_schedules_is_so(program: Program, number: int) -> None:
    assume(is_small(program, MOST_SCHEDULES))
    check_cause(program, number)


@given(st.lists(pieces, min_size=1, max_size=2), st.integers(2, 3), st.integers(0, 10_000))
@moderate
def test_so_it_is_with_tasks_that_can_be_exchanged(
    work: list[list[Instruction]], tasks: int, number: int
) -> None:
    code = tuple(i for piece in work for i in piece)
    program = Program(
        (
            ("0", (Instruction("read", "x"),)),
            *((f"0.{n}", code) for n in range(1, tasks + 1)),
        ),
        semaphores=(("s", 0),),
    )
    assume(is_small(program, MOST_SCHEDULES))
    check_cause(program, number, alike=True)


@given(programs, st.integers(0, 10_000))
@moderate
def test_a_sample_makes_no_claim_that_its_figures_deny(program: Program, number: int) -> None:
    assume(is_small(program, MOST_SCHEDULES))
    cause, _ = cause_and_traces(program, number, 25)
    if cause is None:
        return
    assert 0 < cause.met_failed <= cause.met
    assert 0 <= cause.unmet_failed <= cause.unmet
    match cause.strength:
        case Strength.EXACT:
            assert cause.met == cause.met_failed
            assert not cause.unmet_failed
        case Strength.SUFFICIENT:
            assert cause.met == cause.met_failed
        case Strength.NECESSARY:
            assert not cause.unmet_failed
        case Strength.ALWAYS:
            assert not cause.unmet


@given(programs, st.integers(0, 10_000))
@moderate
def test_another_order_of_independent_operations_is_the_same_execution(
    program: Program, number: int
) -> None:
    assume(is_small(program, MOST_SCHEDULES))
    traces = list(Test(program, ("done", frozenset(), ())).all())
    trace = traces[number % len(traces)]
    for longest_first in (False, True):
        order = longest_stretches(trace, longest_first=longest_first)
        assert sorted(order) == list(range(len(trace)))
        again, _ = execute(program, Plan(tuple(trace.choices[step] for step in order)))
        assert again.divergence is None
        assert canonical_hash(again) == canonical_hash(trace)


@given(programs, st.integers(0, 10_000))
@moderate
def test_minimisation_and_normal_form_keep_the_failure_and_never_cost_more(
    program: Program, number: int
) -> None:
    assume(is_small(program, MOST_SCHEDULES))
    traces = [execute(program, plan) for plan in plans(program)]
    test = Test(program, traces[number % len(traces)][1])
    found = test.execute(Plan(tuple(traces[number % len(traces)][0].choices)))
    fewest = minimise(found, test.execute)
    normal = normalise(fewest, test.execute)
    assert normal.outcome.is_failure
    assert cost(normal) <= cost(fewest) <= cost(found)


@given(programs, st.integers(0, 10_000), st.integers(0, 7))
@moderate
def test_orderings_of_an_execution_can_be_imposed_on_others(
    program: Program, number: int, seed: int
) -> None:
    assume(is_small(program, MOST_SCHEDULES))
    from bohrbug.exploration.minimisation.candidates import Candidates

    traces = list(Test(program, ("done", frozenset(), ())).all())
    trace = traces[number % len(traces)]
    orderings = Candidates(trace).of_failing
    again, _ = execute(program, Plan(policy=Ordered(orderings, seed)))
    history = history_of(again)
    # All conflicting neighbours in the same order: the same happens-before.
    assert all(history.meets(ordering) for ordering in orderings)
    assert canonical_hash(again) == canonical_hash(trace)
