"""The executors of policies, asked about one decision after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from bohrbug.model.operation import READ, WRITE, YIELD, Kind, Operation
from bohrbug.model.plan import (
    Constraint,
    PartialOrder,
    Policy,
    Priorities,
    ReadsFrom,
    ResourceEvent,
    Segments,
    Sleeper,
    Sleeping,
    Switch,
    Switches,
    WeightedRandom,
)
from bohrbug.runtime.policies import decider_for, earliest, next_in_turn
from bohrbug.runtime.policies.decider import VARIED_AFTER, Decider, TaskView
from bohrbug.runtime.policies.drawing import SplitMix
from bohrbug.runtime.policies.partial_order import PartialOrderDecider
from bohrbug.runtime.policies.reads_from import PATIENCE
from bohrbug.runtime.policies.sleeping import Effect, SleepingDecider
from tests.deciding import View

SEEDS = range(200)


def view(
    number: int, kind: Kind = WRITE, resource: str = "x", deadline: float | None = None
) -> View:
    return View(f"0.{number}", number, Operation(kind, resource, None), deadline)


def made(decider: Decider, tasks: Sequence[View], steps: int) -> list[int]:
    """Whom a decider lets run, among tasks that can always go on."""
    running: TaskView = tasks[0]
    found = []
    for step in range(steps):
        running = decider.choose(running, tasks, [], False, step)
        found.append(running.index)
    return found


# -- the non-preemptive policy ---------------------------------------------------------------------


def test_the_next_in_turn_is_the_first_that_was_created_later() -> None:
    first, second, third = view(1), view(2), view(3)
    assert next_in_turn(second, [first, third], False, 0) is third
    assert next_in_turn(first, [second, third], False, 0) is second
    assert next_in_turn(third, [first, second], False, 0) is first
    assert next_in_turn(second, [first, second, third], True, VARIED_AFTER - 1) is third


def test_in_a_long_execution_the_order_of_those_that_yield_varies() -> None:
    tasks = [view(1), view(2), view(3)]
    steps = range(VARIED_AFTER, VARIED_AFTER + 50)
    assert {next_in_turn(tasks[0], tasks, True, step).index for step in steps} == {1, 2, 3}
    assert {next_in_turn(tasks[0], tasks, False, step).index for step in steps} == {2}


def test_the_earliest_timeout_comes_first_and_among_equals_that_of_the_oldest() -> None:
    late, soon, as_soon = view(1, deadline=2.0), view(2, deadline=1.0), view(3, deadline=1.0)
    assert earliest([late, soon, as_soon]) is soon
    assert earliest([as_soon, soon]) is soon
    assert earliest([late, as_soon]) is as_soon


def test_a_stretch_has_as_many_steps_as_it_says() -> None:
    decider = decider_for(Segments((("0.2", 2), ("0.1", 3), ("0.3", 1))))
    assert made(decider, [view(1), view(2), view(3)], 8) == [2, 2, 1, 1, 1, 3, 3, 3]


def test_a_stretch_of_a_task_that_can_not_run_is_passed_over() -> None:
    decider = decider_for(Segments((("0.2", 2), ("0.3", 1))))
    assert made(decider, [view(1), view(3)], 3) == [3, 3, 3]


def test_a_switch_follows_the_step_that_it_names() -> None:
    switches = Switch("0.1", 2, "0.2"), Switch("0.2", 3, "0.1")
    decider = decider_for(Switches(switches))
    assert made(decider, [view(1), view(2)], 7) == [1, 1, 2, 2, 2, 1, 1]


def test_a_switch_to_a_task_that_can_not_run_is_left_out() -> None:
    decider = decider_for(Switches((Switch("0.1", 1, "0.9"), Switch("0.1", 2, "0.2"))))
    assert made(decider, [view(1), view(2)], 4) == [1, 1, 2, 2]


def test_a_task_that_is_held_waits_until_nobody_else_can_run() -> None:
    decider = decider_for(Switches((Switch("0.1", 1, "0.2", held="0.1"),)))
    first, second, third = view(1), view(2), view(3)
    assert decider.choose(first, [first, second], [], False, 0) is first
    assert decider.choose(first, [first, second], [], False, 1) is second
    # The one that was to go on waits, and who comes after the second is the third.
    assert decider.choose(second, [first, third], [], False, 2) is third
    assert decider.choose(third, [first, second], [], False, 3) is second
    assert decider.choose(second, [first], [], False, 4) is first
    # From now on it is one like others.
    assert decider.choose(third, [first, second], [], False, 5) is first


def test_switches_make_the_data_choices_of_each_task() -> None:
    decider = decider_for(Switches((Switch("0.1", 1, "0.2"),), (("0.1", (2, 1)), ("0.2", (1,)))))
    tasks = [view(1), view(2)]
    decider.choose(tasks[0], tasks, [], False, 0)
    assert decider.value(3) == 2
    decider.choose(tasks[0], tasks, [], False, 1)
    assert (decider.value(3), decider.value(3)) == (1, 0)


# -- PCT -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_pct_changes_as_often_as_its_depth_says(depth: int) -> None:
    """As two tasks can always go on, each change of priority passes control to the other."""
    changes = [
        sum(a != b for a, b in pairwise(tasks))
        for seed in SEEDS
        for tasks in [made(decider_for(Priorities(seed, depth, 30)), [view(1), view(2)], 40)]
    ]
    # Two of them may fall on one step, or on the first.
    assert max(changes) == depth - 1
    assert changes.count(depth - 1) > len(changes) / 4


def test_pct_begins_with_any_task() -> None:
    first = [made(decider_for(Priorities(seed, 1, 9)), [view(1), view(2)], 9) for seed in SEEDS]
    assert all(len(set(tasks)) == 1 for tasks in first)
    assert 60 < sum(tasks[0] == 1 for tasks in first) < 140


def test_pct_lets_a_task_that_yields_drop_every_second_time() -> None:
    dropped = 0
    for seed in SEEDS:
        tasks = [view(1, YIELD), view(2), view(3)]
        decider = decider_for(Priorities(seed, 1, 9))
        running = decider.choose(tasks[0], tasks, [], False, 0)
        following = decider.choose(running, tasks, [], True, 1)
        dropped += following is not running
        # Who has not dropped goes on; who has is below all others.
        others = [task for task in tasks if task not in (running, following)]
        if following is not running:
            assert decider.choose(following, [running, *others], [], False, 2) in others
    assert 60 < dropped < 140


def test_pct_lets_a_task_whose_timeout_fires_drop_every_second_time() -> None:
    dropped = 0
    for seed in SEEDS:
        tasks = [view(1, deadline=1.0), view(2, deadline=2.0)]
        decider = decider_for(Priorities(seed, 1, 9))
        first = decider.choose(tasks[0], [], tasks, False, 0)
        dropped += decider.choose(first, [], tasks, False, 1) is not first
    assert 60 < dropped < 140


# -- where decisions are made ----------------------------------------------------------------------


def test_a_yield_is_a_decision_though_nothing_conflicts_with_it() -> None:
    waits, works = view(1, YIELD, "clock"), view(2)
    for policy in (PartialOrder, lambda seed, points: ReadsFrom(seed, (), points)):
        deciders = [decider_for(policy(seed, frozenset({"x"}))) for seed in SEEDS]
        chosen = {each.choose(works, [waits, works], [], False, 0).id for each in deciders}
        assert chosen == {"0.1", "0.2"}


# -- POS, SURW, RFF --------------------------------------------------------------------------------


def keeps_priorities(kind: Kind, others: Kind) -> set[bool]:
    """Whether two pending events keep their first priorities when a third has been executed.

    All are of one resource.

    Parameters:
        kind: of the one that is executed.
        others: of the two.
    """
    found = set()
    for seed in SEEDS:
        decider = PartialOrderDecider(seed, None)
        tasks = [view(1, kind), view(2, others), view(3, others)]
        random = SplitMix(seed)
        drawn = {task.id: random.priority() for task in tasks}
        if decider.choose(tasks[0], tasks, [], False, 0) is tasks[0]:
            del drawn["0.1"]
            found.add(decider._priorities == drawn)
    return found


def test_pos_draws_anew_for_what_conflicts_and_for_nothing_else() -> None:
    assert keeps_priorities(READ, READ) == {True}
    assert keeps_priorities(WRITE, READ) == {False}
    assert keeps_priorities(READ, WRITE) == {False}
    assert keeps_priorities(WRITE, WRITE) == {False}


def share(policy: Callable[[int], Policy], steps: int) -> float:
    """The part of the steps that the first of two tasks makes."""
    executions = [
        made(decider_for(policy(seed)), [view(1), view(2)], steps) for seed in range(1_000)
    ]
    return sum(tasks.count(1) for tasks in executions) / sum(map(len, executions))


def test_surw_draws_in_proportion_to_the_events_that_are_left() -> None:
    assert 0.87 < share(lambda seed: WeightedRandom(seed, (("0.1", 9), ("0.2", 1))), 1) < 0.93
    # Nine steps later the first has, as a rule, no more of them left than the second.
    assert share(lambda seed: WeightedRandom(seed, (("0.1", 9), ("0.2", 1))), 10) < 0.85


def test_surw_counts_who_does_not_exist_yet_for_its_ancestor() -> None:
    weights = (("0.1", 1), ("0.2", 1), ("0.1.1.1", 8))
    assert 0.87 < share(lambda seed: WeightedRandom(seed, weights), 1) < 0.93


def test_surw_gives_up_whom_it_has_drawn_where_a_task_yields() -> None:
    """Else who was drawn, and yields, would go on for ever: those that it waits for must not."""
    for seed in SEEDS:
        weights = WeightedRandom(seed, (("0.1", 1), ("0.2", 1), ("0.3", 2)), frozenset({"x"}))
        decider = decider_for(weights)
        waits, first, second = view(3, YIELD, "clock"), view(1), view(2)
        drawn = set()
        for step in range(100):
            chosen = decider.choose(waits, [waits, first, second], [], True, step)
            drawn.add(chosen.id)
        assert drawn == {"0.1", "0.2", "0.3"}


def test_rff_gives_its_constraints_up_where_tasks_yield_again_and_again() -> None:
    reader = ResourceEvent("0.1", "read", "x", None, 1)
    source = ResourceEvent("0.2", "write", "x", None, 1)
    decider = decider_for(ReadsFrom(0, (Constraint(source, reader),)))
    waits, reads = view(3, YIELD, "clock"), view(1, READ)
    chosen = [decider.choose(waits, [reads, waits], [], True, step).id for step in range(40)]
    assert chosen[:PATIENCE] == ["0.3"] * PATIENCE
    assert "0.1" in chosen[PATIENCE:]


# -- sleeping tasks --------------------------------------------------------------------------------


def passed_over(
    sleeper: Sleeper,
    done: View,
    effects: Sequence[Effect] = (),
    yielded: bool = False,
) -> bool:
    """Whether a task sleeps on once another has done something.

    The sleeping one would be next in turn.
    """
    told: list[Effect] = []
    decider = SleepingDecider(Sleeping((sleeper,)), told)
    asleep, other = view(2, READ, "z"), view(3, READ, "unrelated")
    assert decider.choose(done, [done, asleep, other], [], False, 0) is done
    told += effects
    # Who ran has ended, but where it yields.
    chosen = decider.choose(done, [asleep, other], [], yielded, 1)
    return chosen is other


READS, WRITES = Sleeper("0.2", ("x",)), Sleeper("0.2", (), ("x",))


@pytest.mark.parametrize(
    ("sleeper", "kind", "sleeps_on"),
    [(READS, READ, True), (READS, WRITE, False), (WRITES, READ, False), (WRITES, WRITE, False)],
)
def test_a_sleeping_task_is_woken_by_what_conflicts(
    sleeper: Sleeper, kind: Kind, sleeps_on: bool
) -> None:
    assert passed_over(sleeper, view(1, kind, "x")) is sleeps_on
    # Also where it is not the operation itself.
    effects = [(0, "0.1", "x", kind.is_write)]
    assert passed_over(sleeper, view(1, WRITE, "y"), effects) is sleeps_on


def test_a_sleeping_task_is_not_woken_by_anything_else() -> None:
    assert passed_over(READS, view(1, WRITE, "y"))
    assert passed_over(WRITES, view(1, WRITE, "y"), [(0, "0.1", "w", True)])


def test_some_sleep_as_long_as_nobody_else_does_anything() -> None:
    assert not passed_over(Sleeper("0.2", wakes_at_once=True), view(1, READ, "y"))


def test_a_yield_wakes_everybody() -> None:
    assert not passed_over(READS, view(1, WRITE, "y"), yielded=True)
