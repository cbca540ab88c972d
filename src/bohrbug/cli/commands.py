"""The commands ``run``, ``resume``, ``explorations``, ``replay`` and ``explain``."""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console

from bohrbug import __version__
from bohrbug.accelerator import description
from bohrbug.api import target_of
from bohrbug.cli.capture import OutputKeeper
from bohrbug.cli.debugging import debugger_options, pytest_arguments
from bohrbug.cli.exit_codes import FOUND, INCONCLUSIVE, NOTHING_FOUND, USAGE
from bohrbug.cli.exploring import (
    EXIT_CODES,
    EXPLORATION_CODES,
    OutputOptions,
    exploration_options,
    explore,
    explore_options,
    given_option,
    given_options,
    leave,
    refuse_for_python,
    showing_options,
    usage_error,
)
from bohrbug.cli.help import Commands, SectionedCommand
from bohrbug.cli.html import html_option, write_html
from bohrbug.cli.native_options import (
    NativeFlags,
    is_native,
    native_options,
    refuse_python_options,
    subject_of,
)
from bohrbug.cli.programs import ProgramError, Script, program_named, program_of
from bohrbug.cli.trust import check_trust, trust_option
from bohrbug.debugger.choice import DebuggerChoice, DebugpyError, opened
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.program_text import show_as_recorded
from bohrbug.exploration.replaying import Replay
from bohrbug.exploration.reproduction import (
    Reproduction,
    ReproductionError,
    read_reproduction,
    reproduction_of,
)
from bohrbug.exploration.result import Failure
from bohrbug.exploration.saving import ResumeError
from bohrbug.exploration.sights import Sights
from bohrbug.exploration.store import ExplorationStore, Subject, kept_in, look
from bohrbug.paths import DIRECTORY, display_path
from bohrbug.platforms.posix.command import KIND as NATIVE
from bohrbug.platforms.threads.replaying import replay
from bohrbug.platforms.threads.sights import sights_in_replay
from bohrbug.report.formats import FORMATS, in_format
from bohrbug.report.formats.told import Told
from bohrbug.report.replayed import failure_replayed, replay_words
from bohrbug.report.text import render_failure
from bohrbug.report.wording import plural

_REPLAY_CODES = """\b
Exit codes:
  0  it passes now, under this schedule
  1  it failed in each replay as in the file
  2  the command can't be carried out as given
  3  anything else: a replay that differs, or another failure
"""
_EXPLAIN_CODES = """\b
Exit codes:
  0  printed
  2  the command can't be carried out as given
"""


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)
@click.version_option(
    __version__, prog_name="bohrbug", message=f"%(prog)s, version %(version)s ({description})"
)
def main() -> None:
    """Find the interleavings that break a concurrent program, and replay them.

    \b
    pytest --bohrbug                      explore the tests of a suite
    bohrbug run script.py                 explore a script
    bohrbug run package.module:function   explore a function
    bohrbug run -- ./program argument     explore a native program
    bohrbug live script.py                run a script once, and try what could come next
    bohrbug replay .bohrbug/FILE.json     replay a failure (--pdb: look into it)

    Options of explorations can be given in [tool.bohrbug] of pyproject.toml, too.
    """
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # Names of files need not be text.
        sys.stdout.reconfigure(errors="surrogateescape")


class RawCommand(SectionedCommand):
    """Keeps the command line as it was given: whether there is a ``--`` in it matters."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See :class:`click.Command`."""
        ctx.meta[RAW_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)


RAW_ARGUMENTS = "bohrbug.arguments"
"""Where the context of a command has its command line as it was given."""


