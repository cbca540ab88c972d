"""Minimisation: preemptions, covers, normal form, candidates, causes."""

from __future__ import annotations

import threading
from collections import Counter
from zlib import crc32

import pytest

import bohrbug
from bohrbug.exploration.minimisation import candidates
from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.minimisation.candidates import (
    NEIGHBOURS,
    Candidates,
    conflicting_pairs,
)
from bohrbug.exploration.minimisation.causes import find_cause
from bohrbug.exploration.minimisation.covering import greedy_cover, smallest_cover
from bohrbug.exploration.minimisation.examples import (
    alike_tasks,
    renamed,
    renamed_task,
    renamings,
)
from bohrbug.exploration.minimisation.normal_form import normalise
from bohrbug.exploration.minimisation.preemptions import (
    AS_LONG_AS_IT_CAN,
    cost,
    lengthened,
    minimise,
    switches_of,
    variations,
)
from bohrbug.model.cause import Strength
from bohrbug.model.operation import READ, RELEASE, WRITE, Site
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.outcome import Divergence, Outcome, OutcomeKind, TaskInfo
from bohrbug.model.plan import Plan, Switches, UniformRandom
from bohrbug.model.trace import Trace
from tests.simulated import Instruction, Program, execute, tasks, writes


def test_the_smallest_cover() -> None:
    sets = {"a": 0b0011, "b": 0b0110, "c": 0b1100, "d": 0b1000}
    assert smallest_cover(sets, 0b1111, 3) == ["a", "c"]
    assert smallest_cover(sets, 0, 3) == []
    assert smallest_cover(sets, 0b10000, 3) is None
    assert smallest_cover(sets, 0b1111, 1) is None


def test_of_equally_small_covers_the_one_that_costs_less() -> None:
    sets = {"a": 0b01, "b": 0b10, "c": 0b10}
    assert smallest_cover(sets, 0b11, 3) == ["a", "b"]
    crosswise = {"a": 0b0011, "b": 0b1100, "c": 0b0101, "d": 0b1010}
    assert smallest_cover(crosswise, 0b1111, 3) == ["a", "b"]
    assert smallest_cover(crosswise, 0b1111, 3, lambda names: int("a" in names)) == ["c", "d"]


def test_a_large_cover_is_found_greedily_and_holds_nothing_needless() -> None:
    sets = {str(bit): 1 << bit for bit in range(5)} | {"two": 0b00011}
    chosen = smallest_cover(sets, 0b11111, 4)
    assert chosen is not None
    assert sorted(chosen) == ["2", "3", "4", "two"]
    assert greedy_cover({"a": 0b01}, 0b11, 3) == (["a"], 0b01)


def test_normal_form_runs_each_task_in_one_go_where_that_changes_nothing() -> None:
    program = Program(
        (
            ("0", (Instruction("write", "x", 1), Instruction("write", "x", 1))),
            ("0.1", (Instruction("write", "y", 1), Instruction("write", "y", 1))),
        )
    )

    def run(plan: Plan) -> Trace:
        trace, _ = execute(program, plan)
        trace.outcome = Outcome(OutcomeKind.ASSERTION)
        return trace

    mixed = run(Plan(("0", "0.1", "0", "0.1")))
    assert normalise(mixed, run).tasks == ["0", "0", "0.1", "0.1"]


def test_a_normal_form_that_is_not_confirmed_is_not_taken() -> None:
    program = Program(
        (
            ("0", (Instruction("write", "x", 1), Instruction("write", "x", 1))),
            ("0.1", (Instruction("write", "y", 1),)),
        )
    )
    mixed, _ = execute(program, Plan(("0", "0.1", "0")))
    mixed.outcome = Outcome(OutcomeKind.ASSERTION)

    def run(plan: Plan) -> Trace:
        # Something that no operation tells makes it pass.
        return execute(program, plan)[0]

    assert normalise(mixed, run) is mixed


# -- pairs of conflicting operations ------------------------------------------------


def pairs_of(program: Program, *choices: str) -> set[tuple[tuple[str, str], tuple[str, str]]]:
    """The pairs of an execution, each operation as its task and kind."""
    trace, _ = execute(program, Plan(choices))
    assert trace.divergence is None
    return {
        ((first.task, first.kind.name), (second.task, second.kind.name))
        for first, second in conflicting_pairs(trace)
    }


