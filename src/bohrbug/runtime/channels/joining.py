"""How processes come to take part in a recording or a replay."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from bohrbug.runtime.channels.codec import LogError
from bohrbug.runtime.channels.installation import install
from bohrbug.runtime.channels.replaying import ReplaySession
from bohrbug.runtime.channels.session import (
    TASK_VARIABLE,
    Session,
    SessionOptions,
    active,
)

STARTUP = Path(__file__).parent / "startup"
X_OPTION = "bohrbug_task"
"""``python -X bohrbug_task=0.3``: the task that a spawned process begins with."""


def session_for(options: SessionOptions) -> Session:
    """A session of the kind that the options ask for.

    Raises:
        LogError: the log that is to be replayed can't be read.
    """
    return ReplaySession(options) if options.mode == "replay" else Session(options)


def environment_for(
    options: SessionOptions, given: Mapping[str, str], task: str | None
) -> dict[str, str]:
    """An environment for a child process that is to take part.

    Parameters:
        options: of the session.
        given: the environment that the child would get.
        task: that the child begins with; ``None`` if it is to find out itself.
    """
    environment = {**given, **options.to_environment()}
    folders = [entry for entry in given.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if str(STARTUP) not in folders:
        environment["PYTHONPATH"] = os.pathsep.join([str(STARTUP), *folders])
    if task is not None:
        environment[TASK_VARIABLE] = task
    return environment


def join(environment: MutableMapping[str, str] = os.environ) -> None:
    """Take part in the session that the environment names; called when Python starts."""
    options = SessionOptions.from_environment(environment)
    if options is None:
        return
    # Processes that we don't see started must not take this one's id.
    task = environment.pop(TASK_VARIABLE, None) or sys._xoptions.get(X_OPTION)
    if not os.path.isdir(options.folder):
        return
    try:
        session = session_for(options)
    except LogError as error:
        print(f"bohrbug: {error}", file=sys.stderr)
        return
    session.sign_in()
    active.start(session)
    install()
    atexit.register(_finish)
    if task is not None:
        session.begin_process(str(task))


def _finish() -> None:
    if active.session is not None:
        active.session.finish()
