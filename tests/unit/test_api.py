"""``bohrbug.explore``, ``explored`` and ``choose``."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import math
import pickle
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import bohrbug
from bohrbug.cli.programs import ProgramError, program_of
from bohrbug.exploration.options import ExploreOptions, Keywords
from bohrbug.exploration.reproduction import (
    ReproductionError,
    read_reproduction,
    reproduction_of,
)
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.platforms.threads.platform import settings_of
from bohrbug.platforms.threads.replaying import replay
from bohrbug.report.text import failure_text
from tests.programs.together import together

API = Path(__file__).parent.parent.parent / "docs" / "reference" / "api.md"


class Counter:
    def __init__(self) -> None:
        self.value = 0
        self.lock = threading.Lock()

    def add(self) -> None:
        value = self.value
        self.value = value + 1

    def add_locked(self) -> None:
        with self.lock:
            self.add()


def lost_update() -> None:
    counter = Counter()
    together(counter.add, counter.add)
    assert counter.value == 2


def locked() -> None:
    counter = Counter()
    together(counter.add_locked, counter.add_locked)
    assert counter.value == 2


def alone() -> None:
    assert Counter().value == 0


def test_a_failure_is_confirmed_and_minimised() -> None:
    result = bohrbug.explore(lost_update)
    assert result.failed
    assert result.test == "lost_update"
    assert result.verdict.kind is VerdictKind.FAILED
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    assert failure.confirmed >= 1
    assert len(failure.trace.preemptions()) == 1
    assert failure.essential == tuple(failure.trace.preemptions())
    assert failure.reproduction is None


def test_the_kinds_of_verdicts() -> None:
    def kind(function: Callable[[], object], **options: Any) -> VerdictKind:
        return bohrbug.explore(function, **options).verdict.kind

    assert kind(alone) is VerdictKind.HOLDS
    assert kind(locked, strategy="dfs") is VerdictKind.HOLDS
    assert kind(locked, strategy="ipb", bound=1) is VerdictKind.HOLDS_WITHIN_BOUND
    assert kind(locked, strategy="random", executions=5) is VerdictKind.NO_FAILURE_FOUND
    assert kind(lost_update) is VerdictKind.FAILED


def test_what_was_covered_is_said() -> None:
    result = bohrbug.explore(locked, strategy="ipb", bound=1)
    assert any("at most 1 preemption" in sentence for sentence in result.verdict.covered)
    assert result.executions > 1
    assert result.points > 5
    assert result.tasks == 3


def test_the_budget_is_kept() -> None:
    assert bohrbug.explore(locked, strategy="random", executions=7).executions == 7


def test_the_same_seed_gives_the_same_exploration() -> None:
    def figures(seed: int) -> tuple[object, ...]:
        result = bohrbug.explore(lost_update, strategy="random", seed=seed, executions=200)
        return result.executions, [failure.trace.choices for failure in result.failures]

    assert figures(1) == figures(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "luck"}, "strategy must be one of"),
        ({"level": "none"}, "level must be one of"),
        ({"timeouts": "never"}, "timeouts must be one of"),
        ({"interpreter": "pypy"}, "interpreter must be one of"),
        ({"races": "maybe"}, "races must be one of"),
        ({"executions": 0}, "executions must be at least 1"),
        ({"seconds": 0.0}, "seconds must be more than 0"),
        ({"bound": -1}, "bound must be at least 0, not -1"),
        ({"depth": 0}, "depth must be at least 1"),
        ({"scope": ("+",)}, "names no module"),
        ({"max_steps": 0}, "max_steps must be at least 1"),
        ({"hang_seconds": -1.0}, "hang_seconds must be at least 0"),
        ({"executions": "5"}, "executions must be a whole number or 'none', not '5'"),
        ({"keep_going": "no"}, "keep_going must be true or false"),
        ({"seed": True}, "seed must be a whole number"),
    ],
)
def test_an_option_that_makes_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bohrbug.explore(alone, **options)
    with pytest.raises(ValueError, match=message):
        bohrbug.explored(**options)


def test_what_can_not_be_explored() -> None:
    with pytest.raises(TypeError, match="needs a function"):
        bohrbug.explore(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no option 'exekutions'; there are strategy, executions"):
        bohrbug.explore(alone, exekutions=5)  # type: ignore[call-arg]

    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def asynchronous_generator() -> AsyncIterator[int]:
        yield 1

    class Generator:
        async def __call__(self) -> AsyncIterator[int]:
            yield 1

    for function in (generator, asynchronous_generator, Generator()):
        with pytest.raises(TypeError, match="no generator function"):
            bohrbug.explore(function)
        with pytest.raises(TypeError, match="no generator function"):
            bohrbug.explored()(function)
    (failure,) = bohrbug.explore(lambda: coroutine()).failures
    assert "nobody awaited it" in failure.outcome.message


class Count:
    """An object that is called as a coroutine function is."""

    async def __call__(self, rounds: int = 2) -> None:
        value = 0

        def add() -> None:
            nonlocal value
            value += 1

        await asyncio.gather(*[asyncio.to_thread(add) for _ in range(rounds)])
        assert value == rounds


async def count(rounds: int = 2) -> None:
    await Count()(rounds)


@pytest.mark.parametrize(
    ("function", "name"),
    [(count, "count"), (Count(), "Count"), (functools.partial(count, rounds=2), "partial")],
)
def test_coroutine_functions_run_in_an_event_loop(function: Any, name: str) -> None:
    result = bohrbug.explore(function, causes=0, executions=300)
    assert name in result.test
    (failure,) = result.failures
    assert failure.outcome.message == "AssertionError: assert 1 == 2"
    assert failure.confirmed == 3


def test_the_end_of_an_event_loop_waits_for_threads_however_long() -> None:
    async def test() -> None:
        asyncio.get_running_loop().run_in_executor(None, int)

    # Since Python 3.12 asyncio warns if that takes 300 seconds, which no timeout is to cut short.
    result = bohrbug.explore(test, timeouts="early", executions=100)
    assert not result.failures


def test_explored_coroutine_functions_are_called_like_functions() -> None:
    arguments = []

    @bohrbug.explored(executions=5)
    async def test(first: int, *, second: int) -> None:
        """Documented."""
        arguments.append((first, second))
        await asyncio.sleep(1)

    assert test.__doc__ == "Documented."
    result = test(1, second=2)
    assert not inspect.iscoroutine(result)
    assert result.test.endswith("<locals>.test")
    assert set(arguments) == {(1, 2)}
    with pytest.raises(bohrbug.BohrbugFailure, match="assert 1 == 2"):
        bohrbug.explored(executions=300, causes=0)(count)()


def test_an_exploration_within_a_coroutine() -> None:
    verdicts = []

    async def test() -> None:
        await asyncio.to_thread(int)

    async def main() -> None:
        before = asyncio.get_running_loop(), asyncio.current_task()
        verdicts.append(bohrbug.explore(test, executions=5).verdict.kind)
        assert (asyncio.get_running_loop(), asyncio.current_task()) == before
        await asyncio.sleep(0)

    asyncio.run(main())
    assert verdicts[0] is not VerdictKind.FAILED


def test_all_names_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Beside pytest only those that are loaded.
    monkeypatch.delitem(sys.modules, "bohrbug.pytest_plugin", raising=False)
    assert set(bohrbug.__all__) <= set(dir(bohrbug))
    assert bohrbug.__all__ == sorted(bohrbug._HOMES)
    documented = API.read_text().rpartition("is the stable interface")[2]
    assert sorted(re.findall(r"`(\w+)`", documented)) == sorted(bohrbug.__all__)


def test_explored_raises_with_the_report() -> None:
    @bohrbug.explored(executions=100)
    def add(times: int) -> None:
        """Adds."""
        counter = Counter()
        together(*[counter.add] * times)
        assert counter.value == times

    assert add.__doc__ == "Adds."
    with pytest.raises(bohrbug.BohrbugFailure, match="It fails if and only if") as caught:
        add(2)
    assert caught.value.result.failed
    assert isinstance(add(1), Result)


def test_explored_without_options_needs_no_parentheses() -> None:
    @bohrbug.explored
    def add(times: int) -> None:
        """Adds."""
        together(*[lambda: None] * times)

    assert add.__doc__ == "Adds."
    assert isinstance(add(2), Result)
    with pytest.raises(TypeError, match="not 200"):
        bohrbug.explored(200)  # type: ignore[call-overload]


def test_choose_tries_all_values() -> None:
    seen: set[tuple[int, int]] = set()

    def choosing() -> None:
        seen.add((bohrbug.choose(2), bohrbug.choose(3)))
        together(lambda: None)

    bohrbug.explore(choosing, strategy="dfs")
    assert seen == {(a, b) for a in range(2) for b in range(3)}


def test_choose_outside_an_exploration() -> None:
    assert bohrbug.choose(5) == 0
    with pytest.raises(ValueError, match="at least one value"):
        bohrbug.choose(0)
    with pytest.raises(TypeError, match="whole number"):
        bohrbug.choose(2.5)  # type: ignore[arg-type]


def test_races_are_reported_or_fail_or_are_ignored() -> None:
    def racing() -> None:
        counter = Counter()
        together(counter.add, counter.add)

    reported = bohrbug.explore(racing)
    assert not reported.failures
    assert {race.label for race in reported.races} == {"Counter.value"}
    failed = bohrbug.explore(racing, races="fail")
    assert failed.failures[0].outcome.kind is OutcomeKind.RACE
    assert not bohrbug.explore(racing, races="ignore").races


def test_keep_going_finds_more_than_one_failure() -> None:
    def two_ways() -> None:
        order: list[str] = []
        together(lambda: order.append("a"), lambda: order.append("b"))
        if order == ["b", "a"]:
            raise KeyError("backwards")
        raise ValueError("forwards")

    assert len(bohrbug.explore(two_ways).failures) == 1
    names = {f.outcome.exception for f in bohrbug.explore(two_ways, keep_going=True).failures}
    assert names == {"KeyError", "ValueError"}


def test_an_invariant_of_the_user() -> None:
    counter = Counter()

    def test() -> None:
        counter.value = 0
        together(counter.add, counter.add)

    result = bohrbug.explore(test, invariant=lambda: counter.value < 2)
    assert result.failures[0].outcome.kind is OutcomeKind.INVARIANT


def test_a_reproduction_is_written_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = bohrbug.explore(lost_update, write=True)
    path = result.failures[0].reproduction
    assert path is not None
    read = read_reproduction(path)
    assert read.test == "lost_update"
    assert read.target["name"].endswith(":lost_update")
    assert read.failure.plan == result.failures[0].plan
    assert read.failure.trace.choices == result.failures[0].trace.choices
    replayed = replay(read, lost_update, times=100)
    assert replayed.reproduced == 100
    assert replayed.difference is None
    for target in ({"kind": "script"}, {"kind": "pytest", "node": "test_x.py::test"}, "test_x"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "target": target}))
        with pytest.raises(ReproductionError, match="is damaged: target"):
            read_reproduction(path)


def test_a_failure_that_was_found_once_timeouts_were_late_is_replayed_with_late_ones(
    tmp_path: Path,
) -> None:
    """An exploration that sets a failure aside goes on under another rule than its options tell."""

    async def sleeps() -> None:
        await asyncio.gather(asyncio.sleep(0.02), asyncio.sleep(0.01))
        raise AssertionError

    def test() -> None:
        asyncio.run(sleeps())

    (failure,) = bohrbug.explore(test, timeouts="late").failures
    target = {"kind": "function", "name": "test", "path": ""}
    options = replace(ExploreOptions(), timeouts="report")
    read = read_reproduction(reproduction_of(failure, target, "test", options).write(tmp_path))
    replayed = replay(read, test, times=2)
    assert (replayed.reproduced, replayed.difference) == (2, None)


def test_what_no_module_holds_is_replayed_from_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    test = functools.partial(lost_update)
    (failure,) = bohrbug.explore(test, write=True).failures
    assert failure.reproduction is not None
    read = read_reproduction(failure.reproduction)
    assert replay(read, test).reproduced == 1
    with pytest.raises(ProgramError, match="replay it from your own program"):
        program_of(read.target)


def test_progress_is_told() -> None:
    told: list[int] = []

    def tell(progress: bohrbug.Progress) -> None:
        told.append(progress.executions)

    bohrbug.explore(locked, strategy="random", executions=2_000, progress=tell)
    assert told == sorted(told)
    assert told


def test_locks_and_time_are_as_before_afterwards() -> None:
    before = threading.Lock, threading.Thread.start
    bohrbug.explore(locked)
    assert (threading.Lock, threading.Thread.start) == before


def test_options_have_the_names_of_the_settings() -> None:
    from dataclasses import fields

    from bohrbug.search.registry import STRATEGIES
    from bohrbug.settings import BY_NAME, OPTIONS

    assert get_type_hints(Keywords) == get_type_hints(ExploreOptions)
    # These two are for the API only.
    not_settings = {"invariant", "epoch", "uptime"}
    names = [field.name for field in fields(ExploreOptions) if field.name not in not_settings]
    assert [option.name for option in OPTIONS] == names
    assert set(BY_NAME["strategy"].choices) == set(STRATEGIES)
    for option in OPTIONS:
        for choice in option.choices:
            ExploreOptions(**{option.name: choice})


@pytest.mark.parametrize(("hang_seconds", "patience"), [(1, 5), (10, 5), (60, 30), (0, math.inf)])
def test_who_waits_longer_for_hangs_waits_longer_for_children(
    hang_seconds: float, patience: float
) -> None:
    assert settings_of(ExploreOptions(hang_seconds=hang_seconds)).external_patience == patience


def test_results_go_from_process_to_process() -> None:
    result = bohrbug.explore(lost_update)
    copied = pickle.loads(pickle.dumps(result))
    assert failure_text(copied.failures[0]) == failure_text(result.failures[0])
    assert copied.verdict == result.verdict
    assert copied.failures[0].plan == result.failures[0].plan
    raised = pickle.loads(pickle.dumps(bohrbug.BohrbugFailure("the report", result)))
    assert str(raised) == "the report"
    assert raised.result.executions == result.executions


def test_results_are_shown_in_a_few_lines() -> None:
    result = bohrbug.explore(lost_update)
    assert "lost_update" in repr(result)
    assert "AssertionError" in repr(result.failures[0])
    assert re.search(r"<\w*Trace of \d+ steps by 3 tasks: assertion>", repr(result.failures[0]))
    assert len(repr(result.failures[0])) < 600


def test_a_search_without_a_budget_comes_to_its_end() -> None:
    result = bohrbug.explore(
        lost_update, executions=None, seconds=None, strategy="dfs", keep_going=True, causes=0
    )
    more = bohrbug.explore(
        lost_update, executions=100_000, seconds=None, strategy="dfs", keep_going=True, causes=0
    )
    assert result.executions == more.executions > 2
    assert result.verdict.covered == more.verdict.covered
