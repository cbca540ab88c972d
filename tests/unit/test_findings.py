"""What an exploration has seen is reported only if replays show it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from bohrbug.exploration.findings import ATTEMPTS, CONFIRMATIONS, Findings
from bohrbug.exploration.learning import Learner
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.platform import Platform
from bohrbug.exploration.result import Result
from bohrbug.exploration.spending import Spending
from bohrbug.exploration.verdicts import Verdict, VerdictKind
from bohrbug.model.operation import READ, WRITE, Operation, Site
from bohrbug.model.outcome import LONG_RUNS, Access, Divergence, Outcome, OutcomeKind, Race
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.protocol import Executed, Runtime

FAILED = Outcome(OutcomeKind.ASSERTION, "AssertionError: lost", "0", "AssertionError")
OTHER = Outcome(OutcomeKind.EXCEPTION, "KeyError: 1", "0", "KeyError")


def race(label: str = "Shop.tickets") -> Race:
    sites = (Site("shop.py", 9, "Shop.buy"), Site("shop.py", 10, "Shop.buy"))
    first, second = (
        Access(task, Operation(kind, "0:1.tickets", site))
        for task, kind, site in zip(("0.1", "0.2"), (READ, WRITE), sites, strict=True)
    )
    return Race("0:1.tickets", label, first, second)


class Replaying:
    """A runtime whose executions are given; the last one again and again."""

    policies = frozenset[type]()
    discovers = False

    def __init__(self, *traces: Trace) -> None:
        self._traces = list(traces)
        self.made = 0

    def execute(self, plan: Plan, **_: Any) -> Executed:
        trace = self._traces[min(self.made, len(self._traces) - 1)]
        self.made += 1
        return Executed(trace, 2, is_concurrent=True)

    def point_keys(self) -> tuple[()]:
        return ()


def findings(runtime: Replaying, **options: Any) -> tuple[Findings, Result]:
    result = Result("test", Verdict(VerdictKind.INCONCLUSIVE))
    given = ExploreOptions(minimise=False, causes=0, **options)
    platform = Platform(cast(Runtime, runtime))
    learner = Learner(platform.runtime, given.conditions())
    found = Findings(
        given, Spending(given.seconds), result, learner, platform, lambda: "dfs", lambda: False
    )
    return found, result


def failing(outcome: Outcome = FAILED) -> Trace:
    return Trace(outcome=outcome)


def diverging() -> Trace:
    return Trace(outcome=FAILED, divergence=Divergence(0, "0", "0.1"))


def test_a_failure_that_replays_alike_is_reported_once() -> None:
    runtime = Replaying(failing())
    found, result = findings(runtime)
    found.note_failure(failing())
    found.note_failure(failing())
    (failure,) = result.failures
    assert failure.confirmed == runtime.made == CONFIRMATIONS
    assert failure.occurrences == 2


def test_where_the_time_is_over_one_replay_has_to_do() -> None:
    runtime = Replaying(failing())
    found, result = findings(runtime, seconds=1e-9)
    found.note_failure(failing())
    (failure,) = result.failures
    assert failure.confirmed == runtime.made == 1


def test_where_the_time_is_over_there_is_one_replay_all_the_same() -> None:
    found, result = findings(Replaying(Trace()), seconds=1e-9)
    found.note_failure(failing())
    assert not result.failures


@pytest.mark.parametrize("last", [Trace, diverging, lambda: failing(OTHER)])
def test_a_failure_that_one_replay_does_not_show_is_not(last: Callable[[], Trace]) -> None:
    found, result = findings(Replaying(failing(), failing(), last()))
    found.note_failure(failing())
    assert not result.failures
    assert found.unconfirmed == {FAILED.signature(): 1}


def test_confirming_in_vain_is_given_up() -> None:
    runtime = Replaying(Trace())
    found, _ = findings(runtime)
    for _ in range(ATTEMPTS + 3):
        found.note_failure(failing())
    assert runtime.made == ATTEMPTS


@pytest.mark.parametrize("now", [FAILED, OTHER])
def test_what_has_passed_under_the_same_schedule_can_not_be_repeated(now: Outcome) -> None:
    found, result = findings(Replaying(*[failing()] * CONFIRMATIONS, failing(now)))
    found.note_pass(Trace(plan=Plan()))
    found.note_failure(failing())
    assert not result.failures
    assert "can't be executed again and again" in found.unrepeatable


def test_what_has_passed_may_fail_where_long_runs_are_interrupted() -> None:
    """Where they are interrupted depends on what is a scheduling point."""
    interrupted = failing()
    interrupted.uncontrolled.assume(LONG_RUNS)
    found, result = findings(Replaying(*[failing()] * CONFIRMATIONS, interrupted))
    found.note_pass(Trace(plan=Plan()))
    found.note_failure(failing())
    assert len(result.failures) == 1
    assert not found.unrepeatable


def test_how_long_executions_are_is_not_known_any_more_where_there_are_new_points() -> None:
    """They may have many more steps than those that passed, and are no livelocks."""
    place = ("shop.py", "Shop.buy", 1, 9, 0)
    seen = Executed(Trace(), 2, is_concurrent=True, found=frozenset({cast(Any, place)}))
    runtime = Replaying()
    runtime.discovers = True
    runtime.execute = lambda plan, **_: seen
    given = ExploreOptions()
    learner = Learner(cast(Runtime, runtime), given.conditions())
    learner.note_pass(100)
    assert learner.conditions.max_steps < given.max_steps
    learner.execute(Plan())
    assert learner.conditions.max_steps == given.max_steps


def test_a_race_fails_the_test_only_if_every_replay_shows_it() -> None:
    shown, hidden = Trace(races=[race()]), Trace(races=[race("Shop.name")])
    found, result = findings(Replaying(shown), races="fail")
    found.note_races(shown)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.RACE]
    found, result = findings(Replaying(shown, shown, hidden), races="fail")
    found.note_races(shown)
    assert not result.failures
    assert len(found.races) == 1


def test_a_race_is_no_failure_by_default_and_is_counted() -> None:
    runtime = Replaying(Trace())
    found, result = findings(runtime)
    found.note_races(Trace(races=[race()]))
    found.note_races(Trace(races=[race()]))
    assert not result.failures
    assert not runtime.made
    (seen,) = found.races.values()
    assert seen.count == 2
