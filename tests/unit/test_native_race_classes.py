"""What races of native programs look like, from lines of C and values."""

from __future__ import annotations

from pathlib import Path

import pytest

from bohrbug.model.operation import Site
from bohrbug.model.outcome import RacePattern
from bohrbug.monitors.native_race_classes import Side, classify

SOURCE = """\
hits++;
stats->requests += 1;
users--;
users++;
balance = balance + amount;
if (taken < SEATS) {
    taken = 1;
}
state = READY;
if (state == READY) go();
flags |= 4;
if (flags & 1) go();
if (flags & 4) go();
free(buffer);
sum = buffer[0];
unsigned opened : 1, closed : 1;
door.opened = 1;
door.closed = 1;
look(door.closed);
copy = "hits++"; /* hits-- */
if (!shared) {
    pthread_mutex_lock(&mutex);
    if (!shared) {
        shared = made;
    }
}
"""


@pytest.fixture
def side(tmp_path: Path):  # type: ignore[no-untyped-def]
    path = tmp_path / "program.c"
    path.write_text(SOURCE)
    lines = SOURCE.splitlines()

    def made(text: str, *, writes: bool, **facts: object) -> Side:
        number = next(i for i, line in enumerate(lines, 1) if line.strip() == text)
        return Side(Site(str(path), number, "f"), writes, **facts)  # type: ignore[arg-type]

    return made


@pytest.mark.parametrize(
    ("first", "second", "pattern"),
    [
        (("hits++;", True), ("hits++;", False), RacePattern.LOSSY_COUNTER),
        (
            ("stats->requests += 1;", True),
            ("stats->requests += 1;", True),
            RacePattern.LOSSY_COUNTER,
        ),
        (("users++;", True), ("users++;", True), RacePattern.REFERENCE_COUNT),
        (("users--;", True), ("users++;", True), RacePattern.REFERENCE_COUNT),
        (
            ("balance = balance + amount;", True),
            ("balance = balance + amount;", False),
            RacePattern.LOST_UPDATE,
        ),
        (("taken = 1;", True), ("if (taken < SEATS) {", False), RacePattern.CHECK_THEN_ACT),
        (("state = READY;", True), ("if (state == READY) go();", False), RacePattern.PUBLICATION),
        (("free(buffer);", True), ("sum = buffer[0];", False), RacePattern.FREED),
        (("door.opened = 1;", True), ("door.closed = 1;", True), RacePattern.LOST_UPDATE),
        (("door.opened = 1;", True), ("look(door.closed);", False), RacePattern.DIFFERENT_BITS),
        (("door.closed = 1;", True), ("look(door.closed);", False), RacePattern.PUBLICATION),
    ],
)
def test_lines(side, first, second, pattern) -> None:  # type: ignore[no-untyped-def]
    sides = [side(text, writes=writes) for text, writes in (first, second)]
    assert classify(*sides) is pattern
    assert classify(*reversed(sides)) is pattern


def test_a_mask_tells_which_bits_are_read(side) -> None:  # type: ignore[no-untyped-def]
    write = side("flags |= 4;", writes=True, before=1, after=5)
    other = side("if (flags & 1) go();", writes=False)
    same = side("if (flags & 4) go();", writes=False)
    assert classify(write, other) is RacePattern.DIFFERENT_BITS
    assert classify(write, same) is RacePattern.PUBLICATION


def test_values_tell_idempotent_writes(side) -> None:  # type: ignore[no-untyped-def]
    first = side("state = READY;", writes=True, before=0, after=1)
    again = side("state = READY;", writes=True, before=1, after=1)
    another = side("state = READY;", writes=True, before=1, after=2)
    assert classify(first, again) is RacePattern.IDEMPOTENT_WRITE
    assert classify(first, another) is RacePattern.UNCLASSIFIED


def test_a_counter_whose_value_falls_is_no_statistic(side) -> None:  # type: ignore[no-untyped-def]
    down = side("hits++;", writes=True, before=5, after=4)
    assert classify(down, side("hits++;", writes=True)) is RacePattern.REFERENCE_COUNT


def test_double_checked_locking(side) -> None:  # type: ignore[no-untyped-def]
    read = side("if (!shared) {", writes=False)
    write = side("shared = made;", writes=True, holds_lock=True)
    assert classify(read, write) is RacePattern.DOUBLE_CHECKED_LOCKING
    held = Side(read.site, False, True)
    assert classify(held, write) is not RacePattern.DOUBLE_CHECKED_LOCKING


def test_strings_and_comments_say_nothing(side) -> None:  # type: ignore[no-untyped-def]
    text = 'copy = "hits++"; /* hits-- */'
    assert classify(side(text, writes=True), side(text, writes=True)) is RacePattern.UNCLASSIFIED


def test_without_source_there_is_still_who_writes() -> None:
    read, write = Side(None, False), Side(Site("gone.c", 3, "f"), True)
    assert classify(read, write) is RacePattern.PUBLICATION
    assert classify(write, write) is RacePattern.UNCLASSIFIED
