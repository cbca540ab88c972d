"""``multiprocessing``'s start method ``spawn``: the command line of a child carries its id."""

from __future__ import annotations

from multiprocessing import spawn
from typing import Any

from bohrbug.runtime.channels.joining import X_OPTION
from bohrbug.runtime.channels.streams import local
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_get_command_line = spawn.get_command_line


@patches.method(spawn, "get_command_line")
def _command_line_with_id(**keywords: Any) -> list[str]:
    command = _get_command_line(**keywords)
    # The resource tracker and the fork server are started by other functions.
    if local.fork_as is not None and "-c" in command:
        command[1:1] = ["-X", f"{X_OPTION}={local.fork_as}"]
    return command
