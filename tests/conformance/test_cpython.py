"""CPython's own tests are the judge of the primitives, and of event loops.

``BOHRBUG_CONFORMANCE_SEEDS`` sets the number of random schedules per test (1).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from left_out import DOCUMENT, LEFT_OUT, document_with_table
from runner import (
    ASYNCIO,
    ASYNCIO_SLOW,
    MODULES,
    compare,
    is_there,
    module_of_asyncio,
    names_of,
)

SEEDS = int(os.environ.get("BOHRBUG_CONFORMANCE_SEEDS", "1"))


def _needs(module: str) -> None:
    if not is_there(module):
        pytest.skip(f"this Python was installed without {module}")


@pytest.mark.parametrize(
    "module",
    [
        *MODULES,
        *map(module_of_asyncio, ASYNCIO),
        *(pytest.param(module_of_asyncio(name), marks=pytest.mark.slow) for name in ASYNCIO_SLOW),
    ],
)
def test_at_least_95_percent_pass_under_control(module: str) -> None:
    _needs(module)
    figures = compare(module, range(SEEDS))
    assert figures.passed
    assert figures.share >= 0.95, "\n".join(
        f"{name}: {report.verdict}\n{report.detail}" for name, report in figures.failed.items()
    )


@pytest.mark.parametrize("mode", ["installed", "restored"])
@pytest.mark.parametrize("module", ["test.test_thread", "test.test_threading_local"])
def test_nobody_in_control_is_as_without_us(module: str, mode: str) -> None:
    _needs(module)
    figures = compare(module, (), mode)
    assert figures.passed
    assert not figures.failed


def test_the_document_has_the_table_of_today() -> None:
    text = DOCUMENT.read_text()
    assert document_with_table(text) == text


@pytest.mark.parametrize("module", LEFT_OUT)
def test_what_is_left_out_exists(module: str) -> None:
    """On this version or another: a table of names that no test has would hide nothing."""
    _needs(module)
    assert names_of(module)
