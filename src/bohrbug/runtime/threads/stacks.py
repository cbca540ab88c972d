"""Stacks of tasks, without the frames of this tool and of the primitives it models."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from functools import lru_cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from bohrbug.model.outcome import Frame
from bohrbug.model.site import site_of
from bohrbug.runtime.threads.task import Task

_OWN = str(Path(__file__).absolute().parents[2]) + os.sep
_PRIMITIVES = (threading.__file__,)


@lru_cache(maxsize=1024)
def is_own(filename: str) -> bool:
    """Whether a file belongs to this tool."""
    return filename.startswith(_OWN) and f"{os.sep}examples{os.sep}" not in filename


def frames_from(frame: FrameType | None) -> tuple[Frame, ...]:
    """The frames of the program from the outermost to ``frame``."""
    found: list[Frame] = []
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_own(filename) and filename not in _PRIMITIVES:
            site = site_of((frame.f_code, frame.f_lasti))
            assert site is not None
            found.append(Frame(site))
        elif is_own(filename) and frame.f_code.co_qualname == "Execution.run":
            break
        frame = frame.f_back
    found.reverse()
    return tuple(found)


def stack_of(task: Task, running: Task) -> tuple[Frame, ...]:
    """Where a task stands now."""
    if task is running:
        return frames_from(sys._getframe(1))
    if task.greenlet is None:
        return ()
    return frames_from(task.greenlet.gr_frame)


def frames_of_traceback(tb: TracebackType | None) -> tuple[Frame, ...]:
    """The frames of the program in a traceback, innermost last."""
    found: list[Frame] = []
    while tb is not None:
        code = tb.tb_frame.f_code
        if not is_own(code.co_filename) and code.co_filename not in _PRIMITIVES:
            site = site_of((code, tb.tb_lasti))
            assert site is not None
            found.append(Frame(site))
        tb = tb.tb_next
    return tuple(found)


def formatted(error: BaseException) -> str:
    """The traceback as Python prints it, without the frames of this tool."""
    summary = traceback.TracebackException.from_exception(error)
    _strip(summary)
    return "".join(summary.format())


def _strip(summary: Any) -> None:
    while summary is not None:
        kept = [
            entry
            for entry in summary.stack
            if not is_own(entry.filename) and entry.filename not in _PRIMITIVES
        ]
        summary.stack = traceback.StackSummary.from_list(kept)
        summary = summary.__cause__ or summary.__context__