def test_an_operation_is_paired_with_the_last_ones_of_each_other_task() -> None:
    many = NEIGHBOURS + 2
    program = tasks(writes(many), writes(many), [Instruction("read", "x")])
    trace, _ = execute(program, Plan((*["0"] * many, *["0.1"] * many, "0.2")))
    last = [first for first, second in conflicting_pairs(trace) if second.task == "0.2"]
    numbers = {task: [e.occurrence for e in last if e.task == task] for task in ("0", "0.1")}
    expected = list(range(many - NEIGHBOURS + 1, many + 1))
    assert numbers == {"0": expected, "0.1": expected}


def test_of_a_long_execution_only_the_last_steps_are_paired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tasks(writes(6), writes(6))
    trace, _ = execute(program, Plan(("0", "0.1") * 6))
    every = list(conflicting_pairs(trace))
    monkeypatch.setattr(candidates, "MOST_STEPS", 2)
    of_last_steps = list(conflicting_pairs(trace))
    assert of_last_steps == every[-len(of_last_steps) :]
    assert {second.occurrence for _, second in of_last_steps} == {6}
    monkeypatch.setattr(candidates, "MOST_PAIRS", 3)
    assert len(candidates.Candidates(trace).of_failing) == 3


def test_a_task_that_wakes_up_takes_its_lock_again() -> None:
    waits = [
        Instruction("acquire", "lock of c"),
        Instruction("wait", "c"),
        Instruction("wake", "c"),
    ]
    holds = [Instruction("acquire", "lock of c"), Instruction("release", "lock of c")]
    program = tasks(waits, [*holds, Instruction("notify", "c")])
    found = pairs_of(program, "0", "0", "0.1", "0.1", "0.1", "0")
    assert (("0.1", "release"), ("0", "wake")) in found


# -- causes ----------------------------------------------------------------------


def lost_updates(tasks: int) -> Program:
    add = (Instruction("read", "x"), Instruction("write", "x", 1))
    return Program(tuple(("0" if not n else f"0.{n}", add) for n in range(tasks)))


class Run:
    """Executes a program; it fails if an update was lost."""

    def __init__(self, program: Program, expected: int, alike: bool = False) -> None:
        self.program, self.expected, self.alike = program, expected, alike
        self.count = 0

    def __call__(self, plan: Plan) -> Trace:
        self.count += 1
        trace, (_, variables, _) = execute(self.program, plan)
        if dict(variables).get("x", 0) != self.expected:
            trace.outcome = Outcome(OutcomeKind.ASSERTION)
        if self.alike:
            for task in dict.fromkeys(trace.tasks):
                trace.task_infos[task] = TaskInfo(task, target="add")
        return trace


def event(kind: str, task: str) -> Event:
    return Event(task, READ if kind == "read" else WRITE, "0:x", None)


def test_the_cause_of_a_lost_update() -> None:
    run = Run(lost_updates(2), 2)
    cause = find_cause(run(Plan(("0", "0.1"))), run, Budget(200))
    assert cause is not None
    assert cause.strength is Strength.EXACT
    assert set(cause.orderings) == {
        Ordering(event("read", "0"), event("write", "0.1")),
        Ordering(event("read", "0.1"), event("write", "0")),
    }
    assert cause.complete
    assert cause.unmet_failed == 0 < cause.unmet
    assert cause.met_failed == cause.met > 0


def test_with_three_tasks_any_two_of_them_will_do() -> None:
    program = Program(
        (
            ("0", (Instruction("read", "y"),)),
            *(
                (f"0.{n}", (Instruction("read", "x"), Instruction("write", "x", 1)))
                for n in (1, 2, 3)
            ),
        )
    )
    run = Run(program, 3, alike=True)
    cause = find_cause(run(Plan(("0", "0.1", "0.2", "0.1", "0.2"))), run, Budget(20_000))
    assert cause is not None
    assert cause.strength is Strength.EXACT
    assert cause.alike == (("0.1", "0.2", "0.3"),)
    assert len(cause.orderings) == 2
    # Told apart, only one half is true.
    apart = Run(program, 3)
    cause = find_cause(apart(Plan(("0", "0.1", "0.2", "0.1", "0.2"))), apart, Budget(20_000))
    assert cause is not None
    assert cause.strength is Strength.SUFFICIENT
    assert cause.unmet_failed > 0


