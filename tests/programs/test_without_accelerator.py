"""A sample of the programs is judged in pure Python as it is with the accelerator.

All of them are judged there by running the tests with ``BOHRBUG_PURE_PYTHON=1``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bohrbug.accelerator import native
from tests.programs.test_programs import PROGRAMS

ROOT = Path(__file__).parent.parent.parent

SAMPLE = range(0, len(PROGRAMS), len(PROGRAMS) // 8)


def started(environment: dict[str, str], pure: bool) -> subprocess.Popen[str]:
    """A process that judges programs."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.programs.judging"],
        cwd=ROOT,
        env={
            **environment,
            "PYTHONPATH": os.pathsep.join([environment["PYTHONPATH"], str(ROOT)]),
            "BOHRBUG_PURE_PYTHON": "1" if pure else "",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(native is None, reason="the accelerator is not in use")
def test_programs_are_judged_alike_without_the_accelerator(environment: dict[str, str]) -> None:
    processes = [started(environment, pure) for pure in (False, True)]
    numbers = "".join(f"{number}\n" for number in SAMPLE)
    judged: list[list[dict[str, Any]]] = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(numbers)
        process.stdin.close()
        process.stdin = None
    for process in processes:
        lines = process.communicate()[0].splitlines()
        assert process.returncode == 0
        # The repr of an object has its address.
        judged.append([json.loads(re.sub(r"\b0x[0-9a-f]+", "0x", line)) for line in lines])
    for number, accelerated, pure in zip(SAMPLE, *judged, strict=True):
        assert pure == accelerated, PROGRAMS[number].__name__
