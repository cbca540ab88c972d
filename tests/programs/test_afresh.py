"""What was found in a process that had executed much before happens in one that has not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs.test_programs import broken_here

ROOT = Path(__file__).parent.parent.parent
BROKEN = broken_here()

PROCESSES, EACH = 2, 20


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
@pytest.mark.parametrize("process", range(PROCESSES))
def test_failures_happen_afresh(environment: dict[str, str], process: int) -> None:
    numbers = range(process, len(BROKEN), len(BROKEN) // (PROCESSES * EACH))
    told = subprocess.run(
        [sys.executable, "-m", "tests.programs.afresh"],
        cwd=ROOT,
        env={
            **environment,
            "PYTHONPATH": os.pathsep.join([environment["PYTHONPATH"], str(ROOT)]),
        },
        input="".join(f"{number}\n" for number in numbers),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert len(told) >= EACH
    assert [line for line in told if not line.endswith(" True")] == []
