"""Plain threads: what a program costs when nothing controls it."""

from __future__ import annotations

import platform

from programs import Program

from peers import Batch, Finding, Judgement

JUDGED_EXECUTIONS = 1000


def version() -> str:
    """The version of Python."""
    return platform.python_version()


def explore(program: Program, strategy: str, executions: int, seed: int, seconds: float) -> Batch:
    """Run the program ``executions`` times."""
    run = program.run
    for _ in range(executions):
        run()
    return Batch(executions)


def judge(program: Program, strategy: str, seconds: float) -> Judgement:
    """Run the program 1,000 times and see whether it fails."""
    for execution in range(1, JUDGED_EXECUTIONS + 1):
        if program.run() != program.expected:
            return Judgement(Finding.FAILED, execution)
    return Judgement(Finding.NOTHING_FOUND, JUDGED_EXECUTIONS)
