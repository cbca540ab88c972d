"""The whole tool, with its default options, on small programs: broken ones and correct ones."""

from __future__ import annotations

import _weakrefset
import sys
import types
from collections.abc import Callable
from unittest import mock

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.accelerator import native
from bohrbug.model.outcome import LONG_RUNS
from bohrbug.report.text import failure_text

from . import broken, correct

Program = Callable[[], None]


def _programs(modules: tuple[types.ModuleType, ...]) -> list[Program]:
    return [
        value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, types.FunctionType)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    ]


def _name(program: Program) -> str:
    return program.__name__


# Executions of a livelock are long until the exploration has learnt how long others are.
BROKEN_BUDGET = {"executions": 300, "max_steps": 5_000}
_CORRECT_BUDGET = {"executions": 60, "max_steps": 20_000}


_CORRECT_BEFORE_3_12 = {"cached_property_computed_twice", "cached_property_two_objects"}
"""Until Python 3.11 ``functools.cached_property`` held a lock while it computed."""


_CORRECT_SINCE_3_14 = {
    *("defaultdict_factory", "defaultdict_factory_called_often"),
    "handler_that_is_passed_over",
}
"""Since then ``defaultdict`` keeps what another task has stored while its factory ran, and a
handler of a logger is removed without changing the list that a message goes through."""


def _mended_in_the_library() -> set[str]:
    """Those that fail with older copies of modules of the library only, in whatever release."""
    mended = set()
    if not hasattr(_weakrefset, "_IterationGuard"):
        # Iterates over a copy.
        mended.add("weak_set_changed_during_iteration")
    if "_lock" in mock.CallableMixin._increment_mock_call.__code__.co_names:
        # Counts calls under a lock.
        mended.add("calls_of_a_mock")
    return mended


def broken_here() -> list[Program]:
    """Those that fail on this Python."""
    correct_here = _mended_in_the_library()
    if sys.version_info < (3, 12):
        correct_here |= _CORRECT_BEFORE_3_12
    if sys.version_info >= (3, 14):
        correct_here |= _CORRECT_SINCE_3_14
    programs = _programs(broken.MODULES)
    return [program for program in programs if program.__name__ not in correct_here]


def correct_programs() -> list[Program]:
    """Those that never fail, on any Python."""
    return _programs(correct.MODULES)


PROGRAMS = [*broken_here(), *correct_programs()]
"""All of them that are what they are meant to be on this Python."""


@pytest.mark.parametrize("program", broken_here(), ids=_name)
def test_a_broken_program_fails(program: Program) -> None:
    result = bohrbug.explore(program, **BROKEN_BUDGET)
    assert result.failures, result.verdict
    assert result.verdict.kind is VerdictKind.FAILED
    failure = result.failures[0]
    assert failure.confirmed
    report = failure_text(failure)
    assert failure.outcome.message.split("\n")[0].split()[0] in report


NEED_ACCELERATOR = frozenset(
    {
        "locks_in_the_order_of_their_ids",
        "proxy_of_what_may_end",
        "weak_reference_held_while_used",
    }
)
"""What objects are known by, and when they die, is the same in each execution only with it."""


SPIN_UNDER_LOCKS = frozenset({"spin_on_a_lock"})
"""Tasks make thousands of steps in a row, none of which shows that they only wait."""


@pytest.mark.parametrize("program", correct_programs(), ids=_name)
def test_a_correct_program_does_not_fail(program: Program) -> None:
    if native is None and program.__name__ in NEED_ACCELERATOR:
        pytest.skip("has a condition or a caveat without the accelerator")
    result = bohrbug.explore(program, **_CORRECT_BUDGET)
    report = failure_text(result.failures[0]) if result.failures else ""
    assert not result.failures, report
    assert result.verdict.kind in (
        VerdictKind.HOLDS,
        VerdictKind.HOLDS_WITHIN_BOUND,
        VerdictKind.NO_FAILURE_FOUND,
    ), result.verdict
    # Neither divergence nor anything uncontrolled is to be excused.
    assert not result.verdict.caveats, result.verdict
    # A condition on every verdict would be worth nothing.
    assert result.verdict.conditions is not None
    expected = (LONG_RUNS,) if program.__name__ in SPIN_UNDER_LOCKS else ()
    assert result.verdict.conditions.taking == expected, result.verdict.conditions
