"""Whether an access is by the finalizer of the object itself, which nobody else has any more.

Who drops a reference does so after all that it has done with the object, and the finalizer comes
after the last reference was dropped: counts of references are atomic, with the GIL and without it.
So what ``__del__`` does with ``self`` races with nothing, whichever thread it runs in.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from bohrbug.runtime.threads.heap import referrers_of
from bohrbug.runtime.threads.local_variables import local_variables

_FINALIZER = "__del__"


def finalizes(target: Any, place: Any) -> bool:
    """Whether the running code is the finalizer of an object that has died.

    Parameters:
        target: the object that is accessed.
        place: where.
    """
    code = place[0]
    if code.co_name != _FINALIZER or target is None:
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_finalizer_of(frame, target):
        frame = frame.f_back
    while frame is not None and _is_finalizer_of(frame, target):
        # ``super().__del__()``
        frame = frame.f_back
    # Called by the program, by its name or as a bound method, it finalizes nothing: somebody still
    # has the object.
    return (frame is None or _FINALIZER not in frame.f_code.co_names) and not _is_held(
        target, place
    )


def _is_held(target: Any, place: Any) -> bool:
    """Whether the program has an object that refers to this one; frames do so while they run."""
    return not all(
        type(each) is FrameType
        # The arguments with which we were told of the access.
        or (type(each) is tuple and any(one is place for one in each))
        for each in referrers_of(target)
    )


def _is_finalizer_of(frame: FrameType, target: Any) -> bool:
    code = frame.f_code
    if code.co_name != _FINALIZER or not code.co_argcount:
        return False
    return local_variables(frame).get(code.co_varnames[0]) is target
