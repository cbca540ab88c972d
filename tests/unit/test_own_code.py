"""The program's own code before that of libraries: in draws, in minimising and in causes."""

from __future__ import annotations

import threading
from collections import Counter
from random import Random

import pytest

from bohrbug.exploration.minimisation import candidates, causes, needed_orderings, preemptions
from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.minimisation.causes import find_cause
from bohrbug.exploration.minimisation.needed_orderings import drop_orderings
from bohrbug.exploration.minimisation.preemptions import LONG, minimise
from bohrbug.model.cause import Strength
from bohrbug.model.operation import BEGIN, READ, SPAWN, WRITE, Operation, Site
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import Ordered, Plan, ResourceEvent, UniformRandom, WeightedRandom
from bohrbug.model.trace import Trace
from bohrbug.search.own_code import OWN_SHARE, is_in_own_code, own_or_all
from bohrbug.search.reads_from_draws import Draws, Readers, Sources
from bohrbug.search.surw import SelectivelyUniform
from tests.simulated import Instruction, Program, execute, tasks, writes

HERE = Site(__file__, 1, "f")
THERE = Site(threading.__file__, 1, "f")


class LosesUpdate:
    """Executes two tasks that also write what is no concern of the program; counts executions.

    Parameters:
        others: how often each writes something else before it updates ``x``.
        resources: how many different things these are.
        idle: tasks that have nothing to do with it.
    """

    def __init__(self, others: int, resources: int = 1, idle: int = 0) -> None:
        before = [
            instruction
            for number in range(others)
            for instruction in writes(1, f"y{number % resources}")
        ]
        add = [*before, Instruction("read", "x"), Instruction("write", "x", 1)]
        self._program: Program = tasks(add, add, *(writes(1, "z") for _ in range(idle)))
        self.count = 0

    def __call__(self, plan: Plan) -> Trace:
        self.count += 1
        trace, (_, variables, _) = execute(self._program, plan)
        if dict(variables).get("x", 0) != 2:
            trace.outcome = Outcome(OutcomeKind.ASSERTION)
        return trace


def is_x(point: object) -> bool:
    return point == "0:x"


@pytest.fixture
def only_x_is_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (candidates, needed_orderings):
        monkeypatch.setattr(module, "is_in_own_code", is_x)


def test_a_place_is_own_unless_it_is_known_to_be_in_a_library() -> None:
    assert is_in_own_code(HERE)
    assert is_in_own_code("0:x")
    assert not is_in_own_code(THERE)


def test_half_of_the_draws_are_of_own_candidates() -> None:
    random = Random(1)
    drawn = Counter(len(own_or_all([1], [1, 2, 3], random)) for _ in range(1_000))
    assert drawn[1] == pytest.approx(1_000 * OWN_SHARE, abs=60)
    assert drawn.keys() == {1, 3}


@pytest.mark.parametrize("own", [[], [1, 2, 3]])
def test_nothing_is_drawn_where_it_makes_no_difference(own: list[int]) -> None:
    random = Random(1)
    before = random.getstate()
    assert own_or_all(own, [1, 2, 3], random) == [1, 2, 3]
    assert random.getstate() == before


def test_reads_from_asks_half_the_time_about_own_readers() -> None:
    def event(task: str, kind: str, site: Site) -> ResourceEvent:
        return ResourceEvent(task, kind, "x", site, 1)

    source = event("0.1", "write", HERE)
    readers = Readers(
        [(source, event("0.2", "read", HERE._replace(line=5)))]
        + [(source, event("0.2", "read", THERE._replace(line=line))) for line in range(200)]
    )
    sources = Sources(10)
    sources.add(source)
    draws, random = Draws(), Random(1)
    asked = [draws.new(readers, sources, random).reader.site for _ in range(400)]
    assert sum(site is not None and site.filename == __file__ for site in asked) > 150


def test_surw_selects_half_the_time_what_own_code_is_in_conflict_about() -> None:
    strategy = SelectivelyUniform(1)
    trace = Trace()
    for resource in ["own", *(f"library{number}" for number in range(50))]:
        place = HERE if resource == "own" else THERE._replace(line=len(trace.tasks) + 1)
        for task in ("0", "0.1"):
            trace.tasks.append(task)
            trace.choices.append(task)
            trace.operations.append(Operation(WRITE, resource, place))
    strategy.learn(trace)
    selected: Counter[frozenset[object] | None] = Counter()
    for _ in range(400):
        plan = strategy.next_plan()
        assert plan is not None
        if isinstance(plan.policy, WeightedRandom):
            selected[plan.policy.selected] += 1
        strategy.observe(Trace(plan=plan))
    # A quarter: half of those that select one resource.
    assert selected[frozenset({HERE})] == pytest.approx(100, abs=30)


