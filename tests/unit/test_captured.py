"""What is printed is a variable of the test only if the test can look at it."""

from __future__ import annotations

import io
import sys

import pytest

import bohrbug
from bohrbug.runtime.threads.captured import Captured
from tests.programs.together import together


@pytest.mark.parametrize("is_own", [False, True])
def test_output_that_pytest_keeps_for_itself_is_no_variable(
    is_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(Captured, "streams", (stream,) if is_own else ())
    result = bohrbug.explore(
        lambda: together(lambda: print("a"), lambda: print("b")), executions=10
    )
    assert bool(result.races) is not is_own
