"""Wakeup trees, footprints, and the reversible races that fill them."""

from __future__ import annotations

from bohrbug.model.operation import READ, WRITE, Operation
from bohrbug.model.plan import NonPreemptive, Plan, Sleeper, Sleeping
from bohrbug.model.trace import Trace
from bohrbug.runtime.policies.sleeping import SleepingDecider
from bohrbug.search.dpor import OptimalReduction
from bohrbug.search.footprint import (
    EVERYTHING,
    Event,
    Footprint,
    Footprints,
    is_weak_initial,
)
from bohrbug.search.order_of_trace import late_firings, ordered_by_fairness
from bohrbug.search.races_of_trace import RaceFinder
from bohrbug.search.wakeup_tree import Branch, in_order, insert
from tests.deciding import View
from tests.simulated import Instruction, Program, execute

X, Y = 1, 2


def event(task: int, reads: int = 0, writes: int = 0) -> Event:
    return Event(task, f"0.{task}", Footprint(reads, writes))


def leaves(branches: list[Branch]) -> int:
    return sum(1 for branch in branches for _ in branch.leaves())


def test_a_weak_initial_commutes_with_all_before_it() -> None:
    sequence = [event(1, writes=X), event(2, reads=Y), event(3, writes=Y)]
    assert is_weak_initial(event(1, writes=X), sequence) == 0
    assert is_weak_initial(event(2, reads=Y), sequence) == 1
    assert is_weak_initial(event(3, writes=Y), sequence) is None
    assert is_weak_initial(event(4, reads=4), sequence) == 3
    assert is_weak_initial(event(4, reads=X), sequence) is None
    assert is_weak_initial(event(4, reads=X), sequence, 1) == 3
    assert is_weak_initial(Event(4, "0.4", EVERYTHING), sequence) is None


def test_another_value_of_a_data_choice_is_another_event() -> None:
    one, two = Event(1, 0, Footprint(X, 0)), Event(1, 1, Footprint(X, 0))
    assert is_weak_initial(one, [one]) == 0
    assert is_weak_initial(one, [two]) is None


def test_what_a_leaf_covers_is_not_inserted() -> None:
    branches: list[Branch] = []
    assert insert(branches, [event(1, writes=X), event(2, writes=X)])
    # The same up to the order of what commutes, and longer: the leaf leads there.
    assert not insert(branches, [event(3, writes=Y), event(1, writes=X), event(2, writes=X)])
    assert not insert(branches, [event(1, writes=X)])
    assert leaves(branches) == 1


def test_a_sequence_branches_off_where_it_disagrees() -> None:
    branches: list[Branch] = []
    assert insert(branches, [event(1, writes=X), event(2, writes=X), event(3, writes=X)])
    assert insert(branches, [event(1, writes=X), event(3, writes=X), event(2, writes=X)])
    assert insert(branches, [event(2, writes=X)])
    assert len(branches) == 2
    first = branches[0]
    assert [each.task for each in first.events] == [1]
    assert [[each.task for each in branch.events] for branch in first.branches] == [[2, 3], [3, 2]]
    assert leaves(branches) == 3


def test_a_data_choice_comes_before_what_it_cannot_be_parted_from() -> None:
    choice = Event(1, 2, Footprint(X, 0))
    assert in_order([event(2), choice, event(1)]) == [choice, event(2), event(1)]
    assert in_order([event(1), event(2), choice]) == [event(1), event(2), choice]


def test_footprints_conflict_as_operations_do() -> None:
    footprints = Footprints()
    read, write = footprints.of(False, "0:x"), footprints.of(True, "0:x")
    other = footprints.of(True, "0:y")
    assert not read.conflicts_with(read)
    assert read.conflicts_with(write)
    assert write.conflicts_with(write)
    assert not write.conflicts_with(other)
    assert EVERYTHING.conflicts_with(read)
    both = footprints.of_many({"0:x": False, "0:y": True})
    assert both.conflicts_with(write)
    assert not both.conflicts_with(read)
    assert footprints.names(both.reads | both.writes) == ("0:x", "0:y")
    assert footprints.of(True, "0") is EVERYTHING


def test_variables_that_may_have_another_name_are_compared_by_attribute() -> None:
    footprints = Footprints()
    mine, theirs = footprints.of(True, "0.1:0.value"), footprints.of(False, "0.2:0.value")
    lock = footprints.of(True, "0.1:0")
    assert not mine.conflicts_with(theirs)
    assert footprints.widened(mine, 0).conflicts_with(footprints.widened(theirs, 0))
    known = mine.writes | theirs.reads
    assert footprints.widened(mine, known) == mine
    assert footprints.widened(lock, 0) == lock


def written(*steps: tuple[str, str], enabled: tuple[str, ...] = ("0.1", "0.2", "0.3")) -> Trace:
    """Tasks write resources; all are enabled all the time."""
    return Trace(
        choices=[task for task, _ in steps],
        tasks=[task for task, _ in steps],
        operations=[Operation(WRITE, resource) for _, resource in steps],
        enabled=[enabled] * len(steps),
        timed=[()] * len(steps),
        yielded=[False] * len(steps),
    )


def test_variables_of_a_reversal_are_compared_by_attribute_where_they_are_new() -> None:
    strategy = OptimalReduction()
    finder = strategy._races
    trace = written(("0.1", "0.1:0.value"), ("0.2", "0.1:0.value"))
    (reversal,) = finder.take(trace, 0, 2)
    # Who comes first gives the name: in the other order it would be another.
    theirs = finder._footprints.widened(finder.footprint((), ["0.2:0.value"]), 0)
    assert not reversal.event.footprint.conflicts_with(theirs)
    assert [
        each.footprint.conflicts_with(theirs) for each in finder.widened(reversal, [reversal.event])
    ] == [True]
    sequence = strategy._new_sequence(reversal, ())
    assert sequence is not None
    assert [each.choice for each in sequence] == ["0.2"]
    assert sequence[0].footprint.conflicts_with(theirs)


def test_variables_that_were_met_before_the_reversal_keep_their_names() -> None:
    finder = RaceFinder(100)
    trace = written(("0.3", "0.3:0.value"), ("0.1", "0.3:0.value"), ("0.2", "0.3:0.value"))
    last = finder.take(trace, 0, 3)[-1]
    assert (last.step, last.event.choice) == (1, "0.2")
    assert finder.widened(last, last.sequence()) == last.sequence()


def test_a_timeout_that_fires_as_nobody_else_can_go_on_conflicts_with_all() -> None:
    trace = written(("0.1", "x"), ("0.2", "y"), ("0.3", "z"))
    trace.enabled[1], trace.timed[1] = (), ("0.2",)
    finder = RaceFinder(100)
    finder.take(trace, 0, 3)
    plain = [finder.footprint((), [name]) for name in "xyz"]
    assert finder.recorded.footprints == [plain[0], EVERYTHING, plain[2]]
    assert finder.recorded.touched == plain
    # What comes behind it happens after all that came before.
    assert [max(clock) for clock in finder.recorded.clocks] == [1, 2, 3]
    assert sorted(finder.recorded.clocks[2]) == [1, 2, 3]


def test_timeouts_are_late_where_only_they_let_a_task_go_on() -> None:
    trace = written(*[("0.1", "x")] * 6)
    for step in (0, 2, 3, 4, 5):
        trace.enabled[step], trace.timed[step] = (), ("0.1",)
    # One that could have fired before, and a choice of data, which blocks nobody.
    trace.arities = {3: 2}
    assert late_firings(trace, 0, 6, frozenset((4,))) == {0, 2, 5}
    assert late_firings(trace, 1, 5, frozenset()) == {2, 4}
    assert late_firings(trace, 1, 2, frozenset()) == set()


def reversals(trace: Trace) -> list[tuple[int, str, bool]]:
    finder = RaceFinder(100)
    return [
        (found.step, str(found.event.choice), found.uncertain)
        for found in finder.take(trace, 0, len(trace))
    ]


def test_the_order_around_a_yield_matters_until_those_have_run_that_it_lets_go_first() -> None:
    steps = [(task, f"{task} {turn}") for turn in range(2) for task in ("0.1", "0.2", "0.3")]
    trace = written(*steps)
    # With its first step the first comes to a yield, and the others have not run.
    trace.yielded[1] = True
    assert ordered_by_fairness(trace, len(trace)) == {0, 1, 2}
    finder = RaceFinder(100)
    finder.take(trace, 0, len(trace))
    everything = [footprint is EVERYTHING for footprint in finder.recorded.footprints]
    assert everything == [True, True, True, False, False, False]
    # At its second yield it waits for nobody who has run since.
    trace.yielded = [False, True, False, False, True, False]
    assert ordered_by_fairness(trace, len(trace)) == {0, 1, 2, 3, 4}


