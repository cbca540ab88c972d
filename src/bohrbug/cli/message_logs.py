"""The command ``messages``: what is in a message log, and where two of them part."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from bohrbug.cli.html import html_option, write_html
from bohrbug.cli.messages import say, usage_error
from bohrbug.report.html.message_log import diff_document, log_document
from bohrbug.report.message_chart import draw_chart
from bohrbug.report.message_diff import decision_in_lines, draw_decision, draw_partings
from bohrbug.report.message_files import mermaid, trace_events
from bohrbug.report.message_topology import draw_topology
from bohrbug.report.style import Paper
from bohrbug.runtime.channels.bisection import NotDecidedError, Verdict, decide
from bohrbug.runtime.channels.codec import LogError, encode
from bohrbug.runtime.channels.commands import CommandError, replay_command
from bohrbug.runtime.channels.events import Log, in_tree_order
from bohrbug.runtime.channels.orders import causal_order, partings
from bohrbug.runtime.channels.reading import read_log

SAME, PARTED, UNDECIDED = 0, 1, 3

_SHOW_CODES = """\b
Exit codes:
  0  shown
  2  the file is not a message log, or a file can't be written
"""
_DIFF_CODES = """\b
Exit codes:
  0  the two have the same order of messages
  1  they differ; with COMMAND: and the exchange that decides was found
  2  a file is not a message log, or the command can't be started
  3  with COMMAND: no single exchange decides
"""


class _ShowByDefault(click.Group):
    """``messages FILE`` is ``messages show FILE``."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            args = ["show", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_ShowByDefault,
    short_help="Show a message log, or where two differ.",
    subcommand_metavar="FILE | COMMAND [ARGS]...",
)
def messages() -> None:
    """Show a message log (messages FILE), or where two part (messages diff PASS FAIL)."""


def _log(file: Path) -> Log:
    try:
        return read_log(file)
    except LogError as error:
        usage_error(str(error))


@messages.command("show", epilog=_SHOW_CODES)
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option("--chart", is_flag=True, help="Draw the message sequence chart.")
@click.option(
    "--from", "first", type=click.IntRange(1), default=1, metavar="N", help="Chart: first event."
)
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Chart, Mermaid: at most N events."
)
@click.option(
    "--mermaid",
    "mermaid_file",
    type=click.Path(path_type=Path, readable=False),
    metavar="OUT",
    help="Save the chart as Mermaid.",
)
@click.option(
    "--trace-events",
    "trace_file",
    type=click.Path(path_type=Path, readable=False),
    metavar="OUT",
    help="Save the chart as trace-event JSON, for Perfetto.",
)
@html_option
def show(
    file: Path,
    chart: bool,
    first: int,
    limit: int | None,
    mermaid_file: Path | None,
    trace_file: Path | None,
    html: Path | None,
) -> None:
    """Show what is in a message log: tasks, channels, counts."""
    log = _log(file)
    paper = Paper(Console(), in_tree_order(log.tasks))
    draw_topology(paper, log)
    order = causal_order(log) if chart or mermaid_file or trace_file else []
    if chart:
        draw_chart(paper, order, first - 1, limit or 60)
    try:
        if mermaid_file is not None:
            mermaid_file.write_text(mermaid(order, limit or 500), encoding="utf-8")
        if trace_file is not None:
            trace_file.write_text(trace_events(log, order), encoding="utf-8")
    except OSError as error:
        usage_error(f"{error.filename}: {error.strerror or error}")
    if html is not None and not write_html(log_document(log, file.name), html):
        sys.exit(2)


@messages.command("diff", epilog=_DIFF_CODES)
@click.argument("passing", type=click.Path(path_type=Path, readable=False))
@click.argument("failing", type=click.Path(path_type=Path, readable=False))
@click.option(
    "--patience",
    type=click.FloatRange(0.1),
    metavar="SECONDS",
    default=3.0,
    show_default=True,
    help="Seconds without progress after which a wait in a replay counts as endless.",
)
@html_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def diff(
    passing: Path, failing: Path, patience: float, html: Path | None, command: Sequence[str]
) -> None:
    """Show where a PASSING and a FAILING run part.

    With a COMMAND, replay mixtures of the two to find the one exchange of messages that decides
    between pass and fail.
    """
    first, second = _log(passing), _log(failing)
    if first.about.get("command") != second.about.get("command"):
        say(f"{passing.name} and {failing.name} are logs of different commands")
    found = partings(first, second)
    tasks = in_tree_order({*first.tasks, *second.tasks})
    paper = Paper(Console(), tasks)
    names = (passing.name, failing.name)
    draw_partings(paper, found, names)
    if html is not None and not (found and command):
        write_html(diff_document((first, second), names, found), html)
    if not found:
        sys.exit(SAME)
    if not command:
        sys.exit(PARTED)
    with tempfile.TemporaryDirectory(prefix="bohrbug-") as folder:
        file = Path(folder) / "hybrid"

        def attempt(log: Log) -> Verdict:
            file.write_bytes(encode(log))
            result = replay_command(
                command, file, keep_going=True, patience=patience, output=subprocess.DEVNULL
            )
            return Verdict.PASSED if result.passed else Verdict.FAILED

        try:
            decision = decide(first, second, attempt, progress=say)
        except CommandError as error:
            usage_error(str(error))
        except NotDecidedError as error:
            say(str(error))
            if html is not None:
                notes = [str(error)]
                write_html(diff_document((first, second), names, found, notes), html)
            sys.exit(UNDECIDED)
    draw_decision(paper, decision, second)
    if html is not None:
        lines = decision_in_lines(decision, second)
        write_html(diff_document((first, second), names, found, lines), html)
    sys.exit(PARTED)
