"""The commands ``record`` and ``replay-messages``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from bohrbug.report.wording import plural
from bohrbug.runtime.channels.codec import LogError
from bohrbug.runtime.channels.commands import (
    CommandError,
    CommandResult,
    record_command,
    replay_command,
    words_of_signal,
)
from bohrbug.runtime.channels.desynchronisation import DESYNCHRONISED
from bohrbug.runtime.channels.reading import read_coded

USAGE, NOT_REACHED = 2, 3
INTERRUPTED = 128 + signal.SIGINT

DEFAULT_FILE = Path("messages.bohrbug")

_RECORD_CODES = """\b
Exit codes:
  2    the command can't be started, or the file can't be written
  3    --until: the outcome did not come within --max runs
  130  --until: interrupted
  else that of the command (of its last run); 128 plus the number of the
       signal that ended it
"""
_REPLAY_CODES = """\b
Exit codes:
  2    the command can't be started, or the file is not a message log
  3    desynchronised (not with --keep-going)
  130  interrupted (Ctrl-C)
  else that of the command (with --times the first that is not 0); 128 plus
       the number of the signal that ended it
"""


def usage_error(message: str) -> NoReturn:
    """Say what is wrong and exit."""
    say(message)
    sys.exit(USAGE)


def say(message: str) -> None:
    """A line of ours beside the output of the command."""
    click.echo(f"bohrbug: {message}", err=True)


def tell_warnings(result: CommandResult) -> None:
    """Say what processes warned of, and whether there were any."""
    for words in result.warnings:
        say(words)
    if not result.took_part:
        say(
            "no Python process of the command took part: is it a program for a Python that Bohrbug "
            "supports, and not started with -I, -E or -S? (see docs/reference/messages.md)"
        )


@click.command("record", epilog=_RECORD_CODES, short_help="Run a COMMAND and record its messages.")
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=DEFAULT_FILE,
    show_default=True,
    help="The message log to write.",
)
@click.option(
    "--until",
    type=click.Choice(["pass", "fail"]),
    metavar="pass|fail",
    help="Run the command again and again until it passes or fails, and keep that log.",
)
@click.option(
    "--max",
    "most",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    metavar="N",
    help="With --until: the largest number of runs.",
)
@click.option("--digests", is_flag=True, help="Record digests of values, too.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def record(
    file: Path,
    until: str | None,
    most: int,
    digests: bool,
    quiet: bool,
    command: Sequence[str],
) -> None:
    """Run a COMMAND as it is, and record the order of its messages.

    All its threads and processes run natively. Channels are those of queue, multiprocessing,
    concurrent.futures, asyncio, and sockets of this machine.
    """
    runs = 0
    try:
        while True:
            runs += 1
            result = record_command(command, file, digests=digests)
            if result.interrupted and until is not None:
                tell_warnings(result)
                say(f"interrupted in run {runs}; it is in {file}")
                sys.exit(INTERRUPTED)
            if until is None or result.passed is (until == "pass"):
                break
            if runs == most:
                tell_warnings(result)
                say(f"it did not {until} in {plural(runs, 'run')}; the last is in {file}")
                sys.exit(NOT_REACHED)
    except CommandError as error:
        usage_error(str(error))
    except OSError as error:
        usage_error(f"{file}: {error.strerror or error}")
    tell_warnings(result)
    if not quiet:
        events = read_coded(file).events
        size = file.stat().st_size
        times = f" (run {runs:,})" if until is not None else ""
        say(
            f"{words_of_signal(result.status)}{times}; {plural(events, 'event')} "
            f"in {plural(size, 'byte')}: {file}"
        )
    sys.exit(result.status)


@click.command(
    "replay-messages",
    epilog=_REPLAY_CODES,
    short_help="Run a COMMAND and enforce the order of messages in FILE.",
)
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option(
    "--keep-going",
    is_flag=True,
    help="Continue after a difference, and follow the log where possible.",
)
@click.option(
    "--record-alternate",
    "alternate",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT",
    help="Write a message log of what happens in the replay.",
)
@click.option(
    "--patience",
    type=click.FloatRange(0.1),
    metavar="SECONDS",
    default=10.0,
    show_default=True,
    help="Seconds without progress after which a wait counts as endless.",
)
@click.option(
    "--times",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Replay N times.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing except desynchronisations.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def replay_messages(
    file: Path,
    keep_going: bool,
    alternate: Path | None,
    patience: float,
    times: int,
    quiet: bool,
    command: Sequence[str],
) -> None:
    """Run a COMMAND and enforce the order of messages in FILE.

    Each task gets its messages in the order of the log, which "bohrbug record" has written; all
    else runs natively. If the program does something else than its log, the replay stops.
    """
    statuses: list[int] = []
    desynchronised = 0
    try:
        events = read_coded(file).events
        for _ in range(times):
            result = replay_command(
                command, file, keep_going=keep_going, patience=patience, alternate=alternate
            )
            statuses.append(result.status)
            tell_warnings(result)
            if result.desynchronisation is not None:
                desynchronised += 1
                if desynchronised == 1:
                    say(f"desynchronised: {result.desynchronisation}")
                    if result.differences > 1:
                        more = plural(result.differences - 1, "more difference")
                        say(f"{more}; elsewhere the log was followed")
            if result.interrupted:
                say(f"interrupted after {result.events:,} of {plural(events, 'event')}")
                sys.exit(INTERRUPTED)
    except (CommandError, LogError) as error:
        usage_error(str(error))
    except OSError as error:
        usage_error(f"{alternate}: {error.strerror or error}")
    if not quiet and times > 1:
        passed = statuses.count(0)
        say(f"{passed:,} of {times:,} replays passed, {desynchronised:,} were desynchronised")
    if desynchronised and not keep_going:
        sys.exit(DESYNCHRONISED)
    sys.exit(next((status for status in statuses if status), 0))
