"""The shim's executors of policies against those for tests in Python, on generated programs.

A trace says who could run at each step and what each task was about to do; asked the same, the
decider of :mod:`bohrbug.runtime.policies` in Python has to choose the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest

from bohrbug.model.history import data_choices, events_of, history_of
from bohrbug.model.operation import CHOOSE, ROOT, SPAWN, YIELD, Operation, Site
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.plan import (
    Aligned,
    Constraint,
    Ordered,
    PartialOrder,
    Plan,
    Policy,
    Priorities,
    ReadsFrom,
    Switches,
    UniformRandom,
    WeightedRandom,
)
from bohrbug.model.reads_from import Dependence, dependences
from bohrbug.model.trace import Trace
from bohrbug.runtime.policies import Decider, decider_for
from bohrbug.runtime.policies.in_c import reference_decider
from bohrbug.runtime.policies.reads_from import PATIENCE
from bohrbug.runtime.posix import symbols
from bohrbug.runtime.posix.build import compiler
from bohrbug.runtime.posix.enumerations import KINDS
from bohrbug.runtime.posix.plan_events import events_of_orderings
from bohrbug.runtime.posix.points import key_of
from bohrbug.runtime.posix.runtime import NativeRuntime
from bohrbug.runtime.posix.segment import POLICIES, SegmentFile, UnsupportedPolicyError
from bohrbug.runtime.threads.runtime import ThreadsRuntime
from bohrbug.search.reads_from import ReadsFromFuzzing
from tests.native.building import need_native
from tests.native.exploring import runtime_for
from tests.native.random_programs import compiled, random_program

Build = Callable[..., Path]


@dataclass
class View:
    """A task as deciders see it."""

    id: str
    index: int
    pending: Operation | None = None
    deadline: float | None = None


def views_of(trace: Trace) -> list[dict[str, View]]:
    """For each step what each task is about to do then: what it does next."""
    tasks = list(dict.fromkeys([ROOT, *trace.tasks, *trace.final_pending]))
    tasks.sort(key=lambda task: [int(part) for part in task.split(".")])
    # The shim numbers tasks in the order in which they are made.
    made = [ROOT]
    for task, operation in zip(trace.tasks, trace.operations, strict=True):
        if operation.kind is SPAWN:
            made.append(next(t for t in tasks if t not in made and t.rpartition(".")[0] == task))
    made += [task for task in tasks if task not in made]
    pending = {task: View(task, made.index(task)) for task in made}
    for task, operation in trace.final_pending.items():
        pending[task] = View(task, made.index(task), _with_no_place(operation))
    found = []
    for task, operation in zip(reversed(trace.tasks), reversed(trace.operations), strict=True):
        if operation.kind is not CHOOSE:
            pending = {
                **pending,
                task: View(task, made.index(task), _with_no_place(operation)),
            }
        found.append(pending)
    return found[::-1]


def _with_no_place(operation: Operation) -> Operation:
    """An operation as the shim knows it: by its resource, wherever that is used."""
    return Operation(operation.kind, operation.resource)


def chosen_by(decider: Decider, trace: Trace) -> list[object]:
    """What a decider chooses at each step of an execution."""
    views = views_of(trace)
    running = views[0][ROOT]
    found: list[object] = []
    for step, now in enumerate(views):
        if step in trace.arities:
            found.append(decider.value(trace.arities[step]))
            continue
        chosen = decider.choose(
            now.get(running.id, running),
            [now[task] for task in trace.enabled[step]],
            [now[task] for task in trace.timed[step]],
            trace.yielded[step],
            step,
        )
        found.append(chosen.id)
        # Who was chosen is who ran: the next step is of this execution in any case.
        running = now[trace.tasks[step]]
    return found


def decided_by_reference(policy: Policy, trace: Trace) -> list[object]:
    if isinstance(policy, UniformRandom | Priorities | PartialOrder | WeightedRandom):
        return chosen_by(reference_decider(policy), trace)
    return chosen_by(decider_for(policy), trace)


# -- policies --------------------------------------------------------------------------------------


def orderings_of(random: Random, traces: Sequence[Trace]) -> tuple[Ordering, ...]:
    """Some orderings of events of different tasks, of which not all can be met."""
    events = [event for trace in traces for event in events_of(trace) if event is not None]
    pairs = (random.sample(events, 2) for _ in range(200))
    found = [Ordering(*pair) for pair in pairs if pair[0].task != pair[1].task]
    return tuple(found[: random.randint(1, 5)])


def constraints_of(random: Random, traces: Sequence[Trace]) -> tuple[Constraint, ...]:
    """Some constraints on who reads from whom, of which not all can be met."""
    rows: list[Dependence] = [row for trace in traces for row in dependences(trace, 1000)]
    readers = [row.event for row in rows if row.reads]
    sources = [row.event for row in rows if row.writes]
    found = []
    for reader in random.choices(readers, k=random.randint(1, 6)) if readers else ():
        possible = [s for s in sources if s.resource == reader.resource and s.task != reader.task]
        source = random.choice([None, *possible])
        found.append(Constraint(_unplaced(source), _unplaced(reader), random.random() < 0.7))
    return tuple(found)


def _unplaced(event: Any) -> Any:
    return None if event is None else event._replace(site=None)


def seen_traces(runtime: NativeRuntime) -> list[Trace]:
    """A few executions of a program whose scheduling points are known then."""
    for seed in range(6):
        runtime.execute(Plan(policy=UniformRandom(seed)))
    return [runtime.execute(Plan(policy=UniformRandom(seed))).trace for seed in range(10, 14)]


SEEDS = {
    "mixed": (0, 1, 2),
    "atomics": (1, 3),
    "locks": (0, 1, 2),
    "readers": (0, 1),
    "semaphores": (0, 1, 2),
    "conditions": (0, 1),
    "unlocked": (0, 1),
}
"""Programs of some families."""

PROGRAMS = [(family, seed) for family, seeds in SEEDS.items() for seed in seeds]


@pytest.fixture
def program(tmp_path: Path) -> Callable[[int, str], Path]:
    need_native()
    cc = compiler()
    assert cc is not None

    def build(seed: int, family: str) -> Path:
        made = random_program(seed, family)
        return compiled(cc, made, tmp_path / f"program{seed}", *made.flags)

    return build


@pytest.mark.parametrize(("family", "seed"), PROGRAMS)
def test_orderings_are_kept_as_by_the_reference(
    program: Callable[[int, str], Path], family: str, seed: int
) -> None:
    random = Random(f"{seed} {family}")
    with runtime_for(program(seed, family)) as runtime:
        traces = seen_traces(runtime)
        for number in range(24):
            orderings = orderings_of(random, traces)
            policy = Ordered(orderings, number % 8)
            trace = runtime.execute(Plan(policy=policy)).trace
            assert decided_by_reference(policy, trace) == trace.choices


@pytest.mark.parametrize(("family", "seed"), [p for p in PROGRAMS if p[0] != "conditions"])
def test_constraints_are_met_as_by_the_reference(
    program: Callable[[int, str], Path], family: str, seed: int
) -> None:
    random = Random(f"{seed} {family}")
    with runtime_for(program(seed, family)) as runtime:
        traces = seen_traces(runtime)
        resources = sorted({op.resource for trace in traces for op in trace.operations})
        compared = 0
        for number in range(24):
            points = None
            if number % 2:
                points = frozenset(random.sample(resources, len(resources) // 2))
            policy = ReadsFrom(random.getrandbits(32), constraints_of(random, traces), points)
            trace = runtime.execute(Plan(policy=policy)).trace
            if trace.effects:
                # What touches more than its resource has more conflicts than the reference knows.
                continue
            compared += 1
            assert decided_by_reference(policy, trace) == trace.choices
        assert compared


def drawing_policies(random: Random, traces: Sequence[Trace]) -> list[Policy]:
    """One of each of the policies that draw, with what fits the executions."""
    resources = sorted({op.resource for trace in traces for op in trace.operations})
    tasks = sorted({task for trace in traces for task in trace.tasks})

    def some_points() -> frozenset[str] | None:
        return random.choice([None, frozenset(random.sample(resources, len(resources) // 2))])

    seed = random.getrandbits(64)
    weights = tuple((task, random.randint(0, 9)) for task in random.sample(tasks, len(tasks) - 1))
    return [
        UniformRandom(seed),
        Priorities(seed, random.randint(1, 6), random.randint(1, 60)),
        PartialOrder(seed, some_points()),
        WeightedRandom(seed, weights, some_points(), some_points()),
    ]


@pytest.mark.parametrize(("family", "seed"), [p for p in PROGRAMS if p[0] != "conditions"])
def test_the_policies_that_draw_choose_as_their_reference(
    program: Callable[[int, str], Path], family: str, seed: int
) -> None:
    random = Random(f"{seed} {family} drawing")
    with runtime_for(program(seed, family)) as runtime:
        traces = seen_traces(runtime)
        compared = 0
        for _ in range(8):
            for policy in drawing_policies(random, traces):
                trace = runtime.execute(Plan(policy=policy)).trace
                if trace.effects and isinstance(policy, PartialOrder):
                    # It has more conflicts than the reference knows.
                    continue
                compared += 1
                assert decided_by_reference(policy, trace) == trace.choices, policy
        assert compared > 20


@pytest.mark.parametrize("policy", [PartialOrder, lambda s, p: WeightedRandom(s, (), None, p)])
def test_a_yield_is_a_decision_wherever_these_are_made(
    native_build: Build, policy: Callable[[int, frozenset[str]], Policy]
) -> None:
    """Who polls a flag lets the one run that sets it, as by the reference."""
    with runtime_for(native_build("spins.c", "-DFIXED")) as runtime:
        done = runtime.execute(Plan()).trace.operations
        yielded_on = {operation.resource for operation in done if operation.kind is YIELD}
        assert yielded_on
        points = frozenset({operation.resource for operation in done} - yielded_on)
        for seed in range(12):
            trace = runtime.execute(Plan(policy=policy(seed, points))).trace
            assert not trace.outcome.is_failure
            assert decided_by_reference(trace.plan.policy, trace) == trace.choices


# -- what they are for -----------------------------------------------------------------------------


def test_an_ordering_is_imposed(native_build: Build) -> None:
    """Of two users of a mutex either can be made the first."""
    with runtime_for(native_build("orders.c", "-DUSERS")) as runtime:
        trace = runtime.execute(Plan()).trace
        acquired = [e for e in events_of(trace) if e is not None and e.kind.name == "acquire"]
        first, last = acquired[0], acquired[-1]
        assert first.task != last.task
        for ordering in (Ordering(first, last), Ordering(last, first)):
            for seed in range(4):
                policy = Ordered((ordering,), seed)
                assert history_of(runtime.execute(Plan(policy=policy)).trace).meets(ordering)


def test_a_mutex_comes_from_whom_the_plan_says(native_build: Build) -> None:
    with runtime_for(native_build("orders.c", "-DUSERS")) as runtime:
        rows = list(dependences(runtime.execute(Plan()).trace, 1000))
        readers = [row.event for row in rows if row.event.kind == "acquire"]
        sources = [row.event for row in rows if row.event.kind == "release"]
        pairs = [(s, r) for r in readers for s in sources if s.task != r.task]
        assert len(pairs) > 4
        for source, reader in pairs:
            for seed in range(3):
                policy = ReadsFrom(seed, (Constraint(source, reader),))
                found = dependences(runtime.execute(Plan(policy=policy)).trace, 1000)
                assert (source, reader) in [(row.source, row.event) for row in found]


def test_constraints_are_given_up_where_a_loop_waits_for_what_is_held_back(
    native_build: Build,
) -> None:
    """As soon as by the reference: after so many timeouts."""
    with runtime_for(native_build("waits_for_flag.c", "-fsanitize=thread")) as runtime:
        rows = list(dependences(runtime.execute(Plan()).trace, 1000))
        acquired = {row.event.task: row.event for row in rows if row.event.kind == "acquire"}
        released = {row.event.task: row.event for row in rows if row.event.kind == "release"}
        # The other task is to get the mutex from the one that waits for it.
        constraint = Constraint(_unplaced(released["0"]), _unplaced(acquired["0.1"]))
        for seed in range(6):
            policy = ReadsFrom(seed, (constraint,))
            trace = runtime.execute(Plan(policy=policy)).trace
            assert not trace.outcome.is_failure
            assert sum(map(trace.has_fired, range(len(trace)))) >= PATIENCE
            assert decided_by_reference(policy, trace) == trace.choices


def test_the_values_of_data_choices_are_those_of_the_plan(native_build: Build) -> None:
    program = native_build("error_paths.c", "-DFIXED")
    with runtime_for(program, ["send"], faults=("send",), most_faults=3) as runtime:
        made = dict(data_choices(runtime.execute(Plan()).trace))
        assert len(made) > 1
        firsts = set()
        for number in range(24):
            # Beyond what the plan says there is no fault without preemptions, else any may be.
            values = tuple((task, (number & 1, number >> 1 & 1)) for task in made)
            policy = Ordered((), number % 4, values if number < 12 else ())
            trace = runtime.execute(Plan(policy=policy)).trace
            assert decided_by_reference(policy, trace) == trace.choices
            if number >= 12 and number % 4:
                firsts |= {values[0] for values in dict(data_choices(trace)).values()}
        assert firsts == {0, 1}


def test_a_search_by_who_reads_from_whom_looks_up_no_lines(
    native_build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lines_of(path: str, offsets: Sequence[int]) -> dict[int, Site]:
        raise AssertionError(path, offsets)

    monkeypatch.setattr(symbols, "lines_of", lines_of)
    strategy = ReadsFromFuzzing(1)
    constrained = 0
    with runtime_for(native_build("orders.c", "-DUSERS")) as runtime:
        for _ in range(30):
            plan = strategy.next_plan()
            assert plan is not None
            constrained += isinstance(plan.policy, ReadsFrom) and bool(plan.policy.constraints)
            strategy.observe(runtime.execute(plan).trace)
    assert constrained > 10


def test_the_plans_of_a_batch_are_known_ahead(native_build: Build) -> None:
    strategy = ReadsFromFuzzing(1)
    most = 0
    with runtime_for(native_build("orders.c", "-DUSERS")) as runtime:
        for _ in range(40):
            plan = strategy.next_plan()
            assert plan is not None
            sure = list(strategy.lookahead_plans(16))
            assert sure[:1] == ([plan] if sure else [])
            most = max(most, len(sure))
            strategy.observe(runtime.execute(plan).trace)
            if len(sure) > 1:
                assert strategy.next_plan() == sure[1]
    assert most > 1


# -- which there are -------------------------------------------------------------------------------


def test_the_policies_of_the_shim_are_those_that_it_does_not_refuse() -> None:
    with SegmentFile(100) as segments:
        for policy in get_args(Policy):
            made = policy(*_ARGUMENTS.get(policy.__name__, ()))
            if policy in POLICIES:
                segments.first.prepare(Plan(policy=made), 100)
            else:
                with pytest.raises(UnsupportedPolicyError):
                    segments.first.prepare(Plan(policy=made), 100)


_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "UniformRandom": (1,),
    "Priorities": (1, 2, 3),
    "Segments": ((),),
    "Switches": ((),),
    "Ordered": ((),),
    "PartialOrder": (1,),
    "WeightedRandom": (1, ()),
    "ReadsFrom": (1,),
    "Sleeping": ((),),
    "Aligned": ((),),
}


def test_both_runtimes_say_what_they_can_execute() -> None:
    assert NativeRuntime.policies == POLICIES
    assert frozenset(get_args(Policy)) - POLICIES == {Aligned, Switches}
    assert ThreadsRuntime.policies == frozenset(get_args(Policy))


# -- how events are named --------------------------------------------------------------------------


def test_a_place_in_the_source_names_no_event() -> None:
    there = Event("0.1", KINDS[4], "0:1.mutex", Site("test.py", 3, "test"))
    with pytest.raises(ValueError, match=r"test\.py:3"):
        events_of_orderings(Ordered((Ordering(there, there),)), {"0": 0, "0.1": 1})


def test_events_are_grouped_by_resource() -> None:
    """And those of resources that native programs don't have are of none, and never happen."""
    names = {"0": 0, "0.1": 1, "0.2": 2}
    release = next(kind for kind in KINDS if kind.name == "release")
    other, same = "0:1.mutex", "0:2.mutex"
    made = [
        Event(task, release, resource, None, number)
        for task, resource, number in (
            ("0.1", other, 1),
            ("0.2", same, 2),
            ("0.1", same, 1),
            ("0.2", "exit", 1),
        )
    ]
    orderings = (
        Ordering(made[0], made[1]),
        Ordering(made[2], made[1]),
        Ordering(made[3], made[0]),
    )
    tables = events_of_orderings(Ordered(orderings), names)
    keys = {key_of(other), key_of(same)}
    assert tables.stretches.keys() == keys
    assert len(tables.rows) == 4
    assert [tables.rows[pair[1]][0] >> 6 for pair in tables.pairs].count(2) == 2
    for begin, end, first, last in tables.stretches.values():
        for event in range(begin, end):
            _, _, mine, mine_end = tables.rows[event]
            assert all(pair[1] == event for pair in tables.pairs[mine:mine_end])
        assert all(begin <= pair[1] < end for pair in tables.pairs[first:last])
    assert sum(last - first for _, _, first, last in tables.stretches.values()) == 3
