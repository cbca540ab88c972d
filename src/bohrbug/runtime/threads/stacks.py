"""Stacks of tasks, without the frames of this tool and of the primitives it models."""

from __future__ import annotations

import os
import sys
import threading
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType

from bohrbug.model.operation import Site
from bohrbug.model.outcome import Frame
from bohrbug.model.site import site_of
from bohrbug.runtime.threads.task import Task

_OWN = str(Path(__file__).absolute().parents[2]) + os.sep
_PRIMITIVES = (threading.__file__,)


@lru_cache(maxsize=1024)
def is_own(filename: str) -> bool:
    """Whether a file belongs to this tool."""
    return filename.startswith(_OWN) and f"{os.sep}examples{os.sep}" not in filename


_STACKS_KEPT = 2_000
"""Stacks that are kept: an execution that fails as others before it stands at the same places."""

# By the ids of code objects, as hashing these takes long; they are kept, so that no other gets one.
_stacks: dict[tuple[int, ...], tuple[list[CodeType], tuple[Frame, ...]]] = {}


def begins_a_task(code: CodeType) -> bool:
    """Whether the frames of the program end at this code, from the innermost on."""
    return code.co_qualname == "Execution.run" and is_own(code.co_filename)


def frames_from(frame: FrameType | None) -> tuple[Frame, ...]:
    """The frames of the program from the outermost to ``frame``."""
    codes: list[CodeType] = []
    places: list[int] = []
    while frame is not None:
        code = frame.f_code
        if begins_a_task(code):
            break
        codes.append(code)
        places += (id(code), frame.f_lasti)
        frame = frame.f_back
    key = tuple(places)
    known = _stacks.get(key)
    if known is None:
        if len(_stacks) >= _STACKS_KEPT:
            _stacks.clear()
        known = _stacks[key] = codes, _frames_at(codes, places[1::2])
    return known[1]


def _frames_at(codes: list[CodeType], offsets: list[int]) -> tuple[Frame, ...]:
    """Those of the program, the outermost first, of code and offsets from the innermost on."""
    return tuple(
        Frame(site_in(code, offset))
        for code, offset in zip(reversed(codes), reversed(offsets), strict=True)
        if not is_own(code.co_filename) and code.co_filename not in _PRIMITIVES
    )


def site_in(code: CodeType, offset: int) -> Site:
    """The place of an instruction, by its offset in bytes."""
    site = site_of((code, offset))
    assert site is not None
    return site


def stack_of(task: Task, running: Task) -> tuple[Frame, ...]:
    """Where a task stands now."""
    if task is running:
        return frames_from(sys._getframe(1))
    if task.greenlet is None:
        return ()
    return frames_from(task.greenlet.gr_frame)
