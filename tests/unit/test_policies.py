"""The executors of policies, one step at a time and against their stated distributions."""

from __future__ import annotations

from collections import Counter
from math import comb

import pytest

from bohrbug.model.operation import READ, RELEASE, WRITE, YIELD, Kind, Operation, Site
from bohrbug.model.plan import (
    Constraint,
    PartialOrder,
    Plan,
    Policy,
    ReadsFrom,
    ResourceEvent,
    WeightedRandom,
)
from bohrbug.model.reads_from import dependences
from bohrbug.model.site import point_of
from bohrbug.runtime.policies import decider_for
from tests.deciding import View
from tests.simulated import Instruction, Program, execute, tasks, writes

EXECUTIONS = 1_500


def view(number: int, kind: Kind, resource: str = "0:x", site: Site | None = None) -> View:
    return View(f"0.{number}", number, Operation(kind, resource, site))


def orders(program: Program, policies: list[Policy]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(execute(program, Plan((), policy))[0].tasks) for policy in policies)


def chi_square(seen: Counter[object], expected: dict[object, float]) -> float:
    """How far counts are from probabilities; ``len(expected) - 1`` on average if they fit."""
    number = sum(seen.values())
    assert set(seen) <= set(expected)
    return sum((seen[k] - number * p) ** 2 / (number * p) for k, p in expected.items())


def fits(seen: Counter[object], expected: dict[object, float]) -> bool:
    # Mean and standard deviation of the chi-square distribution; five of them.
    freedom = len(expected) - 1
    return chi_square(seen, expected) < freedom + 5 * (2 * freedom) ** 0.5


# ------------------------------------------------------------------- points


def test_an_operation_that_never_conflicts_runs_at_once() -> None:
    site, other = Site("a.py", 1, "f"), Site("a.py", 2, "f")
    decision, quiet = view(1, WRITE, site=site), view(2, WRITE, site=other)
    for policy in (
        PartialOrder(0, frozenset({site})),
        WeightedRandom(0, (), None, frozenset({site})),
        ReadsFrom(0, (), frozenset({site})),
    ):
        for seed_step in range(20):
            decider = decider_for(policy)
            assert decider.choose(decision, [decision, quiet], [], False, seed_step) is quiet


def test_the_running_task_goes_on_before_another_that_is_no_decision() -> None:
    first, second = view(1, WRITE), view(2, WRITE)
    decider = decider_for(PartialOrder(0, frozenset()))
    assert decider.choose(second, [first, second], [], False, 0) is second
    assert decider.choose(second, [first, second], [], True, 1) is first


def test_a_yield_is_always_a_decision() -> None:
    sleeper, worker = view(1, YIELD), view(2, WRITE)
    decider = decider_for(PartialOrder(0, frozenset({"0:x"})))
    seen = {
        decider_for(PartialOrder(seed, frozenset({"0:x"})))
        .choose(sleeper, [sleeper, worker], [], False, 0)
        .id
        for seed in range(20)
    }
    assert seen == {"0.1", "0.2"}
    assert decider.value(1) == 0


def test_one_object_may_be_several_events() -> None:
    for seed in range(20):
        shared, apart = decider_for(PartialOrder(seed)), decider_for(PartialOrder(seed))
        same = [view(1, WRITE), view(2, WRITE)]
        for step in range(8):
            fresh = [view(1, WRITE), view(2, WRITE)]
            chosen = shared.choose(same[0], same, [], False, step)
            assert chosen.id == apart.choose(fresh[0], fresh, [], False, step).id


def test_a_point_is_a_site_or_else_a_resource() -> None:
    code = writes.__code__
    assert point_of(Operation(READ, "0:x")) == "0:x"
    assert point_of(Operation(READ, "0:x", Site("a.py", 1, "f"))) == Site("a.py", 1, "f")
    place = point_of(Operation(READ, "0:x", (code, 0)))
    assert isinstance(place, Site)
    assert place.function == "writes"
    assert point_of(Operation(READ, "0:y", (code, 0))) is place


# ---------------------------------------------------------------------- POS


