"""The numbers of a bounded channel that processes share, and waits for them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.runtime.channels import shared_counts
from bohrbug.runtime.channels.shared_counts import SharedCounts

LONG = 60.0
"""Seconds; a wait that takes them has missed what it waits for."""

needs_waking = pytest.mark.skipif(
    not shared_counts._CAN_WAKE, reason="nobody is woken by another process here"
)

TAKE = """
import sys
from pathlib import Path
from bohrbug.runtime.channels.shared_counts import SharedCounts
counts = SharedCounts(Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    counts.count_taken()
"""


@pytest.fixture(params=["as it is", "looking again", "pure Python"])
def make(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path], SharedCounts]:
    if request.param != "as it is":
        monkeypatch.setattr(shared_counts, "_CAN_WAKE", False)
    if request.param == "pure Python":
        monkeypatch.setattr(shared_counts, "native", None)
    return SharedCounts


def test_numbers_count_from_zero_and_are_shared(
    tmp_path: Path, make: Callable[[Path], SharedCounts]
) -> None:
    mine, theirs = make(tmp_path / "counts"), make(tmp_path / "counts")
    assert [mine.count_put(), theirs.count_put(), mine.count_taken()] == [0, 1, 0]
    assert (mine.taken, theirs.taken) == (1, 1)


def test_a_wait_for_what_was_taken_is_over_at_once(
    tmp_path: Path, make: Callable[[Path], SharedCounts]
) -> None:
    counts = make(tmp_path / "counts")
    assert counts.wait_until_taken(0, 0)
    assert counts.wait_until_taken(-7, 0)
    counts.count_taken()
    assert counts.wait_until_taken(1, 0)


def test_a_wait_in_vain_ends(tmp_path: Path, make: Callable[[Path], SharedCounts]) -> None:
    counts = make(tmp_path / "counts")
    counts.count_taken()
    assert not counts.wait_until_taken(2, 0.01)


def test_each_of_many_waits_ends_once_as_many_were_taken(
    tmp_path: Path, make: Callable[[Path], SharedCounts]
) -> None:
    # More than there are bits to wait under.
    needed = list(range(1, 41))
    seen: dict[int, int] = {}

    def wait(number: int) -> None:
        counts = make(tmp_path / "counts")
        if counts.wait_until_taken(number, LONG):
            seen[number] = counts.taken

    threads = [threading.Thread(target=wait, args=(number,)) for number in needed]
    for thread in threads:
        thread.start()
    taker = make(tmp_path / "counts")
    for _ in needed:
        taker.count_taken()
    for thread in threads:
        thread.join(LONG / 2)
    assert sorted(seen) == needed
    assert all(taken >= number for number, taken in seen.items())


@needs_waking
def test_another_process_wakes_who_waits(tmp_path: Path) -> None:
    counts = SharedCounts(tmp_path / "counts")
    process = subprocess.Popen([sys.executable, "-c", TAKE, str(tmp_path / "counts"), "100"])
    over: list[bool] = []

    def wait() -> None:
        over.extend(counts.wait_until_taken(number, LONG) for number in range(1, 101))

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join(LONG / 2)
    assert over == [True] * 100
    assert process.wait() == 0
    assert counts.taken == 100


@needs_waking
def test_who_waits_is_counted_as_long_as_it_waits(tmp_path: Path) -> None:
    counts = SharedCounts(tmp_path / "counts")
    assert not counts.wait_until_taken(5, 0.001)
    assert not any(memoryview(counts._memory)[16:])


@needs_waking
@pytest.mark.parametrize("function", ["add_and_wake", "wait_shared"])
def test_memory_that_is_too_small_is_refused(function: str) -> None:
    arguments = (1, 0.0) if function == "wait_shared" else ()
    with pytest.raises(IndexError):
        getattr(shared_counts.native, function)(bytearray(16), 1, *arguments)
