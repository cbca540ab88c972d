"""Log records under control: handing one to a handler is an operation where somebody looks at them.

The module ``logging`` is trusted, and its locks are no business of a test.  But a test may look
at what its tasks have logged: at a list that its own handler fills, at a stream or a file, at
the records of ``assertLogs`` or of pytest's ``caplog``.  There the order of the records matters,
and the lock of the handler keeps the tasks apart that it is called in.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from sys import _getframe
from types import FunctionType
from typing import Any

from bohrbug.model.operation import PUT
from bohrbug.runtime.threads.captured import Captured
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.recording import effect
from bohrbug.runtime.threads.synchronizers import place_of

patches = Patches()

_handle = logging.Handler.handle


def _is_looked_at(handler: logging.Handler) -> bool:
    """Whether the program may see in which order a handler gets its records."""
    package = type(handler).__module__.partition(".")[0]
    if package == "_pytest":
        return handler is Captured.handler
    if isinstance(handler, logging.StreamHandler):
        stream = handler.stream
        return stream is not None and stream not in (
            sys.stdout,
            sys.stderr,
            sys.__stdout__,
            sys.__stderr__,
        )
    return package != "logging"


def _outside_logging(frame: Any) -> Any:
    innermost = frame
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] != "logging":
            return frame
        frame = frame.f_back
    return innermost


def _as_of_logging(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose frames say that they are the library's.

    Formatters look for who has logged behind all frames of ``logging``, as structlog does.
    """
    names = {**globals(), "__name__": "logging"}
    return FunctionType(function.__code__, names, function.__name__)


@patches.method(logging.Handler, "handle")
@_as_of_logging
def _wrapped_handle(self: Any, record: Any) -> Any:
    execution = controlled()
    if (
        execution is None
        or execution.current.inside
        or execution.is_alone()
        or not _is_looked_at(self)
    ):
        return _handle(self, record)
    name = type(self).__name__
    # By its class: a handler is often made by whichever task logs first.
    state = execution.resources.state_named(f"records of {name}", f"records of {name}", name)
    execution.perform(PUT, state, place_of(_outside_logging(_getframe(1))))
    if not self.lock:
        # Nothing orders what the handler does for this record and for others.
        return _handle(self, record)
    try:
        return _handle(self, record)
    finally:
        # Who hands it the next record has seen what was done with this one.
        effect(execution, state, True)