class _Cache:
    """Counts what it loads, beside what matters."""

    def __init__(self) -> None:
        self.data: dict[str, object] = {}
        self.loads = 0

    def get(self, key: str) -> object:
        if key not in self.data:
            self.loads += 1
            self.data[key] = object()
        return self.data[key]


def _fills_a_cache_twice() -> None:
    cache, found = _Cache(), {}

    def work(number: int) -> None:
        found[number] = cache.get("key")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if found[0] is not found[1]:
        raise LookupError


def test_what_only_follows_from_the_orderings_that_matter_is_not_claimed_in_their_place() -> None:
    (failure,) = bohrbug.explore(_fills_a_cache_twice, strategy="pos", seconds=None).failures
    assert failure.cause is not None
    assert failure.cause.strength is Strength.EXACT
    # It was first said to fail whenever the counter is accessed in a certain order.
    resources = {each.first.resource for each in failure.cause.orderings}
    labels = {failure.trace.resources[resource].label for resource in resources}
    assert labels == {"dict _Cache.data['key']"}


class FirstUsersNames(Run):
    """As :class:`Run`, with variables named after the task that comes to them first."""

    def __call__(self, plan: Plan) -> Trace:
        trace = super().__call__(plan)
        counts: Counter[str] = Counter()
        names: dict[str, str] = {}
        for task, operation in zip(trace.tasks, trace.operations, strict=True):
            if operation.resource not in names and operation.kind.is_data:
                names[operation.resource] = f"{task}:{counts[task]}.variable"
                counts[task] += 1
        trace.operations = [o._replace(resource=names[o.resource]) for o in trace.operations]
        return trace


def test_what_is_named_after_its_first_user_is_the_same_in_all_executions() -> None:
    run = FirstUsersNames(lost_updates(2), 2)
    cause = find_cause(run(Plan(("0.1", "0"))), run, Budget(200))
    assert cause is not None
    assert cause.strength is Strength.EXACT
    assert {(o.first.task, o.first.kind, o.second.kind) for o in cause.orderings} == {
        ("0", READ, WRITE),
        ("0.1", READ, WRITE),
    }


def test_nothing_is_claimed_of_names_that_may_mean_something_else() -> None:
    other = (Instruction("read", "y"),)
    add = (Instruction("read", "x"), Instruction("write", "x", 1))
    run = FirstUsersNames(Program((("0", (*add, *other)), ("0.1", (*other, *add)))), 2)
    # What task 0.1 comes to first is y, or x where the other one was at y before.
    failing = run(Plan(("0.1", "0.1", "0", "0", "0.1")))
    assert failing.outcome.is_failure
    assert find_cause(failing, run, Budget(200)) is None


def test_what_waiting_tasks_would_do_later_is_no_cause_of_a_deadlock() -> None:
    def locked(*locks: str) -> tuple[Instruction, ...]:
        ends = [Instruction("release", lock) for lock in reversed(locks)]
        return (*(Instruction("acquire", lock) for lock in locks), *ends)

    program = Program(
        (("0", locked("m", "k", "l")), ("0.1", locked("l", "k")), ("0.2", locked("m")))
    )
    failing = execute(program, Plan(("0", "0", "0.1")))[0]
    assert failing.outcome.kind is OutcomeKind.DEADLOCK
    found = Candidates(failing)
    found.learn(execute(program, Plan(("0.2", "0.2")))[0], {})
    # Task 0.1 never comes to its releases, nor 0 to its own.
    assert found.ranks
    assert not [o for o in found.ranks if o.second.kind is RELEASE]


