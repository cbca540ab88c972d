"""The command ``step``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from rich.console import Console

from bohrbug.api import target_of
from bohrbug.cli.capture import OutputKeeper
from bohrbug.cli.commands import RAW_ARGUMENTS, RawCommand, run_in_pytest
from bohrbug.cli.exit_codes import NOTHING_FOUND, USAGE
from bohrbug.cli.exploring import (
    explore_options,
    given_option,
    given_options,
    leave,
    refuse_for_python,
    usage_error,
)
from bohrbug.cli.native_options import (
    NativeFlags,
    is_native,
    native_options,
    refuse_python_options,
)
from bohrbug.cli.programs import ProgramError, Script, program_named, program_of
from bohrbug.cli.prompt import Prompt, is_terminal, scripted_commands
from bohrbug.cli.trust import check_trust, trust_option
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.program_text import current_text
from bohrbug.exploration.realignment import align
from bohrbug.exploration.replaying import Replay
from bohrbug.exploration.reproduction import (
    Reproduction,
    ReproductionError,
    read_reproduction,
    reproduction_of,
)
from bohrbug.exploration.result import Failure
from bohrbug.exploration.stepping.session import Session
from bohrbug.model.conditions import PlaceKey
from bohrbug.model.plan import Choice
from bohrbug.model.trace import Trace
from bohrbug.paths import DIRECTORY, display_path
from bohrbug.platforms.posix.command import KIND as NATIVE
from bohrbug.platforms.posix.command import command_from
from bohrbug.platforms.threads.stepping import SteppedThreads, stepped_threads

if TYPE_CHECKING:
    from bohrbug.platforms.posix.stepping import SteppedProgram

_EXIT_CODES = """\b
Exit codes, of the execution that you were in last:
  0  it passed
  1  it failed
  2  a command of a script or the program can't be executed
  3  it had not ended
"""

_OPTIONS = (
    *("level", "scope", "timeouts", "interpreter", "memory", "async_order", "cancel", "gc"),
    *("asyncio_errors", "max_steps", "hang_seconds"),
)
"""Of the options of explorations those that say what an execution is."""


def _step_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for name in reversed(_OPTIONS):
        function = given_option(name)(function)
    return function


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is stepped through, and how a file names it.

    Parameters:
        name: of the test.
        target: see :class:`Reproduction`.
        options: of the executions.
        started: the folder in which the command was given.
        plan: choices to follow.
        expected: the failure of the file, if there is one.
        points: the data accesses that are scheduling points; ``None``: to be found.
        in_lanes: the last steps are shown at each stop, one column per task.
    """

    name: str
    target: dict[str, Any]
    options: ExploreOptions
    started: Path
    plan: tuple[Choice, ...] = ()
    expected: Failure | None = None
    points: tuple[PlaceKey, ...] | None = None
    in_lanes: bool = False


@click.command(
    cls=RawCommand, context_settings={"allow_interspersed_args": False}, epilog=_EXIT_CODES
)
@_step_options
@native_options
@trust_option
@click.option(
    "--lanes", "in_lanes", is_flag=True, help="Show the last steps at each stop, in columns."
)
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def step(
    program: str,
    arguments: Sequence[str],
    flags: NativeFlags,
    trust: bool,
    in_lanes: bool,
    **given: Any,
) -> None:
    """Step through one execution, and choose who runs.

    PROGRAM is a script, a function given as module:function or file.py:function, a native program
    after "--", or a reproduction file, whose plan is followed then until you choose otherwise. At
    each step with more than one option you see who can run, what each is about to do, and who waits
    for what. "help" lists the commands. If standard input is no terminal, commands are read from
    it, one a line; at its end the execution goes on to its end.
    """
    raw = click.get_current_context().meta[RAW_ARGUMENTS]
    script = None if is_terminal() else scripted_commands()
    if program.endswith(".json") and Path(program).is_file():
        if arguments or given_options(given) or flags.any_given:
            usage_error("a file determines what is executed, and how: give it alone")
        leave(_step_file(Path(program), script, trust, in_lanes))
    options = explore_options(given)
    if is_native(program, arguments, raw):
        refuse_python_options(given_options(given))
        native = flags.command(program, arguments)
        subject = _Subject(native.name, native.target(), options, Path.cwd(), in_lanes=in_lanes)
        leave(_step_native(subject, script))
    flags.refuse()
    refuse_for_python(options)
    try:
        test = program_named(program, arguments)
    except ProgramError as error:
        usage_error(str(error))
    if isinstance(test, Script):
        test.prepare()
        subject = _Subject(test.name, test.target(), options, Path.cwd(), in_lanes=in_lanes)
    else:
        subject = _Subject(program, target_of(test), options, Path.cwd(), in_lanes=in_lanes)
    leave(_step_python(test, subject, script))


