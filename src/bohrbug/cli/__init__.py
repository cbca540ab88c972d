"""The command line."""

from __future__ import annotations

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
        try:
            group = _main()
        except KeyboardInterrupt:
            # Once loaded, each command deals with Ctrl-C itself.
            print("bohrbug: interrupted", file=sys.stderr)
            sys.exit(3)
        group.main(prog_name="bohrbug")


def _main() -> Group:
    group: Group = importlib.import_module("bohrbug.cli.commands").main
    group.add_command(importlib.import_module("bohrbug.cli.stepping").step)
    for name, home in _OF_MESSAGES.items():
        group.add_command(getattr(importlib.import_module(home), name.replace("-", "_")), name)
    return group


def __getattr__(name: str) -> Any:
    # ``main``, the group of all commands, is loaded on first use.
    if name != "main":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _main()
