"""The command ``live``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any

import click
from rich.console import Console

from bohrbug.api import target_of
from bohrbug.cli.commands import RAW_ARGUMENTS, RawCommand
from bohrbug.cli.exit_codes import FOUND, INCONCLUSIVE, NOTHING_FOUND
from bohrbug.cli.exploring import explore_options, given_option, given_options, leave, usage_error
from bohrbug.cli.native_options import is_native, misuses_named
from bohrbug.cli.programs import Program, ProgramError, Script, program_named
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import reproduction_of
from bohrbug.live.copies import CannotHoldBack, check
from bohrbug.live.options import LiveOptions
from bohrbug.live.report import replay_lines, summary_lines
from bohrbug.live.result import LiveResult
from bohrbug.live.session import live_options_of, run_live
from bohrbug.platforms.posix.command import Command
from bohrbug.report.text import render_failure

_CODES = """\b
Exit codes:
  that of the program, if nothing was found
  1  a failure was found
  2  the command can't be carried out as given
  3  interrupted, with nothing found
"""

_EXPLORING = ("level", "scope", "timeouts", "entropy", "asyncio_errors")
"""Options of explorations that live runs have, too."""

_OF_NATIVE_THREADS = ("interpreter", "hang_seconds")
"""Those that only runs with real threads have."""

_DEFAULTS = {field.name: field.default for field in fields(LiveOptions)}


def _live_option(flag: str, metavar: str, type_: Any, help_: str, **more: Any) -> Any:
    name = flag.replace("-", "_")
    default = _DEFAULTS[name]
    shown = f"{default:g}" if isinstance(default, float) else default
    told = help_ if default is None else f"{help_} [default: {shown}]"
    return click.option(
        f"--{flag}", *more.pop("others", ()), name, metavar=metavar, type=type_, help=told
    )


def live_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say how rounds are made; the command is given them as one object."""

    @wraps(command)
    def with_rounds(**given: Any) -> Any:
        named = {name: given.pop(name) for name in _DEFAULTS}
        try:
            rounds = LiveOptions(**{name: v for name, v in named.items() if v is not None})
        except ValueError as error:
            usage_error(str(error))
        return command(rounds=rounds, **given)

    with_live: Callable[..., Any] = with_rounds
    for decorate in (
        click.option(
            "--pdb", "debug", is_flag=True, help="Open a debugger where an exception leaves a task."
        ),
        _live_option(
            "history",
            "STEPS",
            int,
            "Steps that are kept; a run of more than twice as many can't be replayed.",
        ),
        _live_option("patience", "SECONDS", float, "Real seconds after which a fragment is ended."),
        _live_option(
            "workers",
            "N",
            int,
            "Fragments at the same time, by default one for each processor.",
            others=("-j",),
        ),
        _live_option("seconds", "SECONDS", float, "Make no more rounds after so many seconds."),
        _live_option("rounds", "N", int, "Make no more rounds than this."),
        _live_option("fragments", "N", int, "Fragments of a round."),
        _live_option("window", "STEPS", int, "Steps of a fragment."),
        _live_option("budget", "PERCENT", float, "How much of the time rounds may take."),
        _live_option("seed", "N", int, "The seed of what fragments do."),
    ):
        with_live = decorate(with_live)
    for name in reversed((*_EXPLORING, *_OF_NATIVE_THREADS)):
        # When timeouts fire has another default here, see below.
        with_live = given_option(name, tells_default=name != "timeouts")(with_live)
    return with_live


