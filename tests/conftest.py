"""What all tests share."""

from __future__ import annotations

import compileall
import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.simulated import forget_machines

_BOHRBUG = importlib.util.find_spec("bohrbug")
assert _BOHRBUG is not None
assert _BOHRBUG.origin is not None
SOURCE = Path(_BOHRBUG.origin).parent.parent
"""Where the Bohrbug under test is imported from: this checkout, or an installation of it."""

FAST = {
    "unit": (
        *("aftermath", "aligned_policy", "alone", "checking", "decisions", "enabledness"),
        *("estimates", "filtering", "happens_before", "idents", "in_python", "machine"),
        *("minimisation", "mutants", "numbering", "orderings", "policies", "primitives"),
        *("races", "reads_from_draws", "recorded", "repeating", "restarts"),
        *("scheduled_accesses", "scheduling", "search_random", "search_systematic"),
        *("semaphores", "store", "verdicts", "wakeup_tree"),
    ),
    "property": ("deciders_by_definition",),
    "native": ("scheduling",),
}
"""By folder the files whose tests are marked ``fast``, but for those that are marked ``slow``.

They hold the rules of scheduling: nearly all mutants of tests/mutants.toml are killed by them.  All
of them together take less than 50 s of processor time.
"""

# How fast the machine is says nothing of the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_configure() -> None:
    """Let Ctrl-C reach what tests start, also where they run as a job that ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let workers that have nothing to do take tests from others.

    By default the first worker gets an eighth of the tests at once, and keeps it.  These are the
    longest, those of whole commands: it would still be at them when the others are done.
    """
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of :data:`FAST`."""
    folder = Path(__file__).parent
    files = {folder / name / f"test_{file}.py" for name in FAST for file in FAST[name]}
    for item in items:
        if item.path in files and item.get_closest_marker("slow") is None:
            item.add_marker("fast")


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
