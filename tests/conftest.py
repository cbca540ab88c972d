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

from tests.selection import FAST, files_of, in_default_run, is_for_all
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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--part``."""
    parser.addoption(
        "--part",
        choices=("default", "rest", "all"),
        default="default",
        help="which part of the tests is run, where neither files nor -m select some: by default "
        "one of less than ten minutes; the rest; or all",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of :data:`~.selection.FAST`, and leave out those of the other part."""
    fast = files_of(FAST)
    for item in items:
        if item.path in fast and item.get_closest_marker("slow") is None:
            item.add_marker("fast")
    part = config.getoption("--part")
    if part == "all" or not is_for_all(config):
        return
    kept, left_out = [], []
    for item, is_default in zip(items, in_default_run(items), strict=True):
        (kept if is_default == (part == "default") else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


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
