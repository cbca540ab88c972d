"""Options for one kind of test, given with the other."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner, Result

from bohrbug.cli import main

FOR_PYTHON = {
    "--scope": "-requests",
    "--interpreter": "gil",
    "--entropy": "real",
    "--async-order": "fifo",
    "--cancel": "worker",
    "--asyncio-errors": "fail",
}
FOR_NATIVE = {
    "--check": "true",
    "--exit-code": "0",
    "--fault": "connect",
    "--most-faults": "1",
    "--watch": "counter",
    "--sample-accesses": "2",
    "--engine": "auto",
}


def given(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize("option", FOR_PYTHON)
def test_options_for_python_tests_are_refused_with_a_native_program(option: str) -> None:
    result = given("run", option, FOR_PYTHON[option], "--", sys.executable)

    assert result.exit_code == 2
    assert f"bohrbug: {option} is for Python tests, and this is a native program" in result.output


@pytest.mark.parametrize("option", FOR_NATIVE)
def test_options_for_native_programs_are_refused_with_a_python_test(option: str) -> None:
    result = given("run", option, FOR_NATIVE[option], "json:loads")

    assert result.exit_code == 2
    assert f"bohrbug: {option} is for native programs, and this is a Python test" in result.output


def test_all_of_them_are_named() -> None:
    result = given("run", "--no-fibers", "--same-output", "json:loads")

    assert "--same-output, --no-fibers are for native programs" in result.output