@main.command(
    cls=RawCommand,
    context_settings={"allow_interspersed_args": False},
    epilog=EXPLORATION_CODES,
    short_help="Explore a script, a function or a native program.",
)
@exploration_options
@native_options
@click.option(
    "--resume",
    "go_on",
    is_flag=True,
    help="Resume the interrupted exploration of this program with these options.",
)
@showing_options
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    program: str,
    arguments: Sequence[str],
    go_on: bool,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    html: Path | None,
    flags: NativeFlags,
    **given: Any,
) -> None:
    """Explore a script, a function given as module:function or file.py:function, or a native
    program after "--".

    A script is executed as __main__ with its ARGUMENTS again and again; an uncaught exception or an
    exit code other than 0 is a failure. A native program is started again and again, with its
    threads under control; a deadlock, a fatal signal, and an exit code other than that of the first
    execution are failures.
    """
    options = explore_options(given)
    _mention_misplaced_options(arguments)
    if is_native(program, arguments, click.get_current_context().meta[RAW_ARGUMENTS]):
        refuse_python_options(given_options(given))
        native = flags.command(program, arguments)
        path = subject_of(native, options).path()
        showing = OutputOptions(as_json, verbose, quiet, html)
        if go_on:
            _resume_native(path, options, showing)
        store = ExplorationStore(subject_of(native, options), path)
        from bohrbug.cli.native import explore_native

        explore_native(native, options, showing, store)
    flags.refuse()
    refuse_for_python(options)
    try:
        test = program_named(program, arguments)
    except ProgramError as error:
        usage_error(str(error))
    if isinstance(test, Script):
        if test.only_defines_tests:
            click.echo(
                f"bohrbug: {program} has tests that nothing calls when it is run as a script; to "
                f"explore them: pytest --bohrbug {shlex.quote(program)}",
                err=True,
            )
        test.prepare()
        subject = Subject(test.target(), test.name, options, (str(Path(program).absolute()),))
    else:
        subject = Subject(target_of(test), program, options)
    store = ExplorationStore(subject, subject.path(), resume=go_on)
    explore(test, subject, store, OutputOptions(as_json, verbose, quiet, html))


def _mention_misplaced_options(arguments: Sequence[str]) -> None:
    """Say that what stands behind the program is its own, if it may have been meant for us."""
    context = click.get_current_context()
    if "--" in context.meta[RAW_ARGUMENTS]:
        return
    own = {name for parameter in context.command.params for name in parameter.opts}
    words = [word.partition("=")[0] for word in arguments]
    misplaced = [word for word in words if word.startswith("--") and word in own]
    if misplaced:
        click.echo(
            f"bohrbug: {', '.join(misplaced)}: after the program, so passed to it; put options of "
            "bohrbug before the program (or -- before the program if this is intended)",
            err=True,
        )


@main.command(epilog=EXPLORATION_CODES, short_help="Resume an interrupted exploration.")
@click.argument("file", type=click.Path(path_type=Path, readable=False), required=False)
@given_option("seconds", tells_default=False)
@given_option("workers", tells_default=False)
@showing_options
def resume(
    file: Path | None,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    html: Path | None,
    **given: Any,
) -> None:
    """Go on with the exploration in FILE, where it was interrupted.

    Without FILE: with the one in .bohrbug/ that was saved last. Nothing is lost that was found, and
    nothing that was saved is executed again. --seconds is the whole budget, with what was
    already spent of it.
    """
    if file is None:
        kept = kept_in()
        if not kept:
            usage_error(f"there is nothing to resume in {DIRECTORY}/")
        file = kept[0]
    try:
        subject = look(file).subject
        subject = replace(subject, options=replace(subject.options, **given_options(given)))
        if subject.target.get("kind") == NATIVE:
            from bohrbug.cli.native import explore_kept

            store = ExplorationStore(subject, file.absolute(), resume=True)
            explore_kept(subject, store, OutputOptions(as_json, verbose, quiet, html))
        test = program_of(subject.target)
    except ValueError as error:
        usage_error(str(error))
    store = ExplorationStore(subject, file, resume=True)
    explore(test, subject, store, OutputOptions(as_json, verbose, quiet, html))


