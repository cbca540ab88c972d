"""Explores programs, given by their numbers, and prints what it says of them: run as a process.

Two such processes, one with the accelerator and one without, must print the same.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import bohrbug
from bohrbug.report.text import failure_text
from tests.programs.test_programs import PROGRAMS, Program

# Nothing that depends on how long it takes.
_BUDGET: Any = {
    "executions": 60,
    "max_steps": 20_000,
    "seconds": None,
    "causes": 50,
    "causes_seconds": 3_600,
}


def judgement(program: Program) -> dict[str, Any]:
    """What an exploration says of a program; not in how much time, nor in how many executions.

    With the accelerator functions are found that are garbage already, for which a search may begin
    again.
    """
    result = bohrbug.explore(program, **_BUDGET)
    return {
        "verdict": str(result.verdict),
        "conditions": str(result.verdict.conditions),
        "diverged": result.diverged,
        "points and tasks": [result.points, result.tasks],
        "failures": [failure_text(failure) for failure in result.failures],
        "untimely": [failure_text(failure) for failure in result.untimely],
        "races": sorted({race.label for race in result.races}),
        "unconfirmed": [str(prediction) for prediction in result.unconfirmed],
        "notices": result.notices,
    }


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(judgement(PROGRAMS[int(line)])), flush=True)


if __name__ == "__main__":
    main()