def test_orderings_that_a_rare_failure_meets_by_luck_are_not_claimed() -> None:
    program = lost_updates(4)

    def run(plan: Plan) -> Trace:
        trace, _ = execute(program, plan)
        if crc32(" ".join(map(str, trace.choices)).encode()) % 25 == 0:
            trace.outcome = Outcome(OutcomeKind.ASSERTION)
        return trace

    failing = next(
        trace for n in range(1_000) if (trace := run(Plan((), UniformRandom(n)))).outcome.is_failure
    )
    assert find_cause(failing, run, Budget(250)) is None


def test_a_failure_whatever_the_schedule() -> None:
    run = Run(lost_updates(2), 17)
    cause = find_cause(run(Plan()), run, Budget(100))
    assert cause is not None
    assert cause.strength is Strength.ALWAYS
    assert cause.orderings == ()


def test_the_budget_in_executions_is_kept_and_too_few_give_no_claim() -> None:
    run = Run(lost_updates(4), 4)
    failing = run(Plan(("0", "0.1")))
    run.count = 0
    find_cause(failing, run, Budget(30))
    assert run.count <= 30
    assert find_cause(failing, run, Budget(1)) is None


def test_an_interrupt_ends_the_search_for_a_cause() -> None:
    run = Run(lost_updates(4), 4)
    failing = run(Plan(("0", "0.1")))
    run.count = 0
    find_cause(failing, run, Budget(1_000, is_stopped=lambda: run.count >= 20))
    assert run.count == 20


def test_the_budget_in_seconds_is_kept() -> None:
    run = Run(lost_updates(3), 3)
    failing = run(Plan(("0", "0.1")))
    run.count = 0
    assert find_cause(failing, run, Budget(1_000, 0.0)) is None
    assert run.count == 0


def test_an_interrupt_ends_it() -> None:
    run = Run(lost_updates(3), 3)
    failing = run(Plan(("0", "0.1")))
    count = 0

    def interrupted(_: Plan) -> Trace:
        nonlocal count
        count += 1
        trace = Trace()
        trace.outcome = Outcome(OutcomeKind.INTERRUPTED)
        return trace

    assert find_cause(failing, interrupted, Budget(1_000)) is None
    assert count == 1


# -- tasks that can be exchanged ---------------------------------------------------


def infos(*tasks: tuple[str, str]) -> Trace:
    trace = Trace()
    for task, target in tasks:
        trace.task_infos[task] = TaskInfo(task, target=target)
    return trace


def test_tasks_of_one_parent_that_run_the_same_function_are_alike() -> None:
    trace = infos(("0", "test"), ("0.1", "f"), ("0.2", "g"), ("0.3", "f"), ("0.1.1", "f"))
    assert alike_tasks(trace) == [("0.1", "0.3")]
    assert renamings(trace) == [{"0.1": "0.1", "0.3": "0.3"}, {"0.1": "0.3", "0.3": "0.1"}]
    assert alike_tasks(infos(("0", "t"), ("0.1", ""), ("0.2", ""))) == []


def test_too_many_ways_to_exchange_tasks_are_none() -> None:
    trace = infos(("0", "test"), *((f"0.{n}", "f") for n in range(1, 6)))
    assert renamings(trace) == [{}]


@pytest.mark.parametrize(
    ("task", "place"),
    [("0.1", "0.2"), ("0.1.4", "0.2.4"), ("0.2.1.1", "0.1.1.1"), ("0.12", "0.12"), ("0", "0")],
)
def test_the_descendants_of_a_task_go_with_it(task: str, place: str) -> None:
    assert renamed_task(task, {"0.1": "0.2", "0.2": "0.1"}) == place


def test_an_ordering_of_other_tasks() -> None:
    ordering = Ordering(event("read", "0.1"), event("write", "0.2"))
    assert renamed(ordering, {"0.1": "0.2", "0.2": "0.1"}) == Ordering(
        event("read", "0.2"), event("write", "0.1")
    )
    assert renamed(ordering, {}) is ordering


# -- preemptions -----------------------------------------------------------------


NEEDLESS = ("0", "0.1", "0.2", "0", "0.1", "0.2", "0.1", "0", "0.2")
"""Loses an update of three tasks, by more preemptions than that takes."""


def three_busy_tasks() -> Program:
    add = (Instruction("read", "x"), Instruction("write", "y", 1), Instruction("write", "x", 1))
    return Program((("0", add), ("0.1", add), ("0.2", add)))