def _resume_native(path: Path, options: ExploreOptions, showing: OutputOptions) -> NoReturn:
    """Go on with the exploration of a native program with the same options."""
    try:
        kept = look(path).subject
    except ResumeError as error:
        usage_error(str(error))
    from bohrbug.cli.native import explore_kept

    # The time at which it began is part of what every execution sees.
    subject = replace(kept, options=options)
    explore_kept(subject, ExplorationStore(subject, path.absolute(), resume=True), showing)


@main.command()
def explorations() -> None:
    """List the explorations in .bohrbug/ that can be resumed."""
    paths = kept_in()
    for path in paths:
        try:
            kept = look(path)
        except ResumeError as error:
            click.echo(str(error))
            continue
        when = datetime.fromtimestamp(kept.saved).isoformat(" ", "minutes")
        failures = f", {plural(kept.failures, 'failure')}" if kept.failures else ""
        click.echo(f"{path}: {plural(kept.executions, 'execution')}{failures}, saved {when}")
    if not paths:
        click.echo(f"there is nothing to resume in {DIRECTORY}/")


@main.command("replay", epilog=_REPLAY_CODES)
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@debugger_options
@click.option("--gdb", "with_gdb", is_flag=True, help="Run a native program under gdb.")
@click.option(
    "--times",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Replay N times.",
)
@click.option(
    "--update",
    is_flag=True,
    help="If the program was edited and fails in the same way, write its new schedule to FILE.",
)
@html_option
@trust_option
@click.option("-v", "--verbose", is_flag=True, help="Show what the test prints.")
def replay_command(
    file: Path,
    debugger: DebuggerChoice,
    with_gdb: bool,
    times: int,
    update: bool,
    html: Path | None,
    trust: bool,
    verbose: bool,
) -> None:
    """Replay the failure in a reproduction FILE.

    If the program was edited since, the recorded steps are looked for in the program of today
    and followed as far as they are still there.

    With --pdb the replay stops at the preemptions that matter, where an exception leaves a task,
    and where no task can go on; with --debugpy it stops there in an editor. With --gdb the native
    program of the file runs under gdb, and stops at each preemption and at its end.
    """
    reproduction = _reproduction(file)
    check_trust(file, reproduction.target, trust)
    if with_gdb:
        from bohrbug.cli.native import debug_native

        debug_native(reproduction)
        leave(NOTHING_FOUND)
    sights: Sights | None = None
    if reproduction.target.get("kind") == "pytest":
        replayed, printed, sights = _replayed_with_pytest(
            file, reproduction, debugger, times, verbose, html is not None
        )
    elif reproduction.target.get("kind") == NATIVE:
        replayed, printed = _replayed_native(reproduction, debugger, times, verbose)
    else:
        replayed, printed, sights = _replayed(
            reproduction, debugger, times, update, verbose, html is not None
        )
    if reproduction.natively and replayed.reproduced:
        click.echo(f"without Bohrbug (bohrbug export): {reproduction.natively}")
    if html is not None:
        _write_replayed(html, reproduction, replayed, printed, sights)
    if update:
        click.echo(_update(file, reproduction, replayed))
    leave(replay_exit_code(replayed))


def _replayed_native(
    reproduction: Reproduction, debugger: DebuggerChoice, times: int, verbose: bool
) -> tuple[Replay, str]:
    from bohrbug.cli.native import replay_command_of

    replayed, printed = replay_command_of(reproduction, debugger, times, verbose)
    if replayed.reproduced and reproduction.failure.outcome.is_failure:
        _show_replayed(reproduction.failure, reproduction.test, printed)
    click.echo(replay_words(reproduction, replayed))
    return replayed, printed


