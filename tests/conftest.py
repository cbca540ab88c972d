"""What all tests share."""

from __future__ import annotations

import compileall
import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.simulated import forget_machines

_BOHRBUG = importlib.util.find_spec("bohrbug")
assert _BOHRBUG is not None
assert _BOHRBUG.origin is not None
SOURCE = Path(_BOHRBUG.origin).parent.parent
"""Where the Bohrbug under test is imported from: this checkout, or an installation of it."""

# How fast the machine is says nothing of the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_configure() -> None:
    """Let Ctrl-C reach what tests start, also where they run as a job that ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", autouse=True)
def no_machines_left() -> Iterator[None]:
    """All objects are looked at again and again: no more of them than needed."""
    yield
    forget_machines()


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """Environment of child processes: the same Bohrbug, no settings of the user's."""
    settings = ("PYTEST_", "BOHRBUG_", "COV_", "COVERAGE_", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(settings)}
    kept["PYTHONPATH"] = str(SOURCE)
    kept["PYTHONIOENCODING"] = "utf-8"
    kept["COLUMNS"] = "100"
    # Where Python is told to write no bytecode, each of them would compile all of it again.
    compileall.compile_dir(SOURCE, quiet=2)
    return kept
