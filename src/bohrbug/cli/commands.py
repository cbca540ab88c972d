"""The commands ``run``, ``replay`` and ``explain``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console

from bohrbug import __version__
from bohrbug.accelerator import description
from bohrbug.api import target_of, write_reproduction
from bohrbug.cli.capture import OutputKeeper
from bohrbug.cli.machine import result_to_json
from bohrbug.cli.programs import ProgramError, Script, function_named, program_named
from bohrbug.debugger import ReplayDebugger
from bohrbug.exploration.explorer import Explorer
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.program_text import show_as_recorded
from bohrbug.exploration.replaying import Replay, replay
from bohrbug.exploration.reproduction import (
    Reproduction,
    ReproductionError,
    read_reproduction,
    reproduction_of,
)
from bohrbug.exploration.result import Failure, Result, VerdictKind
from bohrbug.report.progress import ProgressLine
from bohrbug.report.replayed import failure_replayed, replay_words
from bohrbug.report.sources import display_path
from bohrbug.report.text import render_failure, render_result
from bohrbug.search.estimates import Estimate
from bohrbug.settings import OPTIONS, Option, SettingsError, find_pyproject, read_pyproject

NOTHING_FOUND, FOUND, USAGE, INCONCLUSIVE = 0, 1, 2, 3

_EXIT_CODES = """\b
Exit codes:
  0  nothing found
  1  a failure was found (or reproduced)
  2  the command can't be carried out as it stands
  3  inconclusive: interrupted, hung, or a replay that differs
"""


class ProgressAdapter:
    """Passes what the explorer tells on to a progress line.

    Parameters:
        line: what shows it.
    """

    def __init__(self, line: ProgressLine) -> None:
        self._line = line

    def update(
        self,
        executions: int,
        budget: int,
        elapsed: float,
        failures: int,
        races: int,
        words: str,
        estimate: Estimate | None = None,
    ) -> None:
        """See :class:`bohrbug.exploration.explorer.Progress`."""
        rate = executions / elapsed if elapsed > 0 else 0.0
        self._line.update(executions, rate, budget, failures, races, words, elapsed, estimate)


def _usage_error(message: str) -> NoReturn:
    click.echo(f"bohrbug: {message}", err=True)
    sys.exit(USAGE)


def _value(option: Option) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def convert(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        if value is None or value == ():
            return None
        try:
            if option.type is tuple:
                return tuple(name for text in value for name in text.split())
            return option.parse(value, f"--{option.flag}")
        except SettingsError as error:
            raise click.BadParameter(str(error)) from error

    return convert


def _exploration_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a flag for each option of an exploration."""
    for option in reversed(OPTIONS):
        help_text = option.help
        if option.type is bool:
            decorate = click.option(
                f"--{option.flag}/--no-{option.flag}", option.name, default=None, help=help_text
            )
        else:
            decorate = click.option(
                f"--{option.flag}",
                option.name,
                metavar=option.metavar,
                multiple=option.type is tuple,
                callback=_value(option),
                help=help_text,
            )
        command = decorate(command)
    return command


def _explore_options(given: dict[str, Any]) -> ExploreOptions:
    """Defaults, then ``[tool.bohrbug]``, then what the command line says."""
    named = {name: value for name, value in given.items() if value is not None}
    # "none" is a value that differs from an option that was not given.
    for option in OPTIONS:
        source = click.get_current_context().get_parameter_source(option.name)
        if source is click.core.ParameterSource.COMMANDLINE:
            named[option.name] = given[option.name]
    try:
        return ExploreOptions(**{**read_pyproject(find_pyproject(Path.cwd())), **named})
    except ValueError as error:
        _usage_error(str(error))


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXIT_CODES,
)
@click.version_option(
    __version__, prog_name="bohrbug", message=f"%(prog)s, version %(version)s ({description})"
)
def main() -> None:
    """Find the interleavings that break a concurrent program, and replay them.

    Options of explorations can be given in [tool.bohrbug] of pyproject.toml, too. To explore
    the tests of a suite: pytest --bohrbug
    """


