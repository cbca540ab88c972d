"""How the command line explores: its options, its progress, its report, its exit codes."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import click
from rich.console import Console

from bohrbug.api import write_reproduction
from bohrbug.cli.capture import OutputKeeper
from bohrbug.cli.exit_codes import FOUND, INCONCLUSIVE, NOTHING_FOUND, USAGE
from bohrbug.cli.help import default_in_words
from bohrbug.cli.html import ResultPage, html_option
from bohrbug.cli.machine import result_to_json
from bohrbug.exploration.clean_process import CleanProcess
from bohrbug.exploration.explorer import Explorer
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import read_reproduction, reproduction_of
from bohrbug.exploration.result import Failure, Result, VerdictKind
from bohrbug.exploration.saving import ResumeError
from bohrbug.exploration.sights import Sights
from bohrbug.exploration.store import ExplorationStore, Subject
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.paths import DIRECTORY
from bohrbug.platforms.threads.first_execution import (
    QUESTION,
    fails_undisturbed,
    has_other_races,
    variables_of_other_races,
    write_question,
)
from bohrbug.platforms.threads.platform import explorer_of
from bohrbug.platforms.threads.replaying import replay
from bohrbug.platforms.threads.sights import sights_in_replay
from bohrbug.report.progress import ProgressLine
from bohrbug.report.text import render_result
from bohrbug.runtime.protocol import Discovering
from bohrbug.runtime.threads.foreign_greenlets import NotControlledError
from bohrbug.settings import (
    BY_NAME,
    OPTIONS,
    Option,
    SettingsError,
    find_pyproject,
    read_pyproject,
)

EXIT_CODES = """\b
Exit codes:
  0  nothing found
  1  a failure was found (or reproduced)
  2  the command can't be carried out as given
  3  inconclusive: interrupted, hung, or a replay that differs
"""

EXPLORATION_CODES = """\b
Exit codes:
  0  nothing found
  1  a failure was found
  2  the command can't be carried out as given
  3  inconclusive: interrupted, or hung
"""


def usage_error(message: str) -> NoReturn:
    """Say what is wrong with the command, and exit."""
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
            # It names the option, so click need not.
            raise click.UsageError(str(error), context) from error

    return convert


def exploration_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a flag for each option of an exploration."""
    for option in reversed(OPTIONS):
        command = given_option(option.name)(command)
    return command


