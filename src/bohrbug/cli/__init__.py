"""The command line."""

from __future__ import annotations

import faulthandler
import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from click import Group

    main: Group

__all__ = ["main", "run"]

_OF_MESSAGES = {
    "record": "bohrbug.cli.messages",
    "replay-messages": "bohrbug.cli.messages",
    "messages": "bohrbug.cli.message_logs",
}
"""Commands that need nothing of what explores, and where they are."""

_OUR_ERROR = (
    "bohrbug: this is an error in Bohrbug itself, unless the program has changed built-in"
    " functions or modules of the standard library: it says nothing about the program"
)


def run() -> None:
    """Do what the command line says.

    To load all that explores takes longer than many a program that is recorded, so it is not
    loaded for commands that have nothing to do with it.
    """
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in _OF_MESSAGES:
        command: Any = getattr(importlib.import_module(_OF_MESSAGES[name]), name.replace("-", "_"))
        settings: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
        command.main(sys.argv[2:], prog_name=f"bohrbug {name}", **settings)
    else:
        _tell_of_crashes()
        try:
            group = _main(name)
        except KeyboardInterrupt:
            # Once loaded, each command deals with Ctrl-C itself.
            print("bohrbug: interrupted", file=sys.stderr)
            sys.exit(3)
        try:
            group.main(prog_name="bohrbug")
        except Exception:  # noqa: BLE001
            # Python's own exit code would be that of a failure of the program.
            sys.__excepthook__(*sys.exc_info())
            print(_OUR_ERROR, file=sys.stderr)
            sys.exit(3)


def _tell_of_crashes() -> None:
    """A program that crashes the interpreter ends us as well, but not without a word."""
    try:
        faulthandler.enable()
    except (AttributeError, OSError, RuntimeError, ValueError):
        # There is no standard error output, or it is no file.
        return


def _main(wanted: str = "") -> Group:
    """The group of all commands; if one is wanted that explores or replays, of these alone."""
    group: Group = importlib.import_module("bohrbug.cli.commands").main
    if wanted in group.commands:
        return group
    if wanted == "live":
        group.add_command(importlib.import_module("bohrbug.cli.live").live)
        return group
    group.add_command(importlib.import_module("bohrbug.cli.stepping").step)
    group.add_command(importlib.import_module("bohrbug.cli.export").export)
    group.add_command(importlib.import_module("bohrbug.cli.live").live)
    for name, home in _OF_MESSAGES.items():
        group.add_command(getattr(importlib.import_module(home), name.replace("-", "_")), name)
    return group


def __getattr__(name: str) -> Any:
    # ``main``, the group of all commands, is loaded on first use.
    if name != "main":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _main()
