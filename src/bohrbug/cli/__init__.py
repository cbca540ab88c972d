"""The command line."""

from __future__ import annotations

import errno
import faulthandler
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

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

_AS_IT_IS = ("record", "replay-messages")
"""Commands that start a command, which has the streams and the environment that they have."""

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""What a stream says that takes no more."""

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
    if name not in _AS_IT_IS:
        _open_standard_streams()
        if not os.environ.get("COLUMNS", "").strip("0"):
            # As for Python: it is not known. Lines of no width would be no lines.
            os.environ.pop("COLUMNS", None)
    try:
        if name in _OF_MESSAGES:
            home = importlib.import_module(_OF_MESSAGES[name])
            command: Any = getattr(home, name.replace("-", "_"))
            settings: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
            command.main(sys.argv[2:], prog_name=f"bohrbug {name}", **settings)
        else:
            _tell_of_crashes()
            _explore(name)
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            _tell_of_our_error()
        # Else Python would try again to write what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        print(f"bohrbug: the output can't be written: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    except Exception:  # noqa: BLE001
        _tell_of_our_error()


def _explore(name: str) -> None:
    try:
        group = _main(name)
    except KeyboardInterrupt:
        # Once loaded, each command deals with Ctrl-C itself.
        print("bohrbug: interrupted", file=sys.stderr)
        sys.exit(3)
    group.main(prog_name="bohrbug")


def _tell_of_our_error() -> NoReturn:
    # Python's own exit code would be that of a failure of the program.
    sys.__excepthook__(*sys.exc_info())
    print(_OUR_ERROR, file=sys.stderr)
    sys.exit(3)


def _open_standard_streams() -> None:
    """Let none of the three be closed: the next file to be opened would take its place."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "w" if descriptor else "r"
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115
            if stream.fileno() != descriptor:
                os.dup2(stream.fileno(), descriptor)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, stream)


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