def given_option(
    name: str, *, tells_default: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A flag for one option of an exploration.

    Parameters:
        name: of the option.
        tells_default: whether what counts where it is not given is the usual default.
    """
    option = BY_NAME[name]
    default = default_in_words(name) if tells_default else ""
    told = f"{option.help} [default: {default}]" if default else option.help
    if option.type is bool:
        return click.option(
            f"--{option.flag}/--no-{option.flag}", option.name, default=None, help=told
        )
    return click.option(
        *(["-j"] if option.name == "workers" else []),
        f"--{option.flag}",
        option.name,
        metavar=option.metavar,
        multiple=option.type is tuple,
        callback=_value(option),
        help=told,
    )


def given_options(given: dict[str, Any]) -> dict[str, Any]:
    """The options that the command line names."""
    named = {name: value for name, value in given.items() if value is not None}
    # "none" is a value that differs from an option that was not given.
    context = click.get_current_context()
    for name in given:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            named[name] = given[name]
    return named


def explore_options(given: dict[str, Any]) -> ExploreOptions:
    """Defaults, then ``[tool.bohrbug]``, then what the command line says."""
    try:
        return ExploreOptions(
            **{**read_pyproject(find_pyproject(Path.cwd())), **given_options(given)}
        )
    except ValueError as error:
        usage_error(str(error))


def refuse_for_python(options: ExploreOptions) -> None:
    """Exit if something is asked for that Python tests do not have."""
    try:
        options.check_for_python()
    except ValueError as error:
        usage_error(f"--{error}")


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """What is shown of an exploration."""

    as_json: bool
    verbose: bool
    quiet: bool
    html: Path | None = None


def showing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags for what is shown."""
    for decorate in (
        html_option,
        click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            help="Show what executions print, all races, and what each strategy covered.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    ):
        command = decorate(command)
    return command


@contextmanager
def _refusing(test: str) -> Generator[None]:
    """Exit if it turns out that the threads of a test can't be controlled."""
    try:
        yield
    except NotControlledError as error:
        usage_error(f"{test} can't be explored: {error}")


def explore(
    test: Callable[[], object], subject: Subject, store: ExplorationStore, showing: OutputOptions
) -> NoReturn:
    """Explore, report and exit."""
    as_json, verbose = showing.as_json, showing.verbose
    output = OutputKeeper(test, show=verbose and not as_json)
    page = ResultPage(showing.html)
    with CleanProcess(partial(_seen_afresh, test, subject.options)) as clean:
        with (
            _refusing(subject.test),
            ProgressLine(Console(file=sys.stderr), silent=showing.quiet or as_json) as line,
        ):
            progress = page.following(line.update)
            surroundings = Surroundings(progress, lambda _: _give_up(store), keeper=store)
            explorer = explorer_of(output, subject.test, subject.options, surroundings)
            try:
                result = explorer.explore()
            except KeyboardInterrupt:
                # A second Ctrl-C: what was found up to now.
                result = explorer.result
                result.interrupted = True
            except ResumeError as error:
                line.close()
                usage_error(str(error))
        if not result.interrupted:
            _ask_for_doubtful(explorer, subject.target, clean)
        write_reproductions(explorer, subject.target, store)
        if not result.interrupted:
            _replay_afresh(explorer, subject.target, clean)
            _look_at_first_execution(explorer, clean)
    printed = output.text

    def write_page() -> None:
        if not result.interrupted:
            page.look_at(result.reproducible, partial(_look, subject, explorer.options, test))
        page.write(result, printed)

    # Whatever a further replay may come to, the result is told before it.
    tell(result, printed, showing, store, write_page)


def _look(
    subject: Subject, options: ExploreOptions, test: Callable[[], object], failure: Failure
) -> Sights | None:
    """What was in sight at the steps of a failure."""
    reproduction = reproduction_of(failure, subject.target, subject.test, options)
    return sights_in_replay(reproduction, OutputKeeper(test))


def is_reproduced(test: Callable[[], object], file: Path) -> bool:
    """Whether a test fails again as a reproduction file says.

    Parameters:
        test: the test.
        file: of the failure.

    Raises:
        ReproductionError: the file can't be read.
    """
    return replay(read_reproduction(file), OutputKeeper(test)).reproduced == 1


_LONGEST_LOOK_SECONDS = 10.0
"""How long a failure may take to be replayed afresh, beyond the time of the exploration."""


_ALONE = ".alone"
"""What the name of a file ends with by which is asked whether the test fails without a plan."""


def _seen_afresh(test: Callable[[], object], options: ExploreOptions, file: Path) -> bool:
    """What is asked of a process that has executed nothing."""
    if file.suffix == QUESTION:
        return has_other_races(file, OutputKeeper(test), options)
    if file.suffix == _ALONE:
        return fails_undisturbed(OutputKeeper(test), options)
    return is_reproduced(test, file)


def _ask_for_doubtful(explorer: Explorer, target: dict[str, Any], clean: CleanProcess) -> None:
    """Find out whether a failure after which the test always fails is one.

    A file, say, that no execution removes lets the test fail in a new process, too, whatever the
    schedule: so it must also pass there, in between.
    """
    doubtful, result = explorer.findings.doubtful, explorer.result
    if doubtful is None or result.failures:
        return
    patience = _LONGEST_LOOK_SECONDS + result.seconds
    with suppress(OSError, KeyboardInterrupt), TemporaryDirectory() as folder:
        file = reproduction_of(doubtful, target, result.test, explorer.options).write(Path(folder))
        for question, fails in ((file, True), (file.with_suffix(_ALONE), False), (file, True)):
            if clean.happens(question, patience) is not fails:
                return
        explorer.note_lasting_failure(doubtful)


def _look_at_first_execution(explorer: Explorer, clean: CleanProcess) -> None:
    """Find out whether only the first execution of a test has some data races."""
    result, runtime = explorer.result, explorer.runtime
    promises_nothing = result.verdict.kind in (VerdictKind.FAILED, VerdictKind.INCONCLUSIVE)
    if promises_nothing or not result.is_concurrent or explorer.options.races == "ignore":
        return
    if not isinstance(runtime, Discovering) or not runtime.discovers:
        return
    with suppress(OSError, KeyboardInterrupt), TemporaryDirectory() as folder:
        file = Path(folder) / f"exploration{QUESTION}"
        write_question(file, runtime, explorer.findings.races)
        if clean.happens(file, _LONGEST_LOOK_SECONDS):
            explorer.note_first_execution(variables_of_other_races(file))


def _replay_afresh(explorer: Explorer, target: dict[str, Any], clean: CleanProcess) -> None:
    """Find out which failures need what earlier executions left behind."""
    result = explorer.result
    patience = _LONGEST_LOOK_SECONDS + result.seconds
    for failure in result.reproducible:
        if failure.reproduction is None or not failure.confirmed:
            continue
        try:
            failure.happens_afresh = clean.happens(failure.reproduction, patience)
        except KeyboardInterrupt:
            # Not looked for: all that was found is told.
            return
        if failure.happens_afresh is False:
            try:
                write_reproduction(explorer, failure, target)
            except OSError as error:
                result.notices.append(_not_written(error))


def write_reproductions(
    explorer: Explorer, target: dict[str, Any], store: ExplorationStore
) -> None:
    """Write a file for each failure; where that can't be done the result says so.

    Parameters:
        explorer: has explored.
        target: how files name the test.
        store: where the exploration is kept, if it can be.
    """
    result = explorer.result
    try:
        for failure in result.reproducible:
            write_reproduction(explorer, failure, target)
    except OSError as error:
        result.notices.append(_not_written(error))
    else:
        if store.trouble:
            result.notices.append(f"not kept, so it can't be resumed: {store.trouble}")


def _not_written(error: OSError) -> str:
    return f"no reproduction file was written: {DIRECTORY}/: {error.strerror or error}"


def tell(
    result: Result,
    printed: str,
    showing: OutputOptions,
    store: ExplorationStore | None = None,
    then: Callable[[], object] = lambda: None,
) -> NoReturn:
    """Print a result, and exit.

    Parameters:
        result: of the exploration.
        printed: by the failing execution.
        showing: what is shown.
        store: where the exploration is kept, if it is.
        then: is called before the end.
    """
    code = _exit_code(result)
    if showing.as_json:
        click.echo(json.dumps({**result_to_json(result), "exit_code": code}, indent=1))
    else:
        _show(result, printed, showing.verbose)
        _show_how_to_go_on(result, store)
    sys.stdout.flush()
    then()
    leave(code)


def _give_up(store: ExplorationStore) -> NoReturn:
    """End the process from the watchdog's thread: the one that explores is lost."""
    lines = ["bohrbug: the task is still blocked, so this process ends here"]
    if store.path.is_file():
        lines.append(f"What was saved is kept: bohrbug explorations, bohrbug resume {store.path}")
    stream = sys.__stderr__
    if stream is not None:
        stream.write("\n".join(lines) + "\n")
        stream.flush()
    os._exit(INCONCLUSIVE)


def _show_how_to_go_on(result: Result, store: ExplorationStore | None) -> None:
    """What to type to resume an exploration that did not come to its end."""
    if store is not None and store.path.is_file():
        how = "Interrupted. To go on:" if result.interrupted else "To go on, with more time:"
        more = "" if result.interrupted else " --seconds none"
        click.echo(f"\n{how} bohrbug resume {shlex.quote(str(store.path))}{more}")
    elif result.interrupted:
        command = shlex.join(["bohrbug", *sys.orig_argv[_first_argument() :]])
        click.echo(f"\nInterrupted. To explore again, from the start: {command}")


def _first_argument() -> int:
    """The index of the command in the arguments that the interpreter was started with."""
    arguments = sys.orig_argv
    return next((i for i, word in enumerate(arguments) if i and word == "run"), 1)


def leave(code: int) -> NoReturn:
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