@main.command(
    context_settings={"allow_interspersed_args": False},
    epilog=_EXIT_CODES,
)
@_exploration_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Show what executions print, and all races.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    program: str,
    arguments: Sequence[str],
    as_json: bool,
    verbose: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Explore a script, or a function given as module:function.

    A script is executed as __main__ with its ARGUMENTS again and again; an uncaught exception or an
    exit code other than 0 is a failure.
    """
    options = _explore_options(given)
    try:
        test = program_named(program, arguments)
    except ProgramError as error:
        _usage_error(str(error))
    if isinstance(test, Script):
        test.prepare()
        name, target = test.name, test.target()
    else:
        name, target = program, target_of(test)
    output = OutputKeeper(test, show=verbose and not as_json)
    with ProgressLine(Console(file=sys.stderr), silent=quiet or as_json) as line:
        explorer = Explorer(output, name, options, ProgressAdapter(line))
        try:
            result = explorer.explore()
        except KeyboardInterrupt:
            # A second Ctrl-C: what was found up to now.
            result = explorer.result
            result.interrupted = True
    for failure in result.reproducible:
        write_reproduction(explorer, failure, target)
    code = _exit_code(result)
    if as_json:
        click.echo(json.dumps({**result_to_json(result), "exit_code": code}, indent=1))
    else:
        _show(result, output.text, verbose)
        if result.interrupted:
            command = shlex.join(["bohrbug", *sys.orig_argv[_first_argument() :]])
            click.echo(f"\nInterrupted. To explore again, from the start: {command}")
    _leave(code)


def _first_argument() -> int:
    """The index of the command in the arguments that the interpreter was started with."""
    arguments = sys.orig_argv
    return next((i for i, word in enumerate(arguments) if i and word == "run"), 1)


def _leave(code: int) -> NoReturn:
    """Exit at once: threads that could not be stopped must not keep the process alive."""
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)


def _exit_code(result: Result) -> int:
    if result.failures:
        return FOUND
    return INCONCLUSIVE if result.verdict.kind is VerdictKind.INCONCLUSIVE else NOTHING_FOUND


def _show(result: Result, printed: str, verbose: bool) -> None:
    console = Console()
    render_result(result, console, verbose=verbose)
    if result.failures and printed.strip():
        console.print("\nPrinted by the failing execution", style="bold")
        for text in printed.rstrip().splitlines():
            console.out(f"  {text}", highlight=False)


@main.command("replay", epilog=_EXIT_CODES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--pdb", "with_pdb", is_flag=True, help="Stop in pdb where it matters.")
@click.option("--times", type=click.IntRange(1), default=1, help="Replay so many times.")
@click.option(
    "--update",
    is_flag=True,
    help="If the program was edited and still fails alike, write the new schedule over FILE.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show what the test prints.")
def replay_command(file: Path, with_pdb: bool, times: int, update: bool, verbose: bool) -> None:
    """Replay the failure in a reproduction FILE.

    If the program was edited since, the recorded steps are looked for in the program of today
    and followed as far as they are still there.

    With --pdb the replay stops at the last preemption that matters, and where the exception
    leaves its task.
    """
    reproduction = _reproduction(file)
    if reproduction.target.get("kind") == "pytest":
        replayed = _replayed_with_pytest(file, reproduction, with_pdb, times, verbose)
    else:
        replayed = _replayed(reproduction, with_pdb, times, update, verbose)
    if update:
        click.echo(_update(file, reproduction, replayed))
    _leave(replay_exit_code(replayed))


def _replayed(
    reproduction: Reproduction, with_pdb: bool, times: int, update: bool, verbose: bool
) -> Replay:
    try:
        test = _program_of(reproduction)
    except ProgramError as error:
        _usage_error(str(error))
    debugger = ReplayDebugger(reproduction.failure) if with_pdb else None
    output = OutputKeeper(test, show=verbose or with_pdb)
    try:
        replayed = replay(reproduction, output, times, debugger)
    finally:
        if debugger is not None:
            debugger.close()
    if replayed.reproduced and not with_pdb:
        _show_replayed(failure_replayed(reproduction, replayed), reproduction.test, output.text)
    click.echo(replay_words(reproduction, replayed, update))
    return replayed


def _update(file: Path, reproduction: Reproduction, replayed: Replay) -> str:
    """Write what was found in an edited program over the file; what to say about it."""
    edit = replayed.edit
    if edit is None:
        return f"{file} is as it was: its own schedule was followed"
    if edit.failure is None or replayed.reproduced != replayed.times:
        return f"{file} is as it was: the failure was not found in the edited program"
    reproduction_of(
        edit.failure, reproduction.target, reproduction.test, reproduction.options
    ).write_to(file)
    return f"wrote the schedule of the edited program over {file}"


def replay_exit_code(replayed: Replay) -> int:
    """1: reproduced each time; 0: it passes now; 3: something else."""
    if replayed.reproduced == replayed.times:
        return FOUND
    return NOTHING_FOUND if replayed.passes else INCONCLUSIVE


def _reproduction(file: Path) -> Reproduction:
    try:
        return read_reproduction(file)
    except ReproductionError as error:
        _usage_error(str(error))


def _program_of(reproduction: Reproduction) -> Callable[[], object]:
    target = reproduction.target
    if target.get("kind") == "script":
        script = Script(target["path"], target["arguments"])
        script.prepare()
        return script
    if target.get("kind") == "function":
        return function_named(target["name"], target.get("path"))
    raise ProgramError(f"can't replay a test of the kind {target.get('kind')!r}")


def _show_replayed(failure: Failure, test: str, printed: str) -> None:
    console = Console()
    render_failure(failure, console, test=test)
    if printed.strip():
        console.print("\nPrinted by the failing execution", style="bold")
        for text in printed.rstrip().splitlines():
            console.out(f"  {text}", highlight=False)
    console.print()


def _replayed_with_pytest(
    file: Path, reproduction: Reproduction, with_pdb: bool, times: int, verbose: bool
) -> Replay:
    # Not needed for anything else.
    import pytest

    class Recorder:
        """A pytest plugin that is told what a replay gave."""

        last: Replay | None = None

        @pytest.hookimpl(optionalhook=True)
        def pytest_bohrbug_replayed(self, replayed: Replay) -> None:
            """A hook of Bohrbug's own pytest plugin."""
            self.last = replayed

    root = Path(reproduction.target["root"])
    path = file.absolute()
    if root.is_dir():
        os.chdir(root)
    arguments = [
        reproduction.target["node"],
        f"--bohrbug-replay={path}",
        f"--bohrbug-times={times}",
        "--no-header",
        # The command line has imported the package before pytest could.
        "-Wignore::pytest.PytestAssertRewriteWarning",
        *(["-s"] if verbose else []),
        *(["--pdb"] if with_pdb else []),
    ]
    recorder = Recorder()
    code = pytest.main(arguments, plugins=[recorder])
    if recorder.last is None:
        # The test was not run: pytest has said why.
        _leave(USAGE if code else NOTHING_FOUND)
    return recorder.last


@main.command(epilog=_EXIT_CODES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--full", is_flag=True, help="Show every step, however many there are.")
def explain(file: Path, full: bool) -> None:
    """Print the report of the failure in a reproduction FILE, without executing anything."""
    reproduction = _reproduction(file)
    edited = show_as_recorded(reproduction.texts)
    render_failure(
        reproduction.failure,
        Console(),
        replay_command=f"bohrbug replay {shlex.quote(str(file))}",
        test=reproduction.test,
        full=full,
    )
    if edited:
        names = ", ".join(display_path(name) for name in edited)
        click.echo(f"\nEdited since, and shown as recorded: {names}")