def _replayed(
    reproduction: Reproduction,
    debugger: DebuggerChoice,
    times: int,
    update: bool,
    verbose: bool,
    looking: bool,
) -> tuple[Replay, str, Sights | None]:
    try:
        test = program_of(reproduction.target)
    except ProgramError as error:
        usage_error(str(error))
    output = OutputKeeper(test, show=verbose or bool(debugger))
    try:
        with opened(debugger, reproduction.failure) as looking_in:
            replayed = replay(reproduction, output, times, looking_in)
    except DebugpyError as error:
        usage_error(str(error))
    if replayed.reproduced and not debugger and reproduction.failure.outcome.is_failure:
        _show_replayed(failure_replayed(reproduction, replayed), reproduction.test, output.text)
    click.echo(replay_words(reproduction, replayed, update))
    sights = sights_in_replay(reproduction, OutputKeeper(test)) if looking else None
    return replayed, output.text, sights


def _write_replayed(
    file: Path, reproduction: Reproduction, replayed: Replay, printed: str, sights: Sights | None
) -> None:
    """Write the page of what was replayed, if that is what the file holds."""
    # Loaded only where a page is wanted.
    from bohrbug.report.html.making import failure_document

    if not replayed.reproduced:
        click.echo(f"bohrbug: no report was written: {file}: it did not fail as before", err=True)
        return
    words = replay_words(reproduction, replayed)
    # How often it was reproduced is said of this replay.
    failure = replace(failure_replayed(reproduction, replayed), confirmed=0)
    document = failure_document(
        failure, reproduction.test, sights=sights, printed=printed, notes=words.splitlines()
    )
    write_html(document, file)


def replayed_once(file: Path, reproduction: Reproduction) -> Replay | None:
    """Replay a reproduction of a Python test, without a report of our own.

    Returns:
        ``None`` if pytest did not run the test; it has said why.
    """
    if reproduction.target.get("kind") == "pytest":
        return _replayed_in_pytest(file, reproduction, [])[0]
    try:
        test = program_of(reproduction.target)
    except ProgramError as error:
        usage_error(str(error))
    return replay(reproduction, OutputKeeper(test, show=False))


def _update(file: Path, reproduction: Reproduction, replayed: Replay) -> str:
    """Write what was found in an edited program over the file; what to say about it."""
    edit = replayed.edit
    if edit is None:
        return f"{file} is unchanged: its own schedule was followed"
    if edit.failure is None or replayed.reproduced != replayed.times:
        return f"{file} is unchanged: the failure was not found in the edited program"
    reproduction_of(
        edit.failure, reproduction.target, reproduction.test, reproduction.options
    ).write_to(file)
    return f"wrote the schedule of the edited program over {file}"


def replay_exit_code(replayed: Replay) -> int:
    """1: reproduced each time; 0: it passes now; 3: something else, or interrupted."""
    if replayed.left:
        return INCONCLUSIVE
    if replayed.reproduced == replayed.times:
        # A file that was saved by hand may hold an execution that passes.
        return FOUND if replayed.trace.outcome.is_failure else NOTHING_FOUND
    return NOTHING_FOUND if replayed.passes else INCONCLUSIVE


def _reproduction(file: Path) -> Reproduction:
    try:
        return read_reproduction(file)
    except ReproductionError as error:
        usage_error(str(error))


def _show_replayed(failure: Failure, test: str, printed: str) -> None:
    console = Console()
    # How often it was reproduced is said of this replay, below.
    render_failure(replace(failure, confirmed=0), console, test=test)
    if printed.strip():
        console.print("\nPrinted by the failing execution", style="bold")
        for text in printed.rstrip().splitlines():
            console.out(f"  {text}", highlight=False)
    console.print()


def _replayed_with_pytest(
    file: Path,
    reproduction: Reproduction,
    debugger: DebuggerChoice,
    times: int,
    verbose: bool,
    looking: bool,
) -> tuple[Replay, str, Sights | None]:
    arguments = [
        f"--bohrbug-times={times}",
        *(["-s"] if verbose else []),
        *pytest_arguments(debugger),
    ]
    replayed, sights, code = _replayed_in_pytest(file, reproduction, arguments, looking)
    if replayed is None:
        # The test was not run: pytest has said why.
        leave(USAGE if code else NOTHING_FOUND)
    return replayed, "", sights


