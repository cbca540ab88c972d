"""The command ``live --attach``; loaded only where it is given."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click
from rich.console import Console

from bohrbug.cli.exit_codes import FOUND, INCONCLUSIVE, NOTHING_FOUND
from bohrbug.cli.exploring import leave, usage_error
from bohrbug.exploration.result import Failure
from bohrbug.live.addresses import AttachError
from bohrbug.live.attaching import ANSWER_SECONDS, Attached, Attaching, Silent
from bohrbug.live.options import LiveOptions
from bohrbug.live.report import summary_lines
from bohrbug.live.result import LiveResult
from bohrbug.live.wire import AttachRequest
from bohrbug.model.conditions import Level
from bohrbug.report.text import render_failure

_OF_ITS_START = {
    "timeouts": "--timeouts",
    "entropy": "--entropy",
    "asyncio_errors": "--asyncio-errors",
}
"""Options that a service that runs already has decided upon."""


def live_attached(
    process: int, given: Mapping[str, Any], rounds: LiveOptions, quiet: bool
) -> NoReturn:
    """Make rounds in a service that runs, report and exit.

    Parameters:
        process: its number.
        given: the options of explorations that live runs have, too.
        rounds: how rounds are made.
        quiet: say nothing if nothing was found.
    """
    for name, flag in _OF_ITS_START.items():
        if given[name] is not None:
            usage_error(f"{flag} is for programs that bohrbug starts")
    for is_given, flag in (
        (rounds.debug, "--pdb"),
        (rounds.history != LiveOptions().history, "--history"),
    ):
        if is_given:
            usage_error(f"{flag} is for programs that bohrbug starts")
    wanted = AttachRequest(rounds, Level(given["level"] or Level.RACY), tuple(given["scope"] or ()))
    if sys.platform != "linux":
        usage_error(f"live rounds need Linux, this is {sys.platform}")
    try:
        with Attaching(process, wanted) as attaching:
            failure, result = _follow(attaching, process, quiet)
    except AttachError as error:
        usage_error(str(error))
    if failure is not None:
        leave(FOUND)
    leave(INCONCLUSIVE if result is not None and result.interrupted else NOTHING_FOUND)


def _follow(
    attaching: Attaching, process: int, quiet: bool
) -> tuple[Failure | None, LiveResult | None]:
    """Tell what the service tells, up to its end; Ctrl-C detaches, a second one at once."""

    def detach(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        attaching.detach()

    before = signal.signal(signal.SIGINT, detach)
    failure: Failure | None = None
    name = f"process {process}"
    try:
        for event in attaching.events():
            if isinstance(event, Attached):
                name = _name_of(event, process)
                if not quiet:
                    _say(f"attached to {name}; Ctrl-C detaches")
            elif isinstance(event, Silent):
                _say(
                    f"process {process} has come to no scheduling point for {ANSWER_SECONDS:g} s; "
                    "waiting for one"
                )
            elif isinstance(event, Failure):
                failure = event
            else:
                _tell(failure, event, name, quiet)
                return failure, event
    except AttachError:
        if failure is None:
            raise
        # It was told before it crashed.
        _tell(failure, None, name, quiet)
    finally:
        signal.signal(signal.SIGINT, before)
    return failure, None


def _name_of(attached: Attached, process: int) -> str:
    script = os.path.basename(attached.command[0]) if attached.command else ""
    words = shlex.join([script, *attached.command[1:]]) if script else "a service"
    return f"{words} (process {process}, Python {attached.python})"


def _say(text: str) -> None:
    click.echo(f"bohrbug: {text}", err=True)


def _tell(failure: Failure | None, result: LiveResult | None, name: str, quiet: bool) -> None:
    """Print what is to be said at the end."""
    sys.stdout.flush()
    console = Console(file=sys.stderr)
    if failure is not None:
        seconds = 0.0 if result is None else result.seconds
        render_failure(failure, console, test=name, replay_command="", seconds=seconds)
        console.print(
            f"\nIt can't be replayed: the service ran before anybody attached; the last "
            f"{len(failure.trace):,} steps are what is shown.\n",
            highlight=False,
        )
    elif quiet:
        return
    if result is not None:
        result.failure = failure
        for line in summary_lines(result):
            console.print(f"bohrbug: {line}", highlight=False, soft_wrap=True)
    if failure is not None and result is not None:
        _say("detached; the service goes on")
