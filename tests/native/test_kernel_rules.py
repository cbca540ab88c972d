"""Rules of the C library and the kernel for calls that wait: for children, sockets, locks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from tests.native.exploring import explored

Build = Callable[..., Path]


@pytest.mark.parametrize(
    "how",
    ["system", "streams", "streams-of-threads", "groups", "descriptor", "script", "threads"],
)
def test_children_are_waited_for_as_the_library_does(native_build: Build, how: str) -> None:
    result = explored(native_build("waits_for_children.c"), how, executions=40)
    assert not result.failures
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict


@pytest.mark.parametrize("rule", ["patience", "all", "room", "little", "circle", "past"])
def test_the_kernel_s_rules_hold(native_build: Build, rule: str) -> None:
    result = explored(native_build("kernel_rules.c"), rule, executions=60)
    assert not result.failures
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict
