"""What one task sets about a descriptor, or what stands for one, while another one uses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.verdicts import PROMISES
from bohrbug.model.outcome import OutcomeKind
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import replay_native
from bohrbug.runtime.posix.accesses import PointKey
from bohrbug.runtime.posix.runtime import MODES, ROOM
from tests.native.exploring import explored

Build = Callable[..., Path]

HOOKED = ("-fsanitize=thread", "-fno-builtin")

OUTCOMES = {
    "event": OutcomeKind.ASSERTION,
    "out": OutcomeKind.ASSERTION,
    "flags": OutcomeKind.ASSERTION,
    "ioctl": OutcomeKind.ASSERTION,
    "timeout": OutcomeKind.ASSERTION,
    "queue": OutcomeKind.ASSERTION,
    "not-entered": OutcomeKind.ASSERTION,
    "entered": OutcomeKind.DEADLOCK,
    "port": OutcomeKind.ASSERTION,
    "listen": OutcomeKind.ASSERTION,
    "mask": OutcomeKind.ASSERTION,
    "before-call": OutcomeKind.ASSERTION,
}

CASES = [
    *((what, flags) for what in OUTCOMES for flags in ((), HOOKED) if what != "before-call"),
    # What is in memory is seen only of code with hooks.
    ("page", HOOKED),
    ("before-call", HOOKED),
]


@pytest.mark.parametrize(("what", "flags"), CASES)
def test_what_is_set_for_a_moment_is_met(
    native_build: Build, what: str, flags: tuple[str, ...]
) -> None:
    program = native_build("descriptor_settings.c", *flags)
    # The task may also be in front of the call, in which case it fails another way.
    goes_on = what == "entered"
    options = {"causes": 0, "executions": 500, "keep_going": goes_on, "minimise": not goes_on}
    result = explored(program, what, "for-a-moment", **options)
    kinds = {failure.outcome.kind for failure in result.failures}
    assert OUTCOMES.get(what, OutcomeKind.CRASH) in kinds


@pytest.mark.parametrize(("what", "flags"), CASES)
def test_what_is_set_at_once_holds(native_build: Build, what: str, flags: tuple[str, ...]) -> None:
    program = native_build("descriptor_settings.c", *flags)
    result = explored(program, what, "at-once", causes=0)
    assert not result.failures
    assert result.verdict.kind in PROMISES


@pytest.mark.fast
@pytest.mark.parametrize(
    ("source", "arguments", "point"),
    [
        ("descriptor_settings.c", ("not-entered", "for-a-moment"), MODES),
        ("makes_room.c", (), ROOM),
    ],
)
def test_a_file_says_what_was_learnt_of_descriptors(
    native_build: Build, source: str, arguments: tuple[str, ...], point: PointKey
) -> None:
    program = native_build(source)
    failure = explored(program, *arguments, causes=0).failures[0]
    assert point in failure.points
    command = Command((str(program), *arguments), exit_code=0)
    points = [list(each) for each in failure.points]
    reproduction = Reproduction(command.target(), "waits", ExploreOptions(), points, failure)
    replayed, _ = replay_native(reproduction, times=3)
    assert replayed.reproduced == 3
