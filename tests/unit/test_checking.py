"""The command that is run after each execution of a native program."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bohrbug.model.outcome import PASSED, OutcomeKind
from bohrbug.platforms.posix.checking import outcome_of_check

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only on Linux")


def in_a_shell(text: str, seconds: float = 0) -> tuple[OutcomeKind, str]:
    outcome = outcome_of_check(("/bin/sh", "-c", text), seconds)
    return outcome.kind, outcome.message


def test_what_exits_with_0_passes() -> None:
    assert in_a_shell("cat; echo fine") == (PASSED.kind, PASSED.message)


def test_what_exits_otherwise_fails_with_its_last_line() -> None:
    words = "the check exits with 3: second"
    assert in_a_shell("echo first; echo second >&2; exit 3") == (OutcomeKind.ASSERTION, words)
    assert in_a_shell("exit 4") == (OutcomeKind.ASSERTION, "the check exits with 4")


def is_alive(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def test_one_that_hangs_is_killed_with_what_it_has_started(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # The reader would wait for ever for the writer, and holds the output open.
    found = in_a_shell(f"cat {pipe} & echo $! > {tmp_path}/pid; wait", 0.3)
    assert found == (OutcomeKind.HANG, "the check has not ended within 0.3 s")
    child = int((tmp_path / "pid").read_text())
    # It has been sent the signal; the kernel may need a moment.
    while is_alive(child):
        time.sleep(0.01)
