"""Verdicts: who may say what, and from which evidence."""

from __future__ import annotations

import ast
import asyncio
import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration import verdicts
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.verdicts import (
    PROMISES,
    UNCONFIRMED,
    Caveat,
    CaveatKind,
    Evidence,
    Verdict,
    VerdictKind,
    judge,
)
from bohrbug.search.registry import strategy_named
from bohrbug.search.strategy import GivingUp, Strategy
from tests.programs.together import together

SOURCE = Path(bohrbug.__file__).parent
JUDGE = SOURCE / "exploration" / "verdicts.py"


class Searched:
    """A strategy that has come as far as it is told."""

    name = "searched"

    def __init__(
        self, complete: bool = False, completed: str | None = None, exhausted: bool = False
    ) -> None:
        self.complete = complete
        self.exhausted = complete or exhausted
        self.completed = completed

    def covered(self) -> str:
        return "what was covered"

    def progress(self) -> str:
        return ""

    def next_plan(self) -> None:
        return None

    def observe(self, trace: object) -> None:
        raise NotImplementedError

    def restart(self) -> None:
        raise NotImplementedError


def evidence(strategy: Strategy | None = None, **figures: object) -> Evidence:
    return Evidence(
        ExploreOptions(executions=100),
        strategy,
        has_searched=strategy is not None,
        **{"executions": 36, **figures},  # type: ignore[arg-type]
    )


ALL = Searched(complete=True)
BOUNDED = Searched(completed="at most 2 preemptions")
SOME = Searched()
GIVEN_UP = Searched(exhausted=True)


def test_a_budget_of_one_execution_is_told_as_one() -> None:
    spent = replace(evidence(SOME), options=ExploreOptions(executions=1), executions=1)
    assert judge(spent).reason == "the budget of 1 execution was spent"


def test_schedules_that_were_given_up_are_a_caveat_with_their_number() -> None:
    searched = Searched(exhausted=True)
    searched.given_up = 3  # type: ignore[attr-defined]
    verdict = judge(evidence(searched))
    assert [str(caveat) for caveat in verdict.caveats] == [
        "3 schedules were given up because the execution diverged"
    ]
    assert verdict.caveats[0].kind is CaveatKind.DIVERGENCE


@pytest.mark.parametrize("name", ["dfs", "ipb", "idb", "dpor", "bpor", "auto"])
def test_who_searches_systematically_says_how_much_was_given_up(name: str) -> None:
    strategy = strategy_named(name)
    assert isinstance(strategy, GivingUp)
    assert strategy.given_up == 0


# -- who may promise something -------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(PROMISES))
def test_nobody_else_can_make_a_promise(kind: VerdictKind) -> None:
    with pytest.raises(TypeError, match="promise"):
        Verdict(kind)
    with pytest.raises(TypeError, match="promise"):
        Verdict(kind, certificate=object())
    with pytest.raises(TypeError, match="promise"):
        replace(Verdict(VerdictKind.NO_FAILURE_FOUND), kind=kind)


@pytest.mark.parametrize("kind", sorted(set(VerdictKind) - PROMISES))
def test_everything_else_can_be_said_by_everybody(kind: VerdictKind) -> None:
    assert Verdict(kind).kind is kind


def test_a_verdict_can_not_be_changed_afterwards() -> None:
    with pytest.raises(AttributeError):
        Verdict(VerdictKind.FAILED).kind = VerdictKind.HOLDS  # type: ignore[misc]


def test_a_verdict_can_be_copied_and_sent() -> None:
    verdict = judge(evidence(ALL))
    assert copy.copy(verdict) == verdict
    assert pickle.loads(pickle.dumps(verdict)) == verdict