def _replayed_in_pytest(
    file: Path, reproduction: Reproduction, arguments: Sequence[str], looking: bool = False
) -> tuple[Replay | None, Sights | None, int]:
    """What pytest's replays gave, if it made any, what was to be seen, and its exit code."""
    # Not needed for anything else.
    import pytest

    class Recorder:
        """A pytest plugin that is told what a replay gave."""

        last: Replay | None = None
        sights: Sights | None = None
        is_interrupted = False

        def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
            """A hook of pytest, which has the same exit code for errors of its collection."""
            self.is_interrupted = excinfo.errisinstance(KeyboardInterrupt)

        @pytest.hookimpl(optionalhook=True)
        def pytest_bohrbug_replaying(self, test: Callable[[], object]) -> None:
            """A hook of Bohrbug's own pytest plugin: the test is about to be replayed."""
            if looking:
                self.sights = sights_in_replay(reproduction, test)

        @pytest.hookimpl(optionalhook=True)
        def pytest_bohrbug_replayed(self, replayed: Replay) -> None:
            """A hook of Bohrbug's own pytest plugin."""
            self.last = replayed

    recorder = Recorder()
    code = run_in_pytest(file, reproduction, arguments, recorder)
    if recorder.is_interrupted and recorder.last is None:
        leave(INCONCLUSIVE)
    return recorder.last, recorder.sights, code


def run_in_pytest(
    file: Path, reproduction: Reproduction, arguments: Sequence[str], plugin: object
) -> int:
    """Start pytest with the test of a reproduction file; returns pytest's exit code.

    Parameters:
        file: where it was read from.
        reproduction: what it holds.
        arguments: further ones for pytest.
        plugin: that is told what happens.
    """
    # Not needed for anything else.
    import pytest

    from bohrbug.pytest_plugin.target import (
        argument_for,
        configuration_for,
        folders_of,
        imports_from,
    )

    path = file.absolute()
    root, directory = folders_of(reproduction.target)
    os.chdir(directory)
    imports_from(reproduction.target, directory)
    return pytest.main(
        [
            argument_for(reproduction.target, root),
            f"--rootdir={root}",
            *configuration_for(reproduction.target, root),
            f"--bohrbug-replay={path}",
            "--no-header",
            # The command line has imported the package before pytest could.
            "-Wignore::pytest.PytestAssertRewriteWarning",
            *arguments,
        ],
        plugins=[plugin],
    )


@main.command(epilog=_EXPLAIN_CODES, short_help="Print the report in a reproduction FILE.")
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option("--full", is_flag=True, help="Show every step, however many there are.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", *FORMATS]),
    default="text",
    help="As text, or for other tools: Perfetto, code scanning, a diagram.",
)
@html_option
def explain(file: Path, full: bool, format_name: str, html: Path | None) -> None:
    """Print the report of the failure in a reproduction FILE, without executing anything."""
    reproduction = _reproduction(file)
    edited = show_as_recorded(reproduction.texts)
    command = f"bohrbug replay {shlex.quote(str(file))}"
    names = ", ".join(display_path(name) for name in edited)
    notes = [f"Edited since, and shown as recorded: {names}"] if edited else []
    if format_name != "text":
        click.echo(in_format(format_name, Told(reproduction.failure, reproduction.test, command)))
    else:
        render_failure(
            reproduction.failure,
            Console(),
            replay_command=command,
            test=reproduction.test,
            full=full,
        )
        if reproduction.natively:
            click.echo(f"\nWithout Bohrbug (bohrbug export)\n  {reproduction.natively}")
        for note in notes:
            click.echo(f"\n{note}")
    if html is not None:
        # Loaded only where a page is wanted.
        from bohrbug.report.html.making import failure_document

        document = failure_document(reproduction.failure, reproduction.test, notes=notes)
        if not write_html(document, html):
            sys.exit(2)
