"""Programs whose result depends on the order of messages: recorded once, replayed several times."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import bohrbug
from bohrbug.runtime.channels.codec import encode
from bohrbug.runtime.channels.events import LOOP, Log
from bohrbug.runtime.channels.reading import read_log


def pause(seconds: float = 0.003) -> None:
    """Sleep for some while."""
    time.sleep(random.random() * seconds)


def steady(
    tmp_path: Path, program: Callable[[], object], times: int = 3, *, loops: bool = True
) -> Log:
    """Record a program and check that replays give the same; its log.

    Parameters:
        tmp_path: where the log is written.
        program: what is recorded.
        times: how often it is replayed.
        loops: false to leave out the arrivals of event loops, as of loops that are not asyncio's.
    """
    path = tmp_path / "log"
    with bohrbug.record(path):
        expected = program()
    if not loops:
        log = read_log(path)
        log.tasks = {task: events for task, events in log.tasks.items() if LOOP not in task}
        path.write_bytes(encode(log))
    for _ in range(times):
        with bohrbug.replay_messages(path) as replay:
            assert program() == expected
        assert replay.desynchronisation is None
        assert replay.warnings == []
    return read_log(path)