def _step_file(path: Path, script: TextIO | None, is_trusted: bool, in_lanes: bool) -> int:
    try:
        reproduction = read_reproduction(path)
    except ReproductionError as error:
        usage_error(str(error))
    check_trust(path, reproduction.target, is_trusted)
    edited = align(reproduction.texts, current_text).changed
    if edited:
        names = ", ".join(display_path(name) for name in edited)
        click.echo(
            f"{names} was edited since: the plan is followed as far as it fits; to adapt it: "
            f"bohrbug replay --update {display_path(str(path))}",
            err=True,
        )
    failure = reproduction.failure
    subject = _Subject(
        reproduction.test,
        reproduction.target,
        reproduction.options,
        Path.cwd(),
        failure.plan.prefix,
        failure,
        tuple(reproduction.points),
        in_lanes,
    )
    kind = reproduction.target.get("kind")
    if kind == NATIVE:
        from bohrbug.cli.native import enter_folder_of

        enter_folder_of(reproduction.target)
        return _step_native(subject, script)
    if kind == "pytest":
        return _step_in_pytest(path, reproduction, subject, script)
    try:
        test = program_of(reproduction.target)
    except ProgramError as error:
        usage_error(str(error))
    return _step_python(test, subject, script)


def _step_native(subject: _Subject, script: TextIO | None) -> int:
    from bohrbug.platforms.posix.stepping import stepped_program
    from bohrbug.runtime.posix.build import UnsupportedError

    try:
        command = command_from(subject.target)
        with stepped_program(command, subject.options, subject.points, subject.expected) as test:
            return _prompt(test, subject, script).run()
    except UnsupportedError as error:
        usage_error(str(error))


def _step_python(test: Callable[[], object], subject: _Subject, script: TextIO | None) -> int:
    with _stepped(test, subject) as stepped:
        return _prompt(stepped, subject, script).run()


@contextmanager
def _stepped(test: Callable[[], object], subject: _Subject) -> Iterator[SteppedThreads]:
    output = OutputKeeper(test)
    with stepped_threads(
        output, subject.options, output.so_far, subject.points, subject.expected
    ) as stepped:
        yield stepped


def _step_in_pytest(
    path: Path, reproduction: Reproduction, subject: _Subject, script: TextIO | None
) -> int:
    # Not needed for anything else.
    import pytest

    class Stepper:
        """A pytest plugin that steps through the test in place of replaying it."""

        code: int | None = None

        @pytest.hookimpl(optionalhook=True)
        def pytest_bohrbug_replaying(
            self,
            test: Callable[[], object],
            uncaptured: Callable[[], AbstractContextManager[object]],
        ) -> Replay:
            """A hook of Bohrbug's own pytest plugin."""
            with uncaptured(), _stepped(test, subject) as stepped:
                prompt = _prompt(stepped, subject, script)
                self.code = prompt.run()
                return Replay(prompt.session.stop.trace, 0, 0, None)

    stepper = Stepper()
    code = run_in_pytest(path, reproduction, ["-qq", "--no-summary"], stepper)
    if stepper.code is None:
        # The test was not run: pytest has said why.
        return USAGE if code else NOTHING_FOUND
    return stepper.code


def _prompt(
    test: SteppedThreads | SteppedProgram, subject: _Subject, script: TextIO | None
) -> Prompt:
    def save(trace: Trace, path: Path | None) -> Path:
        failure = test.as_failure(trace)
        failure.confirmed = 1
        kept = reproduction_of(failure, subject.target, subject.name, subject.options)
        if path is None:
            return kept.write(DIRECTORY)
        return Path(display_path(str(kept.write_to(subject.started / path))))

    session = Session(test, subject.plan)
    return Prompt(
        session,
        Console(),
        test.as_failure,
        save,
        subject.name,
        script,
        in_lanes=subject.in_lanes,
    )
