"""Which tests the default run executes: a part of all files, and with the rest all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import selection

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("table", [selection.FAST, selection.LONG])
def test_the_tables_name_files(table: dict[str, tuple[str, ...]]) -> None:
    assert all(path.is_file() for path in selection.files_of(table))


def _collected(*arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_the_parts_are_disjoint_and_together_all() -> None:
    default, rest, everything = (
        _collected("--part", part, "tests/property") for part in ("default", "rest", "all")
    )
    assert not set(default) & set(rest)
    assert sorted(default + rest) == sorted(everything)
    assert len(default) < len(rest)
    files = {line.partition("::")[0] for line in everything}
    assert {line.partition("::")[0] for line in default} >= files - _slow_files()


def _slow_files() -> set[str]:
    return {line.partition("::")[0] for line in _collected("-m", "slow", "tests/property")}


def test_all_of_a_file_that_is_named_is_run() -> None:
    file = "tests/property/test_yields.py"
    assert _collected(file) == _collected("--part", "all", file)
