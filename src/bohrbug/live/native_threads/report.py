"""What is said of a run with real threads."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bohrbug.live.native_threads.delays import Delay, site_in_words
from bohrbug.live.native_threads.harm import Harm
from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.live.native_threads.session import NativeThreadsResult
from bohrbug.live.native_threads.traps import Race, Side
from bohrbug.report.wording import plural, seconds_in_words

MOST_RACES = 10
"""Races that are told in full."""

_FRAMES = 4
"""Frames of each stack of a race that are told."""


def harm_lines(
    harm: Harm, options: NativeThreadsOptions, *, is_python: bool = True
) -> Iterator[str]:
    """A failure, with the delays that were in force just before it.

    Parameters:
        harm: the failure.
        options: of the run.
        is_python: it is one of a Python program, which may need a certain interpreter.
    """
    yield f"FAILED: {harm.what}"
    yield from (f"  {line}" for line in harm.details)
    yield from delay_lines(harm.delays)
    if is_python and not options.gil and _has_gil():
        yield (
            "  It may need free-threaded Python: threads could be switched before any access to "
            "data. --interpreter gil delays them only where this Python could switch them."
        )
    yield (
        f"  Seed {options.seed}. There is no file to replay: with real threads a seed only makes "
        "it likelier that it happens again."
    )


def delay_lines(delays: list[Delay]) -> Iterator[str]:
    """Those in force just before a failure."""
    if delays:
        yield "  Delays in force just before, the latest last:"
        yield from (f"    {_delay_in_words(delay)}" for delay in delays)
    else:
        yield "  No thread was delayed just before."


def _has_gil() -> bool:
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def _delay_in_words(delay: Delay) -> str:
    ended = "still does" if delay.ended is None else f"{(delay.ended - delay.began) * 1000:.1f} ms"
    return f"{delay.thread} {delay.why}, at {site_in_words(delay.at)} ({ended})"


def race_lines(race: Race) -> Iterator[str]:
    """A race that was caught in a trap.

    Parameters:
        race: the race.
    """
    kind = "race, benign (the same value was written)" if race.is_benign else "race"
    yield f"{kind}: on {race.name}, caught {plural(race.count, 'time')}"
    yield from _side_lines(race.paused, "was about to")
    yield from _side_lines(race.other, "came meanwhile to")
    if race.values:
        before, during, after = race.values
        yield f"  value before: {before}; after the other's access: {during}; after both: {after}"


def _side_lines(side: Side, words: str) -> Iterator[str]:
    innermost, *others = side.stack
    yield f"  {side.thread} {words} {side.verb} it at {site_in_words(innermost)}"
    yield from (f"    called at {site_in_words(site)}" for site in others[: _FRAMES - 1])


def races_in_order(result: NativeThreadsResult) -> list[Race]:
    """The races that were caught: benign ones last, the more frequent first."""
    return sorted(result.counts.races, key=lambda race: (race.is_benign, -race.count))


def summary_lines(result: NativeThreadsResult, options: NativeThreadsOptions) -> Iterator[str]:
    """The end of the report; it never says that a program holds.

    Parameters:
        result: of the run.
        options: of the run.
    """
    counts = result.counts
    made = f"{plural(counts.windows, 'window')}, {seconds_in_words(result.seconds)}"
    if result.harm:
        yield f"{plural(len(result.harm), 'failure')} in {made}"
    elif result.interrupted:
        yield f"interrupted: no failure up to then in {made}"
    else:
        yield f"no failure in {made}"
    if counts.windows:
        benign = sum(race.is_benign for race in counts.races)
        races = plural(len(counts.races), "race")
        yield (
            f"{plural(counts.traps, 'trap')}, which caught {races} ({benign:,} benign); threads "
            f"gave way {plural(counts.gave_way, 'time')}; they waited "
            f"{seconds_in_words(counts.seconds_delayed)} in all"
        )
        yield f"windows took {result.share:.0f}% of the time; seed {options.seed}"
    else:
        yield "there was no moment at which two threads ran and the budget allowed a window"
    hidden = len(counts.races) - MOST_RACES
    if hidden > 0:
        yield f"{plural(hidden, 'more race')} not told here"
