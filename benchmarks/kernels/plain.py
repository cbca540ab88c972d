"""Programs with plain threads: how many runs it takes until one fails, if any does."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Callable

Program = Callable[[], object]


def runs_until_it_fails(program: Program, runs: int, seconds: float) -> int | None:
    """The number of the first of so many runs that fails, or takes more than so many seconds."""
    return next((run for run in range(1, runs + 1) if _fails(program, run, seconds)), None)


def _fails(program: Program, seed: int, seconds: float) -> bool:
    child = os.fork()
    if child == 0:
        try:
            _run(program, seed, seconds)
        except BaseException:  # noqa: BLE001 - whatever it is, the run has failed
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return status != 0


def _run(program: Program, seed: int, seconds: float) -> None:
    """In a process of its own: it is killed if it takes too long, and ended if a thread fails."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    threading.excepthook = lambda args: os._exit(1)
    drawing = random.Random(seed)
    for module in list(sys.modules.values()):
        if getattr(module, "choose", None) is not None and hasattr(module, "Goroutines"):
            module.choose = drawing.randrange  # type: ignore[attr-defined]
    program()