def _names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            if (isinstance(function, ast.Name) and function.id == name) or (
                isinstance(function, ast.Attribute) and function.attr == name
            ):
                yield node


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.stem)
def test_no_other_module_goes_around_the_judge(path: Path) -> None:
    if path == JUDGE:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for line, name in _names(tree):
        assert name not in ("_CERTIFICATE", "certificate"), f"{path}:{line}"
    for call in _calls(tree, "Verdict"):
        first = ast.unparse(call.args[0]) if call.args else "?"
        allowed = {f"VerdictKind.{kind.name}" for kind in set(VerdictKind) - PROMISES}
        assert first in allowed, f"{path}:{call.lineno} makes a verdict of kind {first}"
    for call in _calls(tree, "__setattr__"):
        attribute = ast.unparse(call.args[1]) if len(call.args) > 1 else "?"
        assert attribute != "'kind'", f"{path}:{call.lineno}"


def test_within_the_judge_one_function_shows_the_certificate() -> None:
    tree = ast.parse(JUDGE.read_text(encoding="utf-8"))
    users = [
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        and any(name == "_CERTIFICATE" for _, name in _names(function))
    ]
    assert sorted(users) == ["__post_init__", "judge"]
    promising = [
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        and any(name in ("HOLDS", "HOLDS_WITHIN_BOUND") for _, name in _names(function))
    ]
    assert sorted(promising) == ["_case", "judge"]


# -- which evidence allows what ----------------------------------------------------------------


def test_everything_was_executed() -> None:
    verdict = judge(evidence(ALL))
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.reason == "every schedule was executed"
    assert verdict.covered == ("what was covered",)
    assert not verdict.caveats


def test_nothing_left_to_execute_is_not_everything() -> None:
    verdict = judge(evidence(GIVEN_UP))
    assert verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert "does not cover every schedule" in verdict.reason


def test_there_is_only_one_schedule() -> None:
    verdict = judge(evidence())
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.reason == "the test never has a choice between tasks"
    assert verdict.covered == ("one schedule: the test never has a choice between tasks",)


def test_it_is_told_where_nothing_is_concurrent() -> None:
    assert judge(evidence(tasks=1)).covered == ("one schedule: no second task was started",)
    assert judge(evidence(tasks=2)).covered == judge(evidence()).covered


def test_everything_within_a_bound_was_executed() -> None:
    verdict = judge(evidence(BOUNDED))
    assert verdict.kind is VerdictKind.HOLDS_WITHIN_BOUND
    assert verdict.reason == "every schedule with at most 2 preemptions was executed"


@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        ({"executions": 100}, "the budget of 100 executions was spent"),
        ({"seconds": 31.0}, "the budget of 30 seconds was spent"),
        (
            {"seconds": 22.0, "no_room_for": 10.96},
            "the budget of 30 seconds has no room for another execution, which takes 11 seconds",
        ),
        ({}, "the strategy had nothing left to execute, and does not cover every schedule"),
    ],
)
def test_some_executions(figures: dict[str, object], reason: str) -> None:
    verdict = judge(evidence(SOME, **figures))
    assert verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert verdict.reason == reason


@pytest.mark.parametrize("strategy", [ALL, BOUNDED, SOME, None])
@pytest.mark.parametrize(
    ("figures", "caveat"),
    [
        ({"diverged": 1}, "1 execution could not follow its plan"),
        ({"uncontrolled": {"a child process ran": 3}}, "a child process ran (3 times)"),
        ({"skipped": (("f at a.py:1", "it is too long"),)}, "data accesses in f at a.py:1"),
        ({"notes": (Caveat("something else", CaveatKind.HANG),)}, "something else"),
    ],
)
def test_nothing_is_promised_with_a_caveat(
    strategy: Strategy | None, figures: dict[str, object], caveat: str
) -> None:
    verdict = judge(evidence(strategy, **figures))
    assert verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert len(verdict.caveats) == 1
    assert verdict.caveats[0].startswith(caveat)
    assert "caveat" in verdict.reason or strategy is SOME


@pytest.mark.parametrize("strategy", [ALL, BOUNDED, SOME, None])
def test_a_failure_outweighs_everything(strategy: Strategy | None) -> None:
    verdict = judge(evidence(strategy, failures=1, hung="it hangs", interrupted=True))
    assert verdict.kind is VerdictKind.FAILED


