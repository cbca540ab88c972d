"""Accesses that are sampled: programs that were compiled without hooks, and nothing is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.api import write_reproduction
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import read_reproduction
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.model.operation import READ, WRITE
from bohrbug.model.outcome import OutcomeKind
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer, replay_native
from bohrbug.runtime.posix import sampled
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.instructions import disassembler
from bohrbug.runtime.posix.sampled import SampledPoints, candidates
from tests.native.exploring import explored

Build = Callable[..., Path]

FAILING = ("fees.c", "check_then_act.c", "double_checked.c", "plain_flag.c")
"""Programs with a schedule in which an assertion fails; with ``-DFIXED`` there is none."""

RACING = {
    "plain_lost_update.c": "balance",
    "bit_fields.c": "door",
    "peterson.c": "turn",
    "reference_count.c": "owners",
    "relaxed.c": "there",
}
"""Programs with a data race on a variable."""


@pytest.fixture
def sampling(watching: Build) -> Build:
    """Builds programs, where their accesses can be sampled."""
    if disassembler() is None:
        pytest.skip("needs objdump")
    return watching


def sampled_in(program: Path, sample: int = 3, **options: object) -> Result:
    return explored(program, sample=sample, **{"executions": 200, **options})


@pytest.mark.parametrize("name", FAILING)
def test_a_program_fails_by_its_accesses(sampling: Build, name: str) -> None:
    result = sampled_in(sampling(name))
    assert [f.outcome.kind for f in result.failures] == [OutcomeKind.ASSERTION], result.verdict
    assert result.failures[0].confirmed == 3


@pytest.mark.parametrize("name", RACING)
def test_races_are_found(sampling: Build, name: str) -> None:
    result = sampled_in(sampling(name), executions=40, keep_going=True, minimise=False)
    assert RACING[name] in {race.label for race in result.races}
    for race in result.races:
        assert race.first.stack
        assert race.second.stack


@pytest.mark.parametrize("name", ["fees.c", "check_then_act.c", "reference_count.c"])
def test_a_corrected_twin_neither_fails_nor_races(sampling: Build, name: str) -> None:
    result = sampled_in(sampling(name, "-DFIXED"), executions=30)
    assert not result.failures, result.failures[0].outcome
    assert not result.races, result.races
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND, result.verdict
    assert not result.diverged


def test_both_sides_of_a_race_are_told(sampling: Build) -> None:
    result = sampled_in(sampling("fees.c"), executions=60, keep_going=True, minimise=False)
    races = [race for race in result.races if race.label == "balance"]
    assert races
    for race in races:
        for access in (race.first, race.second):
            assert access.operation.kind in (READ, WRITE)
            assert access.stack[-1].site.function in ("load", "store", "deposit")
            assert access.operation.place is not None
            assert access.operation.place == access.stack[-1].site
            assert not access.holding


def test_a_replay_samples_the_same(
    sampling: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = Command((str(sampling("fees.c")),), exit_code=0, sample=3)
    explorer, _ = native_explorer(command, ExploreOptions(executions=200))
    (failure,) = explorer.explore().failures
    assert 0 < len(failure.points) <= 3
    write_reproduction(explorer, failure, command.target())
    assert failure.reproduction is not None
    again = read_reproduction(failure.reproduction)
    assert tuple(again.points) == failure.points
    replayed, _ = replay_native(again, times=3)
    assert replayed.reproduced == 3
    assert len(replayed.trace) == len(failure.trace)


def test_the_choice_depends_on_the_seed_only(native_build: Build) -> None:
    program = str(native_build("fees.c"))

    def chosen(seed: int) -> list[object]:
        points = SampledPoints("racy", program, 2, seed)
        found: list[object] = []
        for _ in range(20):
            points.take_fresh()
            found.append(points.keys())
        return found

    assert chosen(1) == chosen(1)
    assert chosen(1) != chosen(2)
    each = {end for keys in chosen(1) for *_, end in keys}  # type: ignore[misc]
    assert each == {one.end for one in candidates(program)}


def test_what_is_sampled(native_build: Build) -> None:
    found = candidates(str(native_build("reference_count.c", "-DFIXED")))
    assert {each.function for each in found} == {"drop", "main"}
    assert not any(each.is_locked for each in found)


def test_watchpoints_can_be_set_beside_it(sampling: Build) -> None:
    program = sampling("fees.c")
    result = sampled_in(program, sample=1, watch=("balance",), strategy="pct", executions=60)
    assert [f.outcome.kind for f in result.failures] == [OutcomeKind.ASSERTION], result.verdict
    with pytest.raises(UnsupportedError, match="4 debug registers"):
        sampled_in(program, sample=3, watch=("balance",))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "dfs"}, "can't be used with --sample-accesses"),
        ({"workers": 2}, "one process"),
        ({"level": "sync"}, "--level sync"),
    ],
)
def test_what_does_not_go_together_is_refused(
    native_build: Build, options: dict[str, object], message: str
) -> None:
    with pytest.raises(UnsupportedError, match=message):
        sampled_in(native_build("fees.c"), **options)


def test_a_script_has_no_accesses(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    with pytest.raises(UnsupportedError, match="explore that program itself"):
        sampled_in(script)


def test_without_objdump_it_says_so(native_build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "disassembler", lambda: None)
    with pytest.raises(UnsupportedError, match="install binutils"):
        sampled_in(native_build("fees.c"))
