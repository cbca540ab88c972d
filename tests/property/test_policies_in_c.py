"""The policies of ``core/policy.h`` choose what their reference in Python chooses.

Asked by random tasks at random steps, which no runtime need ever make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bohrbug.accelerator import native
from bohrbug.model.operation import READ, WRITE, YIELD, Operation
from bohrbug.model.plan import (
    PartialOrder,
    Priorities,
    UniformRandom,
    WeightedRandom,
)
from bohrbug.runtime.policies.decider import Decider
from bohrbug.runtime.policies.in_c import Drawn, drawing_decider, reference_decider
from bohrbug.runtime.policies.partial_order import PartialOrderDecider
from tests.deciding import View
from tests.thoroughness import examples

pytestmark = pytest.mark.skipif(native is None, reason="the accelerator is not in use")

IDS = ("0", "0.1", "0.2", "0.1.1", "0.2.1", "0.2.1.1", "0.3")

seeds = st.integers(0, 2**64 - 1)
resources = st.sampled_from(["x", "y", "z"])
points = st.none() | st.frozensets(resources)
operations = st.none() | st.builds(
    Operation, st.sampled_from([READ, WRITE, YIELD]), resources, st.none()
)
weights = st.dictionaries(st.sampled_from(IDS), st.integers(0, 9)).map(lambda d: tuple(d.items()))

policies: st.SearchStrategy[Drawn] = st.one_of(
    st.builds(UniformRandom, seeds),
    st.builds(Priorities, seeds, st.integers(1, 80), st.integers(0, 40)),
    st.builds(PartialOrder, seeds, points),
    st.builds(WeightedRandom, seeds, weights, points, points),
)


@dataclass(frozen=True)
class Step:
    """What is asked at a step.

    Parameters:
        who: for each task whether it is enabled (1), could be woken by its timeout (2), or neither.
        does: what whoever is chosen does next.
        yielded: it gave control away.
        values: of how many values one is chosen then, for each data choice.
        apart: the steps between this one and the next, beside these.
    """

    who: tuple[int, ...]
    does: Operation | None
    yielded: bool
    values: tuple[int, ...] = ()
    apart: int = 0


steps = st.builds(
    Step,
    st.tuples(*[st.integers(0, 2)] * len(IDS)).filter(any),
    operations,
    st.booleans(),
    st.lists(st.integers(1, 2**31 - 1), max_size=2).map(tuple),
    st.integers(0, 3),
)
scripts = st.lists(steps, min_size=1, max_size=30)
beginnings = st.tuples(*[operations] * len(IDS))
indices = st.tuples(*[st.integers(0, 9)] * len(IDS))
"""How many threads there were before each task: the tasks of an event loop share that."""


def chosen(
    decider: Decider,
    beginning: Sequence[Operation | None],
    script: Sequence[Step],
    indices: Sequence[int] = range(len(IDS)),
) -> list[object]:
    """What a decider chooses, step by step; a task keeps its operation until it is chosen."""
    views = [View(*each) for each in zip(IDS, indices, beginning, strict=True)]
    running, step, found = views[0], 3, list[object]()
    for each in script:
        enabled = [view for view, who in zip(views, each.who, strict=True) if who == 1]
        timed = [view for view, who in zip(views, each.who, strict=True) if who == 2]
        for view in views:
            view.deadline = 1.0 if view in timed else None
        task: Any = decider.choose(running, enabled, timed, each.yielded, step)
        found.append(task.id)
        running = task
        task.pending = each.does
        found += [decider.value(arity) for arity in each.values]
        step += 1 + len(each.values) + each.apart
    return found


@settings(max_examples=examples(400), deadline=None)
@given(policies, beginnings, scripts, indices)
def test_a_policy_in_c_chooses_as_its_reference(
    policy: Drawn,
    beginning: tuple[Operation | None, ...],
    script: list[Step],
    indices: tuple[int, ...],
) -> None:
    reference, decider = reference_decider(policy), drawing_decider(policy)
    assert type(decider) is not type(reference)
    found = chosen(decider, beginning, script, indices)
    assert found == chosen(reference, beginning, script, indices)


@settings(max_examples=examples(100), deadline=None)
@given(seeds, st.lists(st.integers(0, 9), min_size=len(IDS), max_size=len(IDS)), points)
def test_surw_in_c_meets_tasks_one_by_one_as_its_reference(
    seed: int, events: list[int], selected: frozenset[str] | None
) -> None:
    """Events of tasks that do not exist yet count for others, which hand that on."""
    policy = WeightedRandom(seed, tuple(zip(IDS, events, strict=True)), selected)
    each = [Operation(WRITE, "xyz"[number % 3]) for number in range(len(IDS))]
    script = [
        Step(tuple(int(number <= step // 3) for number in range(len(IDS))), each[step % 5], False)
        for step in range(3 * len(IDS))
    ]
    reference, decider = reference_decider(policy), drawing_decider(policy)
    assert chosen(decider, each, script) == chosen(reference, each, script)


def in_parts(decider: Any) -> Decider:
    """POS as those use it who hold some tasks back."""

    class Parts:
        def choose(self, running: Any, enabled: Any, timed: Any, yielded: bool, step: int) -> Any:
            task = decider.runs_at_once(running, enabled, yielded)
            options = [*enabled, *timed]
            # As if the oldest were held back now and then.
            task = task or decider.highest(options[step % 2 :] or options)
            decider.executed(task)
            return task

        def value(self, arity: int) -> int:
            return decider.value(arity)

    return Parts()


@settings(max_examples=examples(100), deadline=None)
@given(seeds, points, st.frozensets(resources), beginnings, scripts, indices)
def test_the_parts_of_pos_in_c_do_as_their_reference(
    seed: int,
    points: frozenset[str] | None,
    named: frozenset[str],
    beginning: tuple[Operation | None, ...],
    script: list[Step],
    indices: tuple[int, ...],
) -> None:
    made: list[Callable[..., Any]] = [native.partial_order_decider, PartialOrderDecider]
    one, other = (
        chosen(in_parts(make(seed, points, named)), beginning, script, indices) for make in made
    )
    assert one == other


def test_resources_that_are_named_may_become_fewer() -> None:
    named = {"x": None}
    quiet, waits = View("0.1", 1, Operation(WRITE, "x")), View("0.2", 2, Operation(YIELD, "y"))
    decider = native.partial_order_decider(1, frozenset(), named)
    assert decider.runs_at_once(waits, [quiet, waits], True) is None
    named.clear()
    assert decider.runs_at_once(waits, [quiet, waits], True) is quiet


def test_there_is_room_for_many_tasks() -> None:
    views = [View(f"0.{number}", number, Operation(WRITE, "x")) for number in range(300)]
    for policy in (Priorities(1, 3, 9), PartialOrder(1), WeightedRandom(1, (("0.7", 3),))):
        one, other = reference_decider(policy), drawing_decider(policy)
        for step in range(20):
            choices = [
                each.choose(views[step], views[: 20 * step + 1], views[290:], False, step).id
                for each in (one, other)
            ]
            assert choices[0] == choices[1]


def test_more_tasks_than_there_are_numbers_can_be_chosen_from() -> None:
    views = [View(f"0.{number}", 0, Operation(WRITE, "x")) for number in range(2**16 + 3)]
    far = View("0.1", 2**20, Operation(WRITE, "x"))
    for policy in (Priorities(1, 3, 9), PartialOrder(1), WeightedRandom(1, (("0.7", 3),))):
        decider = drawing_decider(policy)
        assert decider.choose(far, views, [], False, 0) in views
        assert decider.choose(far, views[-2:], [], False, 1) in views[-2:]


@pytest.mark.parametrize(
    "ask",
    [
        lambda decider, task: decider.choose(task, [], [], False, 0),
        lambda decider, task: decider.highest([task, object()]),
        lambda decider, task: decider.choose(task, [View("", -1)], [], False, 0),
        lambda decider, task: decider.choose(task, [View("0", 0, "x")], [], False, 0),  # type: ignore[arg-type]
    ],
    ids=["nobody", "no task", "no number", "no operation"],
)
def test_what_makes_no_sense_is_refused(ask: Callable[[Any, View], object]) -> None:
    decider = drawing_decider(PartialOrder(1))
    with pytest.raises((ValueError, TypeError, AttributeError)):
        ask(decider, View("0.1", 1))