def test_pos_gives_each_order_of_three_conflicting_events_the_same_probability() -> None:
    program = tasks(writes(1), writes(1), writes(1))
    seen = orders(program, [PartialOrder(seed) for seed in range(EXECUTIONS)])
    assert len(seen) == 6
    assert fits(seen, dict.fromkeys(seen, 1 / 6))


def test_pos_keeps_the_priority_of_an_event_until_one_conflicts_with_it() -> None:
    # The last of five independent steps of one task conflicts with the one step of another: a
    # random walk lets the other one be last with probability 2**-5.
    program = tasks([*writes(4, "own"), *writes(1)], writes(1))
    seen: Counter[object] = Counter()
    for seed in range(EXECUTIONS):
        trace, _ = execute(program, Plan((), PartialOrder(seed)))
        seen["last" if trace.tasks[-1] == "0.1" else "before"] += 1
    # All six priorities are drawn independently, and the single event waits for all five
    # others if its own is the lowest of the six.
    assert fits(seen, {"last": 1 / 6, "before": 5 / 6})


def test_pos_draws_again_after_a_conflict() -> None:
    # Without it, the one event would lose against both of the other task with probability 1/3;
    # with it, it loses against the first with 1/2 and then, drawn anew, against the second.
    program = tasks(writes(2), writes(1))
    seen = Counter(
        execute(program, Plan((), PartialOrder(seed)))[0].tasks.index("0.1")
        for seed in range(EXECUTIONS)
    )
    assert fits(seen, {0: 1 / 2, 1: 1 / 4, 2: 1 / 4})


def test_pos_chooses_data_values_and_timeouts() -> None:
    program = Program(
        (
            ("0", (Instruction("acquire", "k"), Instruction("read", "x"))),
            (
                "0.1",
                (Instruction("acquire", "k", timeout=1.0), Instruction("choose", "", 3)),
            ),
        )
    )
    registers = {execute(program, Plan((), PartialOrder(seed)))[1][2][1] for seed in range(100)}
    assert registers == {0, 1, 2}


# --------------------------------------------------------------------- SURW


@pytest.mark.parametrize("counts", [(2, 2), (1, 5), (3, 2, 1)])
def test_surw_gives_each_interleaving_the_same_probability(counts: tuple[int, ...]) -> None:
    program = tasks(*[writes(count) for count in counts])
    weights = tuple(("0" if n == 0 else f"0.{n}", count) for n, count in enumerate(counts))
    seen = orders(program, [WeightedRandom(seed, weights) for seed in range(EXECUTIONS)])
    number, left = 1, sum(counts)
    for count in counts:
        number *= comb(left, count)
        left -= count
    assert len(seen) == number
    assert fits(seen, dict.fromkeys(seen, 1 / number))


def test_surw_counts_tasks_that_do_not_exist_yet_for_their_parent() -> None:
    # The second task is spawned between events of the first; it has eight times as many.
    root = (*writes(1), Instruction("spawn", "0.1"), *writes(1, "late"))
    program = Program(
        (("0", root), ("0.1", tuple(writes(4))), ("0.2", tuple(writes(1)))),
        spawned=frozenset({"0.1"}),
    )
    weights = (("0", 2), ("0.1", 4), ("0.2", 1))
    points = frozenset({"0:x", "0:late"})
    seen: Counter[object] = Counter()
    for seed in range(EXECUTIONS):
        trace, _ = execute(program, Plan((), WeightedRandom(seed, weights, points, points)))
        steps = zip(trace.tasks, trace.operations, strict=True)
        seen[tuple(task for task, operation in steps if operation.kind is WRITE)] += 1
    # The first event of the root, then five in any order of the two, and the third task's
    # among all seven.
    assert len(seen) == 5 * 7
    assert fits(seen, dict.fromkeys(seen, 1 / 35))


