"""The options of ``bohrbug replay`` that say with which debugger."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from bohrbug.cli.exploring import usage_error
from bohrbug.debugger.addresses import DEFAULT_ADDRESS, address_of
from bohrbug.debugger.choice import DebuggerChoice


def debugger_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags; the command gets a :class:`DebuggerChoice` as ``debugger``."""

    @click.option("--pdb", "with_pdb", is_flag=True, help="Stop in pdb at each point that matters.")
    @click.option(
        "--debugpy",
        "with_debugpy",
        is_flag=True,
        help="Wait for an editor, such as VS Code, to attach, and stop at each point that matters.",
    )
    @click.option(
        "--listen",
        metavar="[HOST:]PORT",
        help=f"With --debugpy: where to wait for the editor. [default: {DEFAULT_ADDRESS}]",
    )
    @functools.wraps(command)
    def wrapper(
        *args: Any, with_pdb: bool, with_debugpy: bool, listen: str | None, **kwargs: Any
    ) -> Any:
        choice = _chosen(with_pdb, with_debugpy, listen)
        return command(*args, debugger=choice, **kwargs)

    return wrapper


def _chosen(with_pdb: bool, with_debugpy: bool, listen: str | None) -> DebuggerChoice:
    if with_pdb and with_debugpy:
        usage_error("--pdb and --debugpy are two debuggers: give one of them")
    if not with_debugpy:
        if listen is not None:
            usage_error("--listen says where --debugpy waits for an editor: give both")
        return DebuggerChoice(pdb=with_pdb)
    if listen is None:
        return DebuggerChoice(address=DEFAULT_ADDRESS)
    try:
        return DebuggerChoice(address=address_of(listen))
    except ValueError as error:
        usage_error(f"--listen: {error}")


def pytest_arguments(debugger: DebuggerChoice) -> list[str]:
    """What pytest is told of a debugger."""
    if debugger.address is not None:
        return [f"--bohrbug-debugpy={debugger.address}"]
    return ["--pdb"] if debugger.pdb else []
