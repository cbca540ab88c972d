"""The command ``live --native-threads``; loaded only where it is given."""

from __future__ import annotations

import atexit
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, NoReturn

import click

from bohrbug.cli.commands import RAW_ARGUMENTS
from bohrbug.cli.exploring import (
    FOUND,
    INCONCLUSIVE,
    NOTHING_FOUND,
    explore_options,
    leave,
    usage_error,
)
from bohrbug.cli.native_options import is_native
from bohrbug.cli.programs import Program, ProgramError, Script, program_named
from bohrbug.live.native_threads.delays import Delay
from bohrbug.live.native_threads.guard import Note, can_guard, run_in_child
from bohrbug.live.native_threads.harm import Harm, of_crash
from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.live.native_threads.report import (
    MOST_RACES,
    delay_lines,
    harm_lines,
    race_lines,
    races_in_order,
    summary_lines,
)
from bohrbug.live.native_threads.session import NativeThreadsResult, run_with_native_threads
from bohrbug.live.options import LiveOptions

_REFUSED = {
    **dict.fromkeys(
        ("window", "fragments", "rounds", "workers", "patience", "history", "debug"),
        "is for rounds",
    ),
    **dict.fromkeys(
        ("level", "timeouts", "entropy", "asyncio_errors"),
        "is for programs under control",
    ),
    **dict.fromkeys(("exit_code", "allow_misuse"), "is for native programs"),
}
"""Options of ``live`` that mean nothing here, and what they are for."""


def live_native_threads(
    program: str,
    arguments: Sequence[str],
    rounds: LiveOptions,
    given: Mapping[str, Any],
    quiet: bool,
) -> NoReturn:
    """Run a Python program once with its real threads, report and exit.

    Parameters:
        program: the script, or the function as ``module:function``.
        arguments: of the script.
        rounds: of which the seed, the budget and the seconds count.
        given: the options of explorations that are on the command line.
        quiet: say nothing if nothing was found.
    """
    context = click.get_current_context()
    _refuse_others(context)
    if is_native(program, arguments, context.meta[RAW_ARGUMENTS]):
        usage_error(
            "--native-threads is for Python programs; a native program runs live without it: "
            "bohrbug live -- PROGRAM"
        )
    explored = explore_options(dict(given))
    options = NativeThreadsOptions(
        rounds.budget,
        rounds.seed,
        rounds.seconds,
        gil=explored.interpreter == "gil",
        hang_seconds=explored.hang_seconds,
        scope=explored.scope,
    )
    try:
        test = program_named(program, arguments)
    except ProgramError as error:
        usage_error(str(error))
    running: Callable[[], object] = test
    codes: Iterable[CodeType] = _codes_beside(test)
    if isinstance(test, Script):
        test.prepare()
        running, codes = Program(test), test.codes

    def on_harm(harm: Harm) -> None:
        _say(harm_lines(harm, options))

    def on_deadlock(result: NativeThreadsResult) -> None:
        _sum_up(result, options)
        os._exit(FOUND)

    on_delay = _guard(options) if can_guard() else None
    result = run_with_native_threads(running, options, codes, on_harm, on_deadlock, on_delay)
    if not quiet or result.harm or result.counts.races:
        _sum_up(result, options)
    if result.interrupted:
        # Whoever presses Ctrl-C does not want to wait for the other threads.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(FOUND if result.harm else INCONCLUSIVE)
    if result.harm:
        leave(FOUND)
    if isinstance(running, Program) and running.code not in (None, 0):
        sys.stdout.flush()
        sys.exit(running.code)
    leave(NOTHING_FOUND)


def _guard(options: NativeThreadsOptions) -> Callable[[list[Delay]], object]:
    """Go on in a child of this process, which tells of a crash of it; what notes the delays."""
    note = Note()

    def on_crash(number: int) -> int:
        harm = of_crash(number)
        lines = list(harm_lines(harm, options))
        _say([lines[0], *(note.read() or delay_lines([])), *lines[2:]])
        return FOUND

    run_in_child(on_crash)
    return lambda delays: note.write(delay_lines(delays))


def _refuse_others(context: click.Context) -> None:
    """End the command if an option was given that means nothing here."""
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name in _REFUSED and source is click.core.ParameterSource.COMMANDLINE:
            usage_error(
                f"{parameter.opts[-1]} {_REFUSED[name]}, and --native-threads has none of these"
            )


def _codes_beside(function: Any) -> Iterator[CodeType]:
    """The code of a function, and of the others of its module."""
    found = inspect.unwrap(function)
    for each in vars(inspect.getmodule(found) or object()).values() if found else ():
        if isinstance(each, FunctionType):
            yield each.__code__
    if isinstance(found, FunctionType):
        yield found.__code__


def _sum_up(result: NativeThreadsResult, options: NativeThreadsOptions) -> None:
    for race in races_in_order(result)[:MOST_RACES]:
        _say(race_lines(race))
    _say(f"bohrbug: {line}" for line in summary_lines(result, options))


def _say(lines: Iterable[str]) -> None:
    """Print lines at once, where they do not mix with what the program prints."""
    if sys.stdout is not None:
        sys.stdout.flush()
    click.echo("\n".join(lines), err=True)
