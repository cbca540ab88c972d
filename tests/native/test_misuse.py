"""Misuse that is let pass: what the C library does then, and what lies behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import PROMISES, VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.platforms.posix.command import ALLOWABLE_MISUSES, Command, command_from
from bohrbug.runtime.posix.enumerations import MISUSES
from tests.native.exploring import explored
from tests.native.test_command_line import bohrbug

Build = Callable[..., Path]

BEHIND = {
    "unlock-unowned": (OutcomeKind.ASSERTION, "value == 2"),
    "wait-unowned": (OutcomeKind.DEADLOCK, "wait"),
    "destroy-locked": (OutcomeKind.ASSERTION, "value != EBUSY"),
    "use-destroyed": (OutcomeKind.ASSERTION, "it is the end"),
    "left-locked": (OutcomeKind.DEADLOCK, "wait"),
    "not-reentrant": (OutcomeKind.ASSERTION, "value"),
    "use-after-free": (OutcomeKind.ASSERTION, "it is the end"),
    "use-ended-thread": (OutcomeKind.ASSERTION, "result != ESRCH"),
}
"""By the kind of misuse in misuses.c what lies behind it."""

ENGINES = ("anew", "fork-server", "snapshot")


@pytest.mark.parametrize("kind", MISUSES)
def test_misuse_fails_and_is_named(native_build: Build, kind: str) -> None:
    [failure, *_] = explored(native_build("misuses.c"), kind, causes=0).failures
    assert failure.outcome.kind is OutcomeKind.MISUSE
    wanted = {kind, "unlock-unowned"} if kind == "wait-unowned" else {kind}
    assert failure.outcome.exception in wanted


@pytest.mark.parametrize("kind", BEHIND)
def test_what_lies_behind_it_is_found(native_build: Build, kind: str) -> None:
    # Who waits with a mutex that is not locked unlocks one later that may not be, either.
    allowed = (kind, "unlock-unowned") if kind == "wait-unowned" else (kind,)
    result = explored(native_build("misuses.c"), kind, allowed_misuses=allowed, causes=0)
    [failure] = result.failures
    assert (failure.outcome.kind, failure.confirmed) == (BEHIND[kind][0], 3)
    assert BEHIND[kind][1] in failure.outcome.message


@pytest.mark.parametrize("what", ["condition", "rwlock", "semaphore", "barrier"])
def test_use_of_what_was_destroyed_fails(native_build: Build, what: str) -> None:
    program = native_build("misuses.c")
    [failure] = explored(program, f"destroyed-{what}", executions=5, causes=0).failures
    assert (failure.outcome.kind, failure.outcome.exception) == (
        OutcomeKind.MISUSE,
        "use-destroyed",
    )
    allowed = ("use-destroyed",)
    assert not explored(
        program, f"destroyed-{what}", executions=5, allowed_misuses=allowed
    ).failures


@pytest.mark.parametrize(
    "how", ["kill-joined", "cancel-detached", "join-again", "join-at-once", "detach-joined"]
)
def test_use_of_a_thread_whose_life_is_over_fails(native_build: Build, how: str) -> None:
    # Of two that join at once, the first execution lets both wait already.
    at_most = {"executions": 1} if how == "join-at-once" else {}
    [failure] = explored(native_build("misuses.c"), how, causes=0, **at_most).failures
    assert failure.outcome.exception == "use-ended-thread"


@pytest.mark.parametrize("use", ["asked", "cancelled", "joined"])
@pytest.mark.parametrize("strategy", ["dfs", "dpor"])
def test_a_thread_that_may_be_detached_before_it_is_used(
    native_build: Build, use: str, strategy: str
) -> None:
    options = {"strategy": strategy, "causes": 0, "predict": 0}
    [failure] = explored(native_build("misuses.c"), f"{use}-or-detached", **options).failures
    assert failure.outcome.exception == "use-ended-thread"
    assert failure.confirmed == 3


def test_detaching_twice_is_misuse_where_the_thread_has_ended(native_build: Build) -> None:
    [failure] = explored(native_build("misuses.c"), "detached-twice", causes=0).failures
    assert failure.outcome.exception == "use-ended-thread"


def test_joining_a_detached_thread_is_refused_at_once(native_build: Build) -> None:
    result = explored(native_build("misuses.c"), "joined-detached", strategy="dfs", predict=0)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict


def test_threads_that_are_there_may_be_used(native_build: Build) -> None:
    result = explored(native_build("misuses.c"), "threads-that-are-there", causes=0)
    assert result.verdict.kind in PROMISES


def test_what_is_made_again_may_be_used(native_build: Build) -> None:
    assert not explored(native_build("misuses.c"), "made-again", executions=5).failures


def test_each_kind_that_can_be_allowed_is_tried() -> None:
    assert set(BEHIND) == set(ALLOWABLE_MISUSES)


@pytest.mark.parametrize("engine", ENGINES)
def test_all_engines_let_it_pass(native_build: Build, engine: str) -> None:
    result = explored(
        native_build("misuses.c"),
        "unlock-unowned",
        allowed_misuses=("unlock-unowned",),
        engine=engine,
        strategy="random",
        executions=40,
        keep_going=True,
        minimise=False,
        causes=0,
    )
    kinds = {failure.outcome.kind for failure in result.failures}
    assert kinds == {OutcomeKind.ASSERTION}
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == ("unlock-unowned at misuses.c:37 as allowed",)


def test_other_misuse_fails_all_the_same(native_build: Build) -> None:
    allowed = tuple(kind for kind in ALLOWABLE_MISUSES if kind != "left-locked")
    result = explored(native_build("misuses.c"), "left-locked", allowed_misuses=allowed, causes=0)
    [failure] = result.failures
    assert failure.outcome.exception == "left-locked"


def test_who_may_be_let_go_on_by_anybody_is_in_no_circle(native_build: Build) -> None:
    result = explored(
        native_build("misuses.c"),
        "break-circle",
        allowed_misuses=("unlock-unowned",),
        strategy="dpor",
        executions=20_000,
        causes=0,
    )
    assert not result.failures
    assert result.verdict.reason.startswith("every schedule was executed")
    assert result.verdict.conditions is not None
    assert any("unlock-unowned" in taking for taking in result.verdict.conditions.taking)


def test_it_is_in_the_report_and_in_replays(native_build: Build, tmp_path: Path) -> None:
    words = ("--", str(native_build("misuses.c")), "unlock-unowned")
    found = bohrbug(tmp_path, "run", "-q", *words)
    assert found.returncode == 1
    assert "--allow-misuse unlock-unowned also explores what comes after" in found.stdout
    (tmp_path / ".bohrbug").rename(tmp_path / "before")
    found = bohrbug(tmp_path, "run", "-q", "--allow-misuse", "unlock-unowned", *words)
    assert found.returncode == 1
    assert "after allowed misuse: unlock-unowned at misuses.c:37" in found.stdout
    (file,) = (tmp_path / ".bohrbug").glob("*.json")
    assert json.loads(file.read_text())["target"]["allowed_misuses"] == ["unlock-unowned"]
    replayed = bohrbug(tmp_path, "replay", str(file))
    assert "Assertion `value == 2' failed" in replayed.stdout
    assert "after allowed misuse: unlock-unowned at misuses.c:37" in replayed.stdout
    stepped = bohrbug(tmp_path, "step", str(file), stdin="\n" * 100)
    assert "Assertion `value == 2' failed" in stepped.stdout


def test_it_is_kept_in_files() -> None:
    # Of reproductions, and of explorations that are to be resumed.
    command = Command(("/bin/true",), allowed_misuses=("left-locked", "unlock-unowned"))
    assert command_from(json.loads(json.dumps(command.target()))) == command


@pytest.mark.parametrize("kind", ["unlock", "free-twice"])
def test_what_is_no_kind_that_can_be_allowed_is_refused(tmp_path: Path, kind: str) -> None:
    refused = bohrbug(tmp_path, "run", "--allow-misuse", kind, "--", "/bin/true")
    assert refused.returncode == 2
    assert kind in refused.stderr
    for known in ALLOWABLE_MISUSES:
        assert known in refused.stderr.replace("\n", "")


def test_python_tests_have_no_such_option(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("pass\n")
    refused = bohrbug(tmp_path, "run", "--allow-misuse", "left-locked", str(script))
    assert refused.returncode == 2
    assert "--allow-misuse" in refused.stderr


WAITS = {"once": OutcomeKind.PASSED, "twice": OutcomeKind.DEADLOCK, "checked": OutcomeKind.PASSED}
"""How waits_with_types.c ends, natively, too."""


@pytest.mark.parametrize("what", WAITS)
def test_waiting_unlocks_a_mutex_once_or_not_at_all(native_build: Build, what: str) -> None:
    result = explored(native_build("waits_with_types.c"), what, strategy="dfs", causes=0)
    kinds = {failure.outcome.kind for failure in result.failures} or {OutcomeKind.PASSED}
    assert kinds == {WAITS[what]}
    assert result.failures or result.verdict.kind is VerdictKind.HOLDS
