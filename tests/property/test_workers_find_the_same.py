"""What an exploration finds does not depend on how many processes take part."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bohrbug.api import explore
from bohrbug.exploration.result import Result
from tests.property import executing
from tests.thoroughness import examples

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked"),
    pytest.mark.slow,
]

SEQUENCES = ("random", "pct", "pos", "surw", "rff")
"""Strategies that execute the same plans, whatever their number."""

SYSTEMATIC = ("dfs", "dpor", "bpor", "ipb", "idb", "auto")
"""Strategies that find the same if they come to their end."""

ACTIONS = ("add", "locked", "nested", "tried", "fails", "puts", "gets", "enters", "add_item")

lines = st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1))
programs = st.lists(st.lists(lines, min_size=1, max_size=3), min_size=2, max_size=3)

few = settings(
    max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def findings(threads: Any, strategy: str, workers: int, executions: int) -> tuple[Result, Any]:
    """The result, and all that it says is wrong or may be."""
    result = explore(
        lambda: executing.program(threads),
        strategy=strategy,
        workers=workers,
        executions=executions,
        bound=None,
        keep_going=True,
        seconds=None,
        minimise=False,
        causes=0,
    )
    failures = sorted(str(failure.outcome.signature()) for failure in result.failures)
    races = sorted({race.label for race in result.races})
    return result, (failures, races)


@few
@given(programs, st.sampled_from(SEQUENCES))
def test_of_the_same_plans(threads: Any, strategy: str) -> None:
    (alone, found), (together, found_together) = (
        findings(threads, strategy, workers, 150) for workers in (1, 2)
    )
    assert found_together == found
    assert together.executions == alone.executions
    predicted = [{p.what.key for p in result.unconfirmed} for result in (alone, together)]
    assert predicted[1] == predicted[0]


@few
@given(programs, st.sampled_from(SYSTEMATIC))
def test_of_all_schedules(threads: Any, strategy: str) -> None:
    alone, found = findings(threads, strategy, 1, 800)
    if alone.verdict.kind.value in ("holds", "failed") and alone.executions < 800:
        _, found_together = findings(threads, strategy, 2, 800)
        assert found_together == found