def test_one_execution_keeps_the_orders_of_own_code_only(only_x_is_own: None) -> None:
    run = LosesUpdate(8)
    failing = run(Plan(("0", "0.1") * 10))
    assert len(failing.preemptions()) > 15
    run.count = 0
    assert len(minimise(failing, run, Budget(1), {Ordered}).preemptions()) == 2
    assert run.count == 1
    assert len(minimise(failing, run, Budget(1)).preemptions()) > 2


def test_else_those_of_ever_fewer_resources_are_kept() -> None:
    run = LosesUpdate(20, resources=10)
    failing = run(Plan(("0", "0.1") * 22))
    kept: list[int] = []

    def fails_alike(orderings: tuple[Ordering, ...]) -> bool:
        kept.append(len({ordering.second.resource for ordering in orderings}))
        return run(Plan((), Ordered(orderings))).outcome.is_failure

    drop_orderings(failing, fails_alike, lambda: False)
    assert kept[0] == 11
    assert min(kept) == 1
    # Halves, quarters, ... of eleven.
    assert len(kept) < 20


def test_what_does_not_fail_by_own_orders_is_tried_by_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = LosesUpdate(8)
    failing = run(Plan(("0", "0.1") * 10))
    tried: list[tuple[Ordering, ...]] = []

    def fails_alike(orderings: tuple[Ordering, ...]) -> bool:
        tried.append(orderings)
        return False

    # All is own code, so that own orders are all.
    drop_orderings(failing, fails_alike, lambda: False)
    assert len(tried) == 1
    monkeypatch.setattr(needed_orderings, "is_in_own_code", is_x)
    drop_orderings(failing, fails_alike, lambda: False)
    assert [len({each.second.resource for each in orderings}) for orderings in tried] == [2, 1, 2]
    drop_orderings(failing, fails_alike, lambda: True)
    assert len(tried) == 3


def test_too_many_orderings_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = LosesUpdate(8)(Plan(("0", "0.1") * 10))
    monkeypatch.setattr(needed_orderings, "MOST_ORDERINGS", 3)
    tried: list[object] = []
    drop_orderings(failing, lambda each: bool(tried.append(each)), lambda: False)
    assert not tried


def test_each_task_comes_after_the_last_of_another_only() -> None:
    failing = LosesUpdate(8)(Plan(("0", "0.1") * 10))
    pairs = [
        (each.second, each.first.task)
        for group in needed_orderings.orderings_by_resource(failing)
        for each in group
    ]
    assert len(pairs) == len(set(pairs))


def test_a_long_schedule_with_few_preemptions_is_left_at_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, half = LosesUpdate(LONG // 2, idle=9), LONG // 2
    failing = run(Plan(("0",) * (half + 1) + ("0.1",) * (half + 2) + ("0",)))
    assert failing.outcome.is_failure
    assert len(failing) > LONG
    assert 0 < len(failing.preemptions()) <= preemptions.FEW
    run.count = 0
    monkeypatch.setattr(preemptions, "MOST_IN_VAIN_WHERE_LONG", 2)
    minimise(failing, run)
    assert run.count < 10


def test_the_cause_of_a_long_execution_is_looked_for_in_own_code_first(
    only_x_is_own: None,
) -> None:
    run = LosesUpdate(LONG // 2, resources=40)
    draws = (run(Plan((), UniformRandom(seed))) for seed in range(100))
    failing = next(trace for trace in draws if trace.outcome.is_failure)
    cause = find_cause(failing, run, Budget(30))
    assert cause is not None
    assert cause.strength is Strength.EXACT
    assert {event.resource for each in cause.orderings for event in (each.first, each.second)} == {
        "0:x"
    }


@pytest.mark.parametrize("own", ["0:y0", "0:z"])
def test_where_own_code_explains_nothing_all_is_looked_at(
    own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "is_in_own_code", lambda point: point == own)
    monkeypatch.setattr(causes, "LONG", 5)
    run = LosesUpdate(2)
    failing = run(Plan(("0", "0.1") * 5))
    assert failing.outcome.is_failure
    if own == "0:z":
        # Own code is in conflict about nothing, so that nothing is spent on it.
        monkeypatch.setattr(causes, "_find_in_own_code", lambda *_: pytest.fail("looked for"))
    cause = find_cause(failing, run, Budget(200))
    assert cause is not None
    assert cause.strength is Strength.EXACT


def test_that_tasks_begin_and_end_is_no_conflict_of_own_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = (Event("0", SPAWN, "0.1", HERE), Event("0.1", BEGIN, "0.1", HERE))
    data = (Event("0", WRITE, "x", HERE), Event("0.1", READ, "x", HERE))
    for pairs, is_about_it in (([], False), ([life], False), ([life, data], True)):
        monkeypatch.setattr(candidates, "conflicting_pairs", lambda *_, pairs=pairs, **__: pairs)
        assert candidates.is_about_own_code(Trace()) is is_about_it