def test_each_timeout_is_tried_where_only_one_of_them_can_fire() -> None:
    trace = written(("0.1", "x"), ("0.2", "y"), ("0.3", "z"))
    trace.enabled[1], trace.timed[1] = (), ("0.2", "0.3")
    # Of the two steps only, as what the other one does then races with the timeout anyway.
    (reversal,) = RaceFinder(100).take(trace, 0, 2)
    assert (reversal.step, reversal.event.choice, reversal.uncertain) == (1, "0.3", False)
    # It conflicts with all, as the one that fired does.
    assert reversal.event.footprint is EVERYTHING


def locked(task: str) -> tuple[str, tuple[Instruction, ...]]:
    return task, (Instruction("acquire", "k"), Instruction("release", "k"))


def test_an_acquisition_is_reversed_with_the_one_before() -> None:
    trace, _ = execute(Program((locked("0"), locked("0.1"))), Plan())
    assert trace.choices == ["0", "0", "0.1", "0.1"]
    assert reversals(trace) == [(0, "0.1", False)]


def test_a_task_that_is_blocked_for_ever_is_reversed_too() -> None:
    program = Program((("0", (Instruction("acquire", "k"),)), locked("0.1")))
    trace, final = execute(program, Plan())
    assert final[0] == "deadlock"
    assert reversals(trace) == [(0, "0.1", False)]


def test_a_join_is_not_reversed() -> None:
    child = (Instruction("begin"), Instruction("end"))
    program = Program(
        (("0", (Instruction("spawn", "0.1"), Instruction("join", "0.1"))), ("0.1", child)),
        spawned=frozenset({"0.1"}),
    )
    trace, _ = execute(program, Plan())
    assert reversals(trace) == []


def test_a_failure_ends_what_others_had_to_do() -> None:
    program = Program(
        (("0", (Instruction("check", "x", 0),)), ("0.1", (Instruction("write", "y", 1),)))
    )
    trace, final = execute(program, Plan())
    assert final[0] == "failed"
    assert len(trace) == 1
    assert [found[:2] for found in reversals(trace)] == [(0, "0.1")]


def test_a_sleeping_task_is_passed_over_until_something_conflicts() -> None:
    one = View("0.1", 1, Operation(READ, "0:x"))
    two = View("0.2", 2, Operation(READ, "0:x"))
    three = View("0.3", 3, Operation(WRITE, "0:y"))
    tasks = [one, two, three]
    policy = Sleeping((Sleeper("0.1", reads=("0:x",)),))
    effects: list[tuple[int, str, str, bool]] = []
    decider = SleepingDecider(policy, effects)
    assert decider.choose(one, tasks, [], False, 0) is two
    assert decider.choose(one, tasks, [], False, 1) is two
    assert decider.choose(three, tasks, [], False, 2) is three
    effects.append((2, "0.3", "0:x", True))
    assert decider.choose(one, tasks, [], False, 3) is one


def test_a_sleeping_task_runs_if_there_is_no_other() -> None:
    one = View("0.1", 1, Operation(WRITE, "0:x"))
    two = View("0.2", 2, Operation(WRITE, "0:x"))
    decider = SleepingDecider(Sleeping((Sleeper("0.1", writes=("0:x",)),), first="0.2"), [])
    assert decider.choose(two, [one], [], False, 0) is one
    decider = SleepingDecider(Sleeping((Sleeper("0.1", wakes_at_once=True),), first="0.2"), [])
    assert decider.choose(one, [one, two], [], False, 0) is two
    assert decider.choose(one, [one, two], [], False, 1) is one


def test_the_lost_update_is_explored_to_the_end() -> None:
    strategy = OptimalReduction()
    assert strategy.next_plan() == Plan((), NonPreemptive())
    updating = (Instruction("read", "x"), Instruction("write", "x", 1))
    program = Program(tuple((f"0.{number}", updating) for number in (1, 2, 3)))
    executions = 0
    while (plan := strategy.next_plan()) is not None:
        trace, _ = execute(program, plan)
        strategy.observe(trace)
        executions += 1
    assert executions == 36
    assert strategy.exhausted
    assert strategy.complete
    assert strategy.covered() == (
        "all schedules up to the order of independent operations (36 executions),"
        " at up to 6 scheduling points"
    )
    strategy.restart()
    assert not strategy.exhausted
