"""What ``live --native-threads`` prints, of whichever kind of program."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.live.native_threads.report import (
    MOST_RACES,
    race_lines,
    races_in_order,
    summary_lines,
)
from bohrbug.live.native_threads.session import NativeThreadsResult


def sum_up(result: NativeThreadsResult, options: NativeThreadsOptions) -> None:
    """The end of the report: races, and what windows have come to."""
    for race in races_in_order(result)[:MOST_RACES]:
        say(race_lines(race))
    say(f"bohrbug: {line}" for line in summary_lines(result, options))


def say(lines: Iterable[str]) -> None:
    """Print lines at once, where they do not mix with what the program prints."""
    if sys.stdout is not None:
        sys.stdout.flush()
    click.echo("\n".join(lines), err=True)
