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
from bohrbug.cli.exit_codes import FOUND, INCONCLUSIVE, NOTHING_FOUND
from bohrbug.cli.exploring import explore_options, given_options, leave, usage_error
from bohrbug.cli.native_options import is_native, refuse_python_options
from bohrbug.cli.native_threads_output import say, sum_up
from bohrbug.cli.programs import Program, ProgramError, Script, program_named
from bohrbug.live.native_threads.delays import Delay
from bohrbug.live.native_threads.guard import Note, can_guard, run_in_child
from bohrbug.live.native_threads.harm import Harm, of_crash
from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.live.native_threads.report import (
    delay_lines,
    harm_lines,
)
from bohrbug.live.native_threads.session import NativeThreadsResult, run_with_native_threads
from bohrbug.live.options import LiveOptions
from bohrbug.platforms.posix.command import Command

_REFUSED = {
    **dict.fromkeys(
        ("window", "fragments", "rounds", "workers", "patience", "history", "debug"),
        "is for rounds",
    ),
    **dict.fromkeys(
        ("level", "timeouts", "entropy", "asyncio_errors", "allow_misuse"),
        "is for programs under control",
    ),
}
"""Options of ``live`` that mean nothing here, and what they are for."""


def live_native_threads(
    program: str,
    arguments: Sequence[str],
    rounds: LiveOptions,
    given: Mapping[str, Any],
    quiet: bool,
    exit_code: int | None,
) -> NoReturn:
    """Run a program once with its real threads, report and exit.

    Parameters:
        program: the script, the function as ``module:function``, or the native program.
        arguments: of the script or program.
        rounds: of which the seed, the budget and the seconds count.
        given: the options of explorations that are on the command line.
        quiet: say nothing if nothing was found.
        exit_code: a native program fails if it exits with another.
    """
    context = click.get_current_context()
    _refuse_others(context)
    explored = explore_options(dict(given))
    options = NativeThreadsOptions(
        rounds.budget,
        rounds.seed,
        rounds.seconds,
        gil=explored.interpreter == "gil",
        hang_seconds=explored.hang_seconds,
        scope=explored.scope,
    )
    if is_native(program, arguments, context.meta[RAW_ARGUMENTS]):
        refuse_python_options(given_options(dict(given)))
        # Loaded only where there is one.
        from bohrbug.cli.live_native_delayed import live_native_delayed

        live_native_delayed(Command((program, *arguments), exit_code), options, quiet)
    if exit_code is not None:
        usage_error("--exit-code is for native programs, and this is a Python program")
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
        say(harm_lines(harm, options))

    def on_deadlock(result: NativeThreadsResult) -> None:
        sum_up(result, options)
        os._exit(FOUND)

    on_delay = _guard(options) if can_guard() else None
    result = run_with_native_threads(running, options, codes, on_harm, on_deadlock, on_delay)
    if not quiet or result.harm or result.counts.races:
        sum_up(result, options)
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
        say([lines[0], *(note.read() or delay_lines([])), *lines[2:]])
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
