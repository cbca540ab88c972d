"""Data races: both accesses, with their stacks and the locks that were held."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.text import Text

from bohrbug.model.operation import ResourceId, Site
from bohrbug.model.outcome import Access, Race, RacePattern, StaleRead
from bohrbug.model.site import site_of
from bohrbug.report.naming import Names
from bohrbug.report.sources import source_line
from bohrbug.report.stack import draw_stack
from bohrbug.report.style import HEADING, QUIET, WARNED, Paper

_LOOKS_LIKE = {
    RacePattern.LOST_UPDATE: (
        "Looks like a lost update: both read the value, compute with it and write it back, and what"
        " one of them wrote is lost."
    ),
    RacePattern.LOSSY_COUNTER: (
        "Looks like a counter that only goes up: an increment may be lost. Harmless if it is only a"
        " statistic, not if anything depends on the number."
    ),
    RacePattern.CHECK_THEN_ACT: (
        "Looks like check-then-act: when it acts, the result of the test may be out of date."
    ),
    RacePattern.DOUBLE_CHECKED_LOCKING: (
        "Looks like double-checked locking: read without the lock, and again under it. It works if"
        " the published object is complete when it is written, and not changed afterwards."
    ),
    RacePattern.IDEMPOTENT_WRITE: (
        "Both seem to write the same value. That does no harm by itself, but often shows that two"
        " tasks do what one was meant to do."
    ),
    RacePattern.ATOMIC_CONTAINER_CALL: (
        "Looks like two calls that the container executes atomically, so it stays consistent; their"
        " order is open."
    ),
    RacePattern.REFERENCE_COUNT: (
        "Looks like a reference count, which goes up and down: when one change is lost, the"
        " counted object is freed too early or never."
    ),
    RacePattern.FREED: ("One frees the memory that the other still uses, or is about to use."),
    RacePattern.DIFFERENT_BITS: (
        "The read seems to use other bits of the word than the write changes. That does no harm"
        " as long as nothing else writes the word."
    ),
    RacePattern.PUBLICATION: (
        "One writes and the other reads without waiting for it: it may see the old value or the"
        " new one."
    ),
}


_TRIANGULAR = (
    "On x86 it is triangular: a store before the read may still be on its way when the read is"
    " made, so orders are possible that no interleaving shows."
)
_MAY_BE_ATOMIC = (
    "The processor reported it, and can't tell an atomic load or store from a plain one: if the"
    " source says that both are atomic, it is not a race."
)
_NOT_TRIANGULAR = (
    "It is not triangular in the execution that was examined: there no store of the same task,"
    " which x86 might hold back, came before the load."
)

_ID = re.compile(r"(before|[\d.]+):\d+")
"""What a resource is called that the execution knows nothing of."""


def pattern_in_words(race: Race) -> str:
    """What a race looks like, in a sentence or two; empty if nothing is known."""
    return _LOOKS_LIKE.get(race.pattern, "")


def kinds_in_words(race: Race) -> str:
    """What the two accesses are, and how often they raced: ``two writes, seen 3 times``."""
    times = f", seen {race.count:,} times" if race.count > 1 else ""
    both = race.first.operation.kind.is_write and race.second.operation.kind.is_write
    return f"{'two writes' if both else 'a read and a write'}{times}"


def notes_in_words(race: Race, names: Names) -> list[str]:
    """What else is known of a race between native accesses, a sentence each."""
    notes = []
    if race.is_triangular is not None:
        notes.append(_TRIANGULAR if race.is_triangular else _NOT_TRIANGULAR)
    if race.may_be_atomic:
        notes.append(_MAY_BE_ATOMIC)
    if race.allocated is not None:
        notes.append(f"The memory was allocated at {names.place(race.allocated)}.")
    return notes


def common_in_words(race: Race) -> str:
    """That no lock protects both accesses, if it is worth a word; else nothing."""
    common = {held.resource for held in race.first.holding} & {
        held.resource for held in race.second.holding
    }
    if (race.first.holding or race.second.holding) and not common:
        return "No lock is held at both accesses."
    return ""


def race_sites(races: Sequence[Race]) -> list[Site]:
    """All places that races mention."""
    found: list[Site] = []
    for race in races:
        stale = () if race.stale is None else (race.stale.access,)
        if race.stale is not None and race.stale.awaited is not None:
            found.append(race.stale.awaited)
        for access in (*stale, race.first, race.second):
            site = site_of(access.operation.place)
            if site is not None:
                found.append(site)
            found.extend(frame.site for frame in access.stack)
            found.extend(held.acquired for held in access.holding if held.acquired is not None)
    return found


def _draw_access(paper: Paper, access: Access, names: Names, order: str) -> None:
    site = site_of(access.operation.place)
    paper.paragraph(paper.prose(f"{order}: {access_in_words(access, names)}"), 4, 6)
    paper.paragraph(paper.text(held_in_words(access, names), QUIET), 6)
    if access.stack:
        draw_stack(paper, access.stack, names, indent=6)
    elif site is not None:
        line = Text("      ") + paper.text(f"{names.place(site)}  ", QUIET)
        paper.put(line + paper.text(source_line(site)))


_OVER_AWAIT = {
    RacePattern.LOST_UPDATE: (
        "A lost update: the value written depends on what was read before the await, so the"
        " write in between is lost."
    ),
    RacePattern.CHECK_THEN_ACT: (
        "Check-then-act: the test was made before the await, and another task has written since."
    ),
}
"""How the write rests on the read."""


def _draw_over_await(
    paper: Paper,
    race: Race,
    stale: StaleRead,
    names: Names,
    explained: set[RacePattern] | None,
    frames: int | None,
) -> None:
    times = f", seen {race.count:,} times" if race.count > 1 else ""
    title = paper.text("Race over an await", WARNED) + paper.text(f" on {race.label}", HEADING)
    paper.paragraph(title + paper.text(f"  ({race.pattern.value}{times})", QUIET), 2, 6)
    words = _OVER_AWAIT.get(race.pattern, "")
    if explained is not None:
        if race.pattern in explained:
            words = ""
        explained.add(race.pattern)
    if words:
        paper.paragraph(paper.prose(words), 4)
    one, other = _called(names, race.second, stale.reader), _called(names, race.first, stale.other)
    parts = (
        (f"task {one} reads it", stale.access),
        (f"meanwhile task {other} writes it", race.first),
        (f"then task {one} writes it", race.second),
    )
    for number, (what, access) in enumerate(parts):
        if number == 1 and stale.awaited is not None:
            line = f"it awaits at {names.place(stale.awaited)}"
            paper.paragraph(paper.text(line, QUIET), 4, 6)
            paper.put(Text("      ") + paper.text(source_line(stale.awaited)))
        site = site_of(access.operation.place)
        where = "" if site is None else f" at {names.place(site)}"
        paper.paragraph(paper.prose(what + where), 4, 6)
        draw_stack(paper, access.stack if frames is None else access.stack[-frames:], names, 6)


def _called(names: Names, access: Access, name: str) -> str:
    known = names.task(access.task)
    return f"{known} ({name})" if known == access.task and name else known


def access_in_words(access: Access, names: Names) -> str:
    """Who made an access, and where: ``task 0.1 (count) writes it at race.c:10``."""
    site = site_of(access.operation.place)
    at = "" if site is None else f"at {names.place(site)}"
    return f"task {names.task(access.task)} {access.operation.kind.name}s it {at}"


def held_in_words(access: Access, names: Names) -> str:
    """Which locks were held at an access: ``holding Lock lock (taken at bank.py:20)``."""
    held = [
        f"{_lock(item.resource, names)}"
        + (f" (taken at {names.place(item.acquired)})" if item.acquired is not None else "")
        for item in access.holding
    ]
    return f"holding {', '.join(held)}" if held else "holding no lock"


def _lock(resource: ResourceId, names: Names) -> str:
    """The name of a lock; the execution that the names are from may not have known it."""
    name = names.short_resource(resource)
    return "a lock" if _ID.fullmatch(name) else name


def draw_race(
    paper: Paper,
    race: Race,
    names: Names,
    explained: set[RacePattern] | None = None,
    frames: int | None = None,
) -> None:
    """Print one race.

    Parameters:
        paper: where to print to.
        race: the race.
        names: what to call things.
        explained: patterns that need no more words than their name; grows.
        frames: innermost ones to show at most of each stack of a race over an await.
    """
    if race.stale is not None:
        _draw_over_await(paper, race, race.stale, names, explained, frames)
        return
    title = paper.text("  Race", WARNED) + paper.text(f" on {race.label}", HEADING)
    paper.put(title + paper.text(f"  ({kinds_in_words(race)})", QUIET))
    looks = pattern_in_words(race)
    if explained is not None:
        if race.pattern in explained:
            looks = looks.partition(":")[0].partition(".")[0] + "." if looks else ""
        explained.add(race.pattern)
    if looks:
        paper.paragraph(paper.prose(looks), 4)
    for note in notes_in_words(race, names):
        paper.paragraph(paper.prose(note), 4)
    _draw_access(paper, race.first, names, "one")
    _draw_access(paper, race.second, names, "the other")
    if words := common_in_words(race):
        paper.paragraph(paper.text(words, QUIET), 4)