def test_no_preemption_is_left_that_the_failure_does_not_need() -> None:
    run = Run(three_busy_tasks(), 3)
    failing = run(Plan(NEEDLESS))
    assert failing.outcome.is_failure
    assert len(failing.preemptions()) > 3
    smallest = minimise(failing, run)
    assert smallest.outcome == failing.outcome
    assert len(smallest.preemptions()) == 1
    # From the reading of one to its writing comes the other, as a whole.
    assert run(Plan(tuple(smallest.choices))).outcome == failing.outcome


def test_preemptions_before_the_one_that_matters_are_taken_away() -> None:
    add = (Instruction("write", "y", 1), Instruction("read", "x"), Instruction("write", "x", 1))
    run = Run(Program((("0", add), ("0.1", add))), 2)
    failing = run(Plan(("0", "0.1", "0", "0.1", "0.1", "0")))
    assert failing.outcome.is_failure
    assert len(failing.preemptions()) == 3
    assert len(minimise(failing, run).preemptions()) == 1


def test_of_schedules_with_as_many_preemptions_the_one_with_fewer_switches_is_smaller() -> None:
    program = tasks(writes(2), writes(1))
    costs = [cost(execute(program, Plan(p))[0]) for p in [("0", "0.1", "0"), ("0", "0"), ("0.1",)]]
    assert costs == [(0, 1, 2, 3), (0, 0, 1, 3), (0, 0, 1, 3)]
    waits = tasks([Instruction("down", "s"), *writes(1)], [Instruction("up", "s"), *writes(1)])
    program = Program(waits.tasks, semaphores=(("s", 0),))
    there_and_back, once = (execute(program, Plan(p))[0] for p in [("0.1", "0"), ("0.1", "0.1")])
    assert cost(once) < cost(there_and_back)


def test_stretches_of_a_task_are_joined_at_either_place() -> None:
    assert list(variations([("0", 1), ("0.1", 2), ("0", 3)])) == [
        [("0", 4), ("0.1", 2)],
        [("0.1", 2), ("0", 4)],
    ]


def test_a_stretch_goes_on_until_its_task_has_to_wait() -> None:
    assert list(lengthened([("0", 1), ("0.1", 2), ("0", 3)])) == [
        [("0", 1), ("0.1", AS_LONG_AS_IT_CAN), ("0", 3)],
        [("0", AS_LONG_AS_IT_CAN), ("0.1", 2), ("0", 3)],
    ]


def test_of_many_tasks_those_are_left_out_that_do_not_matter() -> None:
    add = [Instruction("read", "x"), Instruction("write", "x", 1)]
    run = Run(tasks(*(writes(2, f"y{number}") for number in range(14)), add, add), 2)
    everybody = ("0", *(f"0.{number}" for number in range(1, 16)))
    failing = run(Plan(everybody * 2))
    assert len(failing.preemptions()) > 14
    assert len(minimise(failing, run, Budget(45)).preemptions()) == 1


def a_long_detour() -> tuple[Program, Plan]:
    """Two tasks give way to each other all the time, and lose an update in the end."""
    add = [*writes(8, "y"), Instruction("read", "x"), Instruction("write", "x", 1)]
    return tasks(add, add), Plan(("0", "0.1") * 10)


def test_schedule_is_told_by_its_switches() -> None:
    program, plan = a_long_detour()
    failing, _ = execute(program, plan)
    again, _ = execute(program, Plan((), Switches(tuple(switches_of(failing).values()))))
    assert again.tasks == failing.tasks


def test_one_that_yields_and_goes_on_is_told_as_well() -> None:
    program = tasks([Instruction("yield"), *writes(1)], writes(1), writes(1))
    yields, _ = execute(program, Plan(("0", "0", "0.2", "0.1")))
    again, _ = execute(program, Plan((), Switches(tuple(switches_of(yields).values()))))
    assert again.tasks == yields.tasks


