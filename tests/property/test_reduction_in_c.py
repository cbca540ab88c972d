"""What partial-order reduction does in C is what its Python code does."""

from __future__ import annotations

import importlib.util
import sys
from random import Random
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bohrbug import accelerator
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.search import footprint, races_of_trace, reversals
from bohrbug.search.footprint import EVERYTHING, Event, Footprint
from bohrbug.search.races_of_trace import RaceFinder
from bohrbug.search.reversals import Reversal
from tests.property.test_partial_order_reduction import program
from tests.simulated import execute
from tests.thoroughness import examples

pytestmark = pytest.mark.skipif(accelerator.native is None, reason="the accelerator is not in use")


def in_python(module: ModuleType) -> ModuleType:
    """The module once more, without functions in C."""
    assert module.__file__ is not None
    name = f"pure_{module.__name__.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(name, module.__file__)
    assert spec is not None and spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accelerator, "native", None)
        patch.setattr(accelerator, "with_fast_path", lambda function: function)
        # Dataclasses look their module up.
        patch.setitem(sys.modules, name, copy)
        spec.loader.exec_module(copy)
    return copy


pure_footprint = in_python(footprint)
pure_reversals = in_python(reversals)

# Masks of few bits, and of more than fit into a machine word.
masks = st.one_of(
    st.integers(0, 7),
    st.integers(0, 3).map(lambda few: few << 62),
    st.integers(0, 7).map(lambda few: few << 70),
)
footprints = st.one_of(st.builds(Footprint, masks, masks), st.just(EVERYTHING))
events = st.builds(
    lambda task, value, of: Event(task, value if value is not None else f"0.{task}", of),
    st.integers(0, 3),
    st.one_of(st.none(), st.none(), st.integers(0, 1)),
    footprints,
)
moderate = settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@given(events, st.lists(events, max_size=8), st.lists(events, max_size=4).map(tuple), st.data())
@moderate
def test_events_are_compared_alike(
    event: Event, sequence: list[Event], asleep: tuple[Event, ...], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(sequence)))
    assert footprint.is_weak_initial(event, sequence, start) == pure_footprint.is_weak_initial(
        event, sequence, start
    )
    assert footprint.first_initial(asleep, sequence) == pure_footprint.first_initial(
        asleep, sequence
    )
    assert footprint.still_asleep(asleep, event) == pure_footprint.still_asleep(asleep, event)


@given(st.lists(events, max_size=8), st.lists(events, max_size=4).map(tuple), st.data())
@moderate
def test_who_sleeps_along_an_execution_is_the_same(
    steps: list[Event], asleep: tuple[Event, ...], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(steps)))
    end = data.draw(st.integers(start, len(steps)))
    columns = ([e.task for e in steps], [e.choice for e in steps], [e.footprint for e in steps])
    assert reversals.sleepers_along(*columns, asleep, start, end) == pure_reversals.sleepers_along(
        *columns, asleep, start, end
    )


def fields(reversal: Reversal) -> tuple[object, ...]:
    independent = pure_reversals.independent_events(
        reversal.recorded.tasks,
        reversal.recorded.choices,
        reversal.recorded.footprints,
        reversal.recorded.clocks,
        reversal.step,
    )
    assert reversal.recorded.independent_of(reversal.step) == independent
    return (*reversal[1:], independent, reversal.necessary_sequence())


@given(
    st.integers(0, 2**32 - 1).map(Random),
    st.sets(st.sampled_from(["timeouts", "choices", "failures", "yields"])),
    st.integers(0, 20),
    st.booleans(),
)
@settings(parent=moderate, max_examples=examples(40))
def test_the_same_races_are_found(
    random: Random, features: set[str], limit: int, irreversible: bool
) -> None:
    made = program(random, frozenset(features))
    finders = [RaceFinder(limit, irreversible=irreversible) for _ in range(2)]
    before: Trace | None = None
    for seed in range(4):
        trace, _ = execute(made, Plan((), UniformRandom(seed)))
        start = 0
        if before is not None:
            common = zip(before.choices, trace.choices, strict=False)
            start = next((n for n, (a, b) in enumerate(common) if a != b), 0)
        found = [fields(each) for each in finders[0].take(trace, start, len(trace))]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(races_of_trace, "native", None)
            expected = [fields(each) for each in finders[1].take(trace, start, len(trace))]
        assert found == expected
        ours, reference = (finder.recorded for finder in finders)
        assert ours.clocks == reference.clocks
        assert (ours.footprints, ours.touched) == (reference.footprints, reference.touched)
        assert ours.known == reference.known
        before = trace
