"""Help: options stand in sections, and tell their defaults; files are told from commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from bohrbug.cli.exit_codes import INCONCLUSIVE
from bohrbug.exploration.options import ExploreOptions

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Rounds": ("budget", "window", "fragments", "rounds", "patience", "history", "debug"),
    "Search": (
        *("strategy", "executions", "seconds", "bound", "depth", "seed", "predict", "workers"),
        "go_on",
    ),
    "Executions": (
        *("level", "scope", "timeouts", "interpreter", "entropy"),
        *("memory", "async_order", "cancel", "gc", "max_steps", "hang_seconds"),
    ),
    "Failures": ("races", "asyncio_errors", "keep_going", "minimise", "causes", "causes_seconds"),
    "Native programs": (
        *("check", "same_output", "exit_code", "fault", "most_faults", "allow_misuse"),
        *("watch", "sample_accesses", "engine", "no_fibers"),
    ),
}
"""Which options, by the names of their parameters, stand together under which heading."""

OTHERS = "Other options"


class Commands(click.Group):
    """Says which command a file is for, where somebody has left it out, and tells of Ctrl-C."""

    def invoke(self, ctx: click.Context) -> Any:
        """See :class:`click.Group`."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # That of click would be the one for a failure that was found.
            click.echo("bohrbug: interrupted", err=True)
            ctx.exit(INCONCLUSIVE)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See :class:`click.Group`."""
        name = args[0] if args else ""
        file, separator, _ = name.partition(".py:")
        command = "replay" if name.endswith(".json") else "run"
        if name not in self.commands and Path(f"{file}.py" if separator else name).is_file():
            given = shlex.join(args)
            ctx.fail(f"{name} is no command; did you mean: bohrbug {command} {given}")
        return super().resolve_command(ctx, args)


class SectionedCommand(click.Command):
    """A command of so many options that its help has them in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See :class:`click.Command`."""
        options = (each for each in self.get_params(ctx) if isinstance(each, click.Option))
        left = {option.name: option for option in options}
        for heading, names in SECTIONS.items():
            chosen = [left.pop(name) for name in names if name in left]
            _write_section(ctx, formatter, heading, chosen)
        _write_section(ctx, formatter, OTHERS, list(left.values()))


def _write_section(
    ctx: click.Context, formatter: click.HelpFormatter, heading: str, options: list[click.Option]
) -> None:
    records = [record for each in options if (record := each.get_help_record(ctx)) is not None]
    if records:
        with formatter.section(heading):
            formatter.write_dl(records)


_DEFAULTS = {field.name: field.default for field in fields(ExploreOptions)}


def default_in_words(name: str) -> str:
    """The default of an option of explorations, as one would give it; empty for flags and lists."""
    match _DEFAULTS[name]:
        case bool() | ():
            return ""
        case None:
            return "none"
        case float(number):
            return f"{number:g}"
        case default:
            return str(default)