def test_timeout_that_fires_though_others_could_run_is_told_as_well() -> None:
    waits = tasks([Instruction("down", "s", timeout=1.0), *writes(1)], writes(2))
    program = Program(waits.tasks, semaphores=(("s", 0),))
    early, _ = execute(program, Plan(("0", "0.1", "0", "0.1")))
    again, _ = execute(program, Plan((), Switches(tuple(switches_of(early).values()))))
    assert (again.tasks, early.preemptions()[0]) == (early.tasks, 0)
    alone = tasks([*writes(1), Instruction("down", "s", timeout=1.0)], writes(2))
    program = Program(alone.tasks, semaphores=(("s", 0),))
    early, _ = execute(program, Plan(("0", "0", "0.1")))
    assert early.preemptions() == [1]
    again, _ = execute(program, Plan((), Switches(tuple(switches_of(early).values()))))
    assert again.tasks == early.tasks


def test_many_preemptions_are_taken_away_in_a_few_executions() -> None:
    program, plan = a_long_detour()
    run = Run(program, 2)
    failing = run(plan)
    assert len(failing.preemptions()) > 15
    run.count = 0
    smallest = minimise(failing, run, Budget(8), {Switches})
    assert run.count <= 8
    assert len(smallest.preemptions()) == 1
    # One after the other that takes longer.
    assert len(minimise(failing, run, Budget(8)).preemptions()) > 1


@pytest.mark.parametrize("library", [threading.__file__, __file__])
def test_preemptions_in_libraries_are_the_first_to_go(library: str) -> None:
    """What matters comes first here, and is in the program; the rest may be in a library."""
    add = [Instruction("read", "x"), Instruction("write", "x", 1), *writes(8, "y")]
    base = Run(tasks(add, add), 2)
    places = {True: Site(__file__, 1, "run"), False: Site(library, 1, "run")}

    def run(plan: Plan) -> Trace:
        trace = base(plan)
        trace.operations[:] = [
            each._replace(place=places[each.resource.endswith("x")]) for each in trace.operations
        ]
        return trace

    smallest = minimise(run(Plan(("0", "0.1") * 10)), run, Budget(3), {Switches})
    assert (len(smallest.preemptions()) == 1) == (library != __file__)


def test_what_is_no_smaller_is_not_taken() -> None:
    run = Run(three_busy_tasks(), 3)
    smallest = minimise(run(Plan(NEEDLESS)), run)

    def the_same(plan: Plan) -> Trace:
        return run(Plan(tuple(smallest.choices)))

    assert minimise(smallest, the_same) is smallest


def test_a_timeout_that_fires_when_nobody_can_run_is_not_early() -> None:
    waits = tasks([Instruction("down", "s", timeout=1.0)], writes(1))
    program = Program(waits.tasks, semaphores=(("s", 0),))
    early, late = (execute(program, Plan((first,)))[0] for first in ("0", "0.1"))
    assert early.has_fired(0)
    assert late.has_fired(1)
    assert (early.fired_early(), late.fired_early()) == ((0,), ())


def test_what_fails_in_another_way_is_not_taken_for_the_failure() -> None:
    run = Run(three_busy_tasks(), 3)
    failing = run(Plan(NEEDLESS))

    def otherwise(plan: Plan) -> Trace:
        trace = run(plan)
        trace.outcome = Outcome(OutcomeKind.EXCEPTION, exception="KeyError")
        return trace

    assert minimise(failing, otherwise) is failing


def test_what_has_not_followed_its_plan_is_no_smaller_schedule() -> None:
    run = Run(three_busy_tasks(), 3)
    failing = run(Plan(NEEDLESS))

    def diverging(plan: Plan) -> Trace:
        trace = run(plan)
        trace.divergence = Divergence(0, "0", "0.1")
        return trace

    assert minimise(failing, diverging) is failing


def test_the_budget_of_executions_is_kept() -> None:
    run = Run(three_busy_tasks(), 3)
    failing = run(Plan(NEEDLESS))
    run.count = 0
    minimise(failing, run, Budget(2))
    assert run.count == 2


def test_the_budget_of_seconds_is_kept() -> None:
    run = Run(three_busy_tasks(), 3)
    failing = run(Plan(NEEDLESS))
    run.count = 0
    assert minimise(failing, run, Budget(200, 0)) is failing
    assert run.count == 0
