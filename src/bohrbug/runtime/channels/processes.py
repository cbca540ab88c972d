"""Processes: what was recorded is written before one ends or becomes another program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NoReturn

from bohrbug.runtime.channels.replaying import real_exit
from bohrbug.runtime.channels.session import TASK_VARIABLE, active
from bohrbug.runtime.channels.streams import local
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_execv, _execve = os.execv, os.execve


def _exit(status: int) -> NoReturn:
    if active.session is not None:
        active.session.finish()
    real_exit(status)


def _exec(path: Any, argv: Any, /) -> NoReturn:
    _become_another(os.environ)
    try:
        _execv(path, argv)
    finally:
        os.environ.pop(TASK_VARIABLE, None)


def _exec_with(path: Any, argv: Any, env: Mapping[Any, Any]) -> NoReturn:
    environment = dict(env)
    _become_another(environment)
    _execve(path, argv, environment)


def _become_another(environment: Any) -> None:
    """The program that this process becomes goes on with its id, if it is a Python program."""
    session, stream = active.session, local.stream
    if session is not None and stream is not None and stream.task == session.root:
        session.flush()
        environment[TASK_VARIABLE] = stream.next_child()


patches.add(os, "_exit", _exit)
patches.add(os, "execv", _exec)
patches.add(os, "execve", _exec_with)
