"""The command ``live`` for native programs; loaded only where there is one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click
from rich.console import Console

from bohrbug.cli.exit_codes import FOUND, INCONCLUSIVE
from bohrbug.cli.exploring import explore_options, given_options, leave, usage_error
from bohrbug.cli.native_options import refuse_python_options
from bohrbug.exploration.reproduction import reproduction_of
from bohrbug.live.copies import CannotHoldBack, check
from bohrbug.live.native import NativeLiveRun, live_native_options_of
from bohrbug.live.options import LiveOptions
from bohrbug.live.report import replay_lines, summary_lines
from bohrbug.live.result import LiveResult
from bohrbug.platforms.posix.command import Command
from bohrbug.report.text import render_failure, render_races
from bohrbug.runtime.posix.build import UnsupportedError

_ENDED_BY_CTRL_C = 130
"""What a shell says of a program that Ctrl-C has ended."""


def live_native(
    command: Command, given: Mapping[str, Any], rounds: LiveOptions, quiet: bool
) -> NoReturn:
    """Run a native program once, with rounds, report and exit.

    Parameters:
        command: the program and what is expected of it.
        given: the options of explorations that live runs have, too.
        rounds: how rounds are made.
        quiet: say nothing if nothing was found.
    """
    refuse_python_options(given_options(dict(given)))
    if rounds.debug:
        usage_error("--pdb is for Python programs, and this is a native program")
    options = live_native_options_of(
        explore_options({**given, "timeouts": given["timeouts"] or "late"})
    )
    if options.level == "all":
        usage_error(
            "--level all is for explorations: which accesses to memory are scheduling points of a "
            "native program is learnt from one execution for the next"
        )
    try:
        check()
        run = NativeLiveRun(command, options, rounds)
        result = run.run()
    except (UnsupportedError, CannotHoldBack, ValueError) as error:
        usage_error(str(error))
    _tell(result, command, run, rounds, quiet)
    if result.failure is not None:
        leave(FOUND)
    if result.interrupted and result.code == _ENDED_BY_CTRL_C:
        leave(INCONCLUSIVE)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(result.code)


def _tell(
    result: LiveResult, command: Command, run: NativeLiveRun, rounds: LiveOptions, quiet: bool
) -> None:
    """Print what is to be said, where it does not mix with what the program prints."""
    console = Console(file=sys.stderr)
    failure = result.failure
    if failure is not None:
        replay = ""
        if result.is_whole:
            options = run.options_of_replay(result)
            try:
                path = reproduction_of(failure, command.target(), command.name, options).write()
                replay = f"bohrbug replay {path}"
            except OSError as error:
                click.echo(f"bohrbug: no reproduction file was written: {error}", err=True)
        render_failure(
            failure, console, test=command.name, replay_command=replay, seconds=result.seconds
        )
        for line in replay_lines(result, rounds.history):
            console.print(f"\n{line}", highlight=False)
        console.print()
    elif quiet and not result.races:
        return
    render_races(result.races, console, trace=None if failure is None else failure.trace)
    for line in summary_lines(result):
        console.print(f"bohrbug: {line}", highlight=False, soft_wrap=True)
