"""The command ``export``: a failure as a plain test that fails with ordinary threads."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from bohrbug.cli.commands import replayed_once
from bohrbug.cli.exit_codes import FOUND, INCONCLUSIVE, NOTHING_FOUND
from bohrbug.cli.exploring import leave, usage_error
from bohrbug.cli.programs import program_of
from bohrbug.cli.trust import check_trust, trust_option
from bohrbug.exploration.reproduction import (
    Reproduction,
    ReproductionError,
    keep_what_came_natively,
    read_reproduction,
)
from bohrbug.exploration.result import Interpreter as Builds
from bohrbug.export.confirming import (
    DEADLOCKS,
    Confirmation,
    confirm,
    expected_of,
    interpreter_at,
)
from bohrbug.export.order import ForcedOrder, order_of
from bohrbug.export.refusals import CannotExport, check_exportable
from bohrbug.export.steps import ForcedSteps, has_event_loop, steps_of
from bohrbug.export.text import Story, name_of, text_of
from bohrbug.model.trace import Trace
from bohrbug.paths import display_path
from bohrbug.platforms.posix.command import KIND as NATIVE
from bohrbug.platforms.threads.coroutine_functions import CoroutineTest

_CODES = """\b
Exit codes:
  0  written, and it fails in each run
  1  it can't be forced on ordinary threads, or did not fail in each run
  2  the command can't be carried out as given
  3  the failure was not reproduced, so there is nothing to export
"""


@click.command(
    epilog=_CODES, short_help="Write a plain test that fails with ordinary threads, from a FILE."
)
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="TEST",
    help="Where to write it. [default: test_forced_NAME.py in the current folder]",
)
@click.option(
    "--runs",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    metavar="N",
    help="Run it N times; 0: do not run it.",
)
@click.option(
    "--python",
    "path",
    metavar="PYTHON",
    help="Run it with this interpreter. [default: the one of this command]",
)
@trust_option
def export(file: Path, output: Path | None, runs: int, path: str | None, trust: bool) -> None:
    """Write a plain test that shows the failure in a reproduction FILE without Bohrbug.

    It forces the one order of turns in which the test fails, by pausing ordinary threads at
    instructions of the program, and needs nothing but the standard library and the test. It is
    run to see that it fails in the same way; what came of that is kept in FILE for reports.
    """
    try:
        reproduction = read_reproduction(file)
    except ReproductionError as error:
        usage_error(str(error))
    if reproduction.target.get("kind") == NATIVE:
        usage_error(
            f"{file} is of a native program, which can't be exported yet; to show the failure to "
            f"somebody else: bohrbug replay --gdb {file}"
        )
    check_trust(file, reproduction.target, trust)
    try:
        interpreter = interpreter_at(path or sys.executable)
    except ValueError as error:
        usage_error(str(error))
    try:
        check_exportable(reproduction.failure.trace)
        order, trace = _order_of(file, reproduction)
        written = _write(file, reproduction, order, trace, output)
    except CannotExport as error:
        _keep(file, f"It can't be forced on ordinary threads: {error}.")
        click.echo(f"can't be exported: {error}")
        leave(FOUND)
    click.echo(f"wrote {display_path(str(written.path))}")
    if not runs:
        leave(NOTHING_FOUND)
    if written.story.needs_free_threading and interpreter.has_gil:
        click.echo(
            f"not run: {interpreter.name} has the GIL, and can't switch threads where they have to "
            "be paused; name a free-threaded interpreter with --python"
        )
        leave(FOUND)
    confirmation = confirm(written.path, expected_of(trace.outcome), interpreter, runs)
    words = _words(confirmation, isinstance(order, ForcedSteps))
    _keep(file, f"{words[0].upper()}{words[1:]}.")
    click.echo(words)
    leave(NOTHING_FOUND if confirmation.is_sure else FOUND)


@dataclass(frozen=True, slots=True)
class _Written:
    path: Path
    story: Story


def _order_of(file: Path, reproduction: Reproduction) -> tuple[ForcedOrder | ForcedSteps, Trace]:
    """The failure's turns, from a replay in this process: a file does not name instructions."""
    printed = io.StringIO()
    with contextlib.chdir(Path.cwd()), contextlib.redirect_stdout(printed):
        replayed = replayed_once(file, reproduction)
    if replayed is None or not replayed.reproduced:
        click.echo(printed.getvalue(), nl=False)
        click.echo("not exported: the failure in the file was not reproduced")
        leave(INCONCLUSIVE)
    if has_event_loop(replayed.trace):
        return steps_of(replayed.trace), replayed.trace
    return order_of(replayed.trace), replayed.trace


def _write(
    file: Path,
    reproduction: Reproduction,
    order: ForcedOrder | ForcedSteps,
    trace: Trace,
    output: Path | None,
) -> _Written:
    builds, outcome = reproduction.failure.interpreter, trace.outcome
    story = Story(
        reproduction.test,
        outcome.message or outcome.kind.value,
        is_deadlock=outcome.kind in DEADLOCKS,
        needs_free_threading=builds not in (Builds.GIL, Builds.UNKNOWN),
        is_coroutine=_is_coroutine(reproduction),
        seconds=trace.virtual_time,
    )
    path = output or Path(name_of(reproduction.test, file.stem.rpartition("-")[2]))
    text = text_of(order, reproduction.target, story, path)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        usage_error(f"{path}: {error.strerror or error}")
    return _Written(path, story)


def _is_coroutine(reproduction: Reproduction) -> bool:
    if reproduction.target.get("kind") != "function":
        return False
    return isinstance(program_of(reproduction.target), CoroutineTest)


def _words(confirmation: Confirmation, in_loop: bool) -> str:
    runs, failed = confirmation.runs, confirmation.failed
    name = confirmation.interpreter.name
    by = "in an ordinary event loop" if in_loop else "with ordinary threads"
    words = f"fails in {failed} of {runs} runs {by}, {name}"
    return words if confirmation.is_sure else f"{words}: {confirmation.otherwise}"


def _keep(file: Path, sentence: str) -> None:
    """Keep in the file what came of the export, for reports."""
    try:
        keep_what_came_natively(file, sentence)
    except OSError as error:
        usage_error(f"{file}: {error.strerror or error}")