def test_surw_is_uniform_over_the_selected_events_whatever_else_there_is() -> None:
    program = tasks(
        [*writes(3, "other"), *writes(2)],
        [*writes(1), *writes(5, "other"), *writes(1)],
    )
    weights = (("0", 2), ("0.1", 2))
    seen: Counter[object] = Counter()
    for seed in range(EXECUTIONS):
        policy = WeightedRandom(seed, weights, frozenset({"0:x"}))
        trace, _ = execute(program, Plan((), policy))
        steps = zip(trace.tasks, trace.operations, strict=True)
        seen[tuple(task for task, operation in steps if operation.resource == "0:x")] += 1
    assert len(seen) == 6
    assert fits(seen, dict.fromkeys(seen, 1 / 6))


def test_surw_goes_on_when_the_drawn_task_is_blocked_or_the_counts_are_wrong() -> None:
    section = [Instruction("acquire", "k"), *writes(2), Instruction("release", "k")]
    program = tasks(section, section, section)
    for weights in ((), (("0", 100),), (("0.7", 3),)):
        seen = orders(program, [WeightedRandom(seed, weights) for seed in range(50)])
        assert all(len(order) == 12 for order in seen)
    assert len(orders(program, [WeightedRandom(s, ()) for s in range(50)])) > 3


# --------------------------------------------------------------- reads-from


def event(task: str, kind: Kind, occurrence: int = 1, resource: str = "0:x") -> ResourceEvent:
    return ResourceEvent(task, kind.name, resource, None, occurrence)


READER = tasks(writes(3), writes(2), [Instruction("read", "x")])


@pytest.mark.parametrize(
    "source",
    [None, *[event("0", WRITE, n) for n in (1, 2, 3)], *[event("0.1", WRITE, n) for n in (1, 2)]],
)
def test_a_positive_constraint_is_met_whatever_the_seed(source: ResourceEvent | None) -> None:
    reader = event("0.2", READ)
    for seed in range(40):
        for points in (None, frozenset[str]()):
            policy = ReadsFrom(seed, (Constraint(source, reader),), points)
            trace, _ = execute(READER, Plan((), policy))
            pairs = {each.event: each.source for each in dependences(trace, 100)}
            assert pairs[reader] == source


def test_a_negative_constraint_is_met_whatever_the_seed() -> None:
    reader = event("0.2", READ)
    avoided = [None, event("0", WRITE, 2), event("0", WRITE, 1)]
    constraints = tuple(Constraint(source, reader, False) for source in avoided)
    sources = set()
    for seed in range(60):
        trace, _ = execute(READER, Plan((), ReadsFrom(seed, constraints)))
        pairs = {each.event: each.source for each in dependences(trace, 100)}
        sources.add(pairs[reader])
    assert not sources & set(avoided)
    assert len(sources) == 3


def test_a_lock_is_handed_over_as_wanted() -> None:
    section = [Instruction("acquire", "k"), *writes(1), Instruction("release", "k")]
    program = tasks(section * 2, section * 2, section * 2)
    first = Constraint(
        event("0.2", RELEASE, 2, "0:k"), ResourceEvent("0.1", "acquire", "0:k", None, 1)
    )
    second = Constraint(
        event("0.1", RELEASE, 1, "0:k"), ResourceEvent("0", "acquire", "0:k", None, 1)
    )
    for seed in range(40):
        trace, _ = execute(program, Plan((), ReadsFrom(seed, (first, second))))
        pairs = {each.event: each.source for each in dependences(trace, 100)}
        assert pairs[first.reader] == first.source
        assert pairs[second.reader] == second.source


def test_constraints_that_exclude_each_other_stop_nothing() -> None:
    one, other = event("0", READ), event("0.1", READ)
    program = tasks(
        [Instruction("read", "x"), *writes(1)],
        [Instruction("read", "x"), *writes(1)],
    )
    constraints = (
        Constraint(event("0", WRITE), other),
        Constraint(event("0.1", WRITE), one),
        Constraint(event("0.9", WRITE), one),
    )
    for seed in range(20):
        trace, _ = execute(program, Plan((), ReadsFrom(seed, constraints)))
        assert len(trace) == 4


def test_without_constraints_reads_from_is_pos() -> None:
    for seed in range(30):
        plain, _ = execute(READER, Plan((), PartialOrder(seed)))
        same, _ = execute(READER, Plan((), ReadsFrom(seed)))
        assert plain.choices == same.choices