@click.command(
    cls=RawCommand,
    context_settings={"allow_interspersed_args": False},
    epilog=_CODES,
    short_help="Run a script once, and let copies of it try what could come next.",
)
@live_options
@click.option("-q", "--quiet", is_flag=True, help="Say nothing if nothing was found.")
@click.option(
    "--exit-code", type=int, metavar="N", help="A native program fails if it exits with another."
)
@click.option(
    "--allow-misuse",
    multiple=True,
    metavar="KIND,...",
    help="Let a native program go on behind misuse, as the C library does.",
)
@click.option(
    "--attach",
    type=click.IntRange(min=1),
    metavar="PID",
    help="Make rounds in a process that runs and has called bohrbug.live.start().",
)
@click.option(
    "--native-threads",
    is_flag=True,
    help="Keep the real threads of the program: delay them, and catch races in traps.",
)
@click.argument("program", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def live(
    program: str | None,
    arguments: Sequence[str],
    rounds: LiveOptions,
    quiet: bool,
    exit_code: int | None,
    allow_misuse: tuple[str, ...],
    attach: int | None,
    native_threads: bool,
    **given: Any,
) -> None:
    """Run a script or a function (module:function, file.py:function) once, for as long as it runs.

    Now and then copies of it, which nobody outside sees, try what could come next. If one of them
    fails, the program goes on as it did, and fails in the same way.
    """
    if attach is not None and (program is not None or native_threads):
        other = "give no program"
        if native_threads:
            other = "--native-threads is for one that bohrbug starts"
        usage_error(f"--attach is for a process that runs already: {other}")
    if program is None and attach is None:
        raise click.UsageError("Missing argument 'PROGRAM'.")
    if native_threads:
        assert program is not None
        from bohrbug.cli.live_native_threads import live_native_threads

        live_native_threads(program, arguments, rounds, given, quiet, exit_code)
    for name in _OF_NATIVE_THREADS:
        if name in given_options(given):
            usage_error(f"--{name.replace('_', '-')} needs --native-threads")
        del given[name]
    if attach is not None:
        # Loaded only where it is wanted.
        from bohrbug.cli.live_attached import live_attached

        live_attached(attach, given, rounds, quiet)
    assert program is not None
    if is_native(program, arguments, click.get_current_context().meta[RAW_ARGUMENTS]):
        # Loaded only where there is one.
        from bohrbug.cli.live_native import live_native

        expected = Command(
            (program, *arguments), exit_code, allowed_misuses=misuses_named(allow_misuse)
        )
        live_native(expected, given, rounds, quiet)
    for is_given, flag in (
        (exit_code is not None, "--exit-code"),
        (allow_misuse, "--allow-misuse"),
    ):
        if is_given:
            usage_error(f"{flag} is for native programs, and this is a Python program")
    # What only a sleep that ends too soon can break would not break in the run.
    given["timeouts"] = given["timeouts"] or "late"
    options = live_options_of(explore_options(given))
    try:
        test = program_named(program, arguments)
        check()
    except (ProgramError, CannotHoldBack) as error:
        usage_error(str(error))
    if isinstance(test, Script):
        test.prepare()
        running: Callable[[], object] = Program(test)
        target, name = test.target(), test.name
    else:
        running, target, name = test, target_of(test), program

    def tell(result: LiveResult) -> None:
        _tell(result, target, name, options, rounds, quiet)

    result = run_live(running, options, rounds, on_crash=tell)
    tell(result)
    if result.failure is not None:
        leave(FOUND)
    if result.interrupted:
        leave(INCONCLUSIVE)
    if isinstance(running, Program) and running.code not in (None, 0):
        sys.stdout.flush()
        sys.exit(running.code)
    leave(NOTHING_FOUND)


def _tell(
    result: LiveResult,
    target: dict[str, Any],
    name: str,
    options: ExploreOptions,
    rounds: LiveOptions,
    quiet: bool,
) -> None:
    """Print what is to be said, where it does not mix with what the program prints."""
    sys.stdout.flush()
    console = Console(file=sys.stderr)
    failure = result.failure
    if failure is not None:
        command = ""
        if result.is_whole:
            try:
                path = reproduction_of(failure, target, name, options).write()
                command = f"bohrbug replay {path}"
            except OSError as error:
                click.echo(f"bohrbug: no reproduction file was written: {error}", err=True)
        render_failure(failure, console, test=name, replay_command=command, seconds=result.seconds)
        for line in replay_lines(result, rounds.history):
            console.print(f"\n{line}", highlight=False)
        console.print()
    elif quiet:
        return
    for line in summary_lines(result):
        console.print(f"bohrbug: {line}", highlight=False, soft_wrap=True)