@pytest.mark.parametrize("strategy", [ALL, BOUNDED, SOME, None])
@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        ({"hung": "no step for 10 s"}, "no step for 10 s"),
        ({"interrupted": True}, "the exploration was interrupted"),
        ({"executions": 0}, "no execution was made"),
        ({"notes": (Caveat("it failed once", CaveatKind.UNCONFIRMED),)}, UNCONFIRMED),
    ],
)
def test_it_says_nothing(
    strategy: Strategy | None, figures: dict[str, object], reason: str
) -> None:
    verdict = judge(evidence(strategy, **figures))
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert verdict.reason == reason


def test_a_verdict_names_its_conditions() -> None:
    options = ExploreOptions(level="sync", scope=("+logging",), timeouts="late", interpreter="gil")
    conditions = judge(Evidence(options, ALL, True, 10)).conditions
    assert conditions is not None
    assert str(conditions) == "level sync, timeouts late, interpreter gil, scope +logging"
    assert str(verdicts.VerdictConditions.of(ExploreOptions())) == (
        "level racy, timeouts short, interpreter free-threaded"
    )
    native = verdicts.VerdictConditions.of(ExploreOptions(), "", "accesses to memory not seen")
    assert str(native) == ("level racy, timeouts early, accesses to memory not seen")


# -- explorations ------------------------------------------------------------------------


def asyncios_turn(loop: Any) -> None:
    asyncio.BaseEventLoop._run_once.__wrapped__(loop)  # type: ignore[attr-defined]


def turn_without_asyncio(loop: Any) -> None:
    loop._selector.select(0)
    while loop._ready:
        loop._ready.popleft()._run()


@pytest.mark.parametrize("turn", [asyncios_turn, turn_without_asyncio])
def test_the_order_of_a_loop_that_has_turns_of_its_own_is_a_caveat(
    turn: Callable[[Any], None],
) -> None:
    class Loop(asyncio.SelectorEventLoop):
        """Overrides what is chosen step by step in other loops."""

        def _run_once(self) -> None:
            turn(self)

    def test() -> None:
        async def main() -> None:
            await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))

        loop = Loop()
        loop.run_until_complete(main())
        loop.close()

    verdict = bohrbug.explore(test).verdict
    assert verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert any("asyncio" in caveat for caveat in verdict.caveats)


def test_a_function_that_can_not_be_rewritten_is_a_caveat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from bohrbug.runtime.threads.runtime import ThreadsRuntime

    monkeypatch.setattr(
        ThreadsRuntime, "skipped_functions", lambda self: (("f at a.py:1", "it is odd"),)
    )

    def test() -> None:
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()

    verdict = bohrbug.explore(test).verdict
    assert verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert verdict.caveats == ("data accesses in f at a.py:1 were not seen: it is odd",)


@pytest.mark.parametrize(
    "options",
    [{"level": "sync"}, {"invariant": lambda: True}],
    ids=["sync", "invariant"],
)
def test_a_reduction_proves_nothing_where_the_graph_has_not_everything(
    options: dict[str, object],
) -> None:
    def test() -> None:
        values = {"x": 0}

        def write(value: int) -> None:
            if values["x"] == 0:
                values["x"] = value

        together(partial(write, 1), partial(write, 2))

    reduced = bohrbug.explore(test, strategy="dpor", executions=2_000, **options).verdict
    assert reduced.kind is VerdictKind.NO_FAILURE_FOUND
    assert any("happens-before graph" in caveat for caveat in reduced.caveats)
    whole = bohrbug.explore(test, executions=2_000, **options)
    # Proved by executing every schedule, if at all.
    assert whole.verdict.kind is not VerdictKind.HOLDS or whole.executions > 5


def test_the_order_of_accesses_that_are_not_in_the_graph_is_varied() -> None:
    def test() -> None:
        values = {"x": 0}

        def write(value: int) -> None:
            values["x"] = value

        together(partial(write, 1), partial(write, 2))
        assert values["x"] == 2

    for options in ({"level": "sync"}, {"interpreter": "gil"}):
        assert bohrbug.explore(test, executions=500, minimise=False, **options).failed
