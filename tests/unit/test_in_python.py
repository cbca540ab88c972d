"""Central tests once more in pure Python: the accelerator stands for methods which they must hold.

With the accelerator in use a rule of the Python code could be gone and nobody would notice.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bohrbug
from bohrbug.accelerator import native

ROOT = Path(__file__).parent.parent.parent
SOURCE = Path(bohrbug.__file__).parent.parent

OPTIONS = ("-p", "no:cacheprovider", "-o", "pythonpath=.")
"""The same Bohrbug as here, which may be an installed one."""

CENTRAL = {
    "scheduling": ("scheduling", "scheduled_accesses", "decisions", "policies", "filtering"),
    "search": ("search_systematic", "wakeup_tree", "happens_before", "races"),
    "primitives": ("primitives", "semaphores"),
    "event loops": ("turns",),
}
"""Files of tests/unit by what they are about; those of one run share a process."""


@pytest.mark.skipif(native is None, reason="the accelerator is not in use")
@pytest.mark.parametrize("about", CENTRAL)
def test_in_pure_python(about: str) -> None:
    files = [f"tests/unit/test_{name}.py" for name in CENTRAL[about]]
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *OPTIONS, *files],
        cwd=ROOT,
        env={**kept, "PYTHONPATH": str(SOURCE), "BOHRBUG_PURE_PYTHON": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
