"""Tracebacks, as frames and as Python prints them, without the frames of this tool.

Many executions fail where earlier ones have failed, and to read their source again for the same
text would take longer than they do: what is printed of a stack is kept.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

from bohrbug.model.outcome import Frame
from bohrbug.runtime.threads.stacks import begins_a_task, is_own, site_in

_PRIMITIVES = (threading.__file__,)

_HEADER = "Traceback (most recent call last):\n"

# From Python 3.15 on, what colours tracebacks is loaded with the first one that is printed. While a
# test is executed, that would count as code of the test, and be found only after the first failure.
traceback.StackSummary.from_list([(__file__, 1, "", "")]).format()

_OF_VALUES = (NameError, AttributeError, ImportError)
"""What Python says of these depends on values in their frames, too."""

_STACKS_KEPT = 2_000

# By the ids of code objects, which are kept, so that no other gets one.
_stacks: dict[tuple[int, ...], tuple[list[CodeType], str]] = {}


def frames_of_traceback(tb: TracebackType | None) -> tuple[Frame, ...]:
    """The frames of the program in a traceback, innermost last."""
    return tuple(
        Frame(site_in(code, offset))
        for code, offset in _places(tb)
        if not is_left_out(code.co_filename)
    )


def formatted(error: BaseException) -> str:
    """The traceback as Python prints it, without the frames of this tool."""
    has_context = error.__context__ is not None and not error.__suppress_context__
    if (
        has_context
        or error.__cause__ is not None
        or isinstance(error, (BaseExceptionGroup, *_OF_VALUES))
    ):
        return _formatted_anew(error)
    error_only = traceback.TracebackException(type(error), error, None)
    return stack_in_words(error.__traceback__) + "".join(error_only.format_exception_only())


def stack_in_words(tb: TracebackType | None) -> str:
    """The stack of a traceback as Python prints it; runs no code of the program."""
    return _HEADER + _stack_text(tb)


def stack_up_to_in_words(frame: FrameType) -> str:
    """The stack of a frame, as Python prints that of an exception that is raised there.

    It is empty if there is nothing but frames of this tool, and of the primitives it models.
    """
    summary = traceback.StackSummary.extract(_up_from(frame))
    entries = [entry for entry in reversed(summary) if not is_left_out(entry.filename)]
    if not entries:
        return ""
    return "".join([_HEADER, *traceback.StackSummary.from_list(entries).format()])


def _up_from(frame: FrameType | None) -> Iterator[tuple[FrameType, int]]:
    """The frames of a task, the innermost first, with their lines."""
    while frame is not None and not begins_a_task(frame.f_code):
        yield frame, frame.f_lineno
        frame = frame.f_back


def _places(tb: TracebackType | None) -> Iterator[tuple[CodeType, int]]:
    while tb is not None:
        yield tb.tb_frame.f_code, tb.tb_lasti
        tb = tb.tb_next


def is_left_out(filename: str) -> bool:
    """Whether the frames of a file are this tool's, or those of the primitives it models."""
    return is_own(filename) or filename in _PRIMITIVES


def _stack_text(tb: TracebackType | None) -> str:
    places = list(_places(tb))
    key = tuple(part for code, offset in places for part in (id(code), offset))
    known = _stacks.get(key)
    if known is None:
        if len(_stacks) >= _STACKS_KEPT:
            _stacks.clear()
        text = "".join(_stripped(traceback.extract_tb(tb)).format())
        known = _stacks[key] = [code for code, _ in places], text
    return known[1]


def _stripped(stack: traceback.StackSummary) -> traceback.StackSummary:
    return traceback.StackSummary.from_list(
        [entry for entry in stack if not is_left_out(entry.filename)]
    )


def _formatted_anew(error: BaseException) -> str:
    whole = traceback.TracebackException.from_exception(error)
    each: Any = whole
    while each is not None:
        each.stack = _stripped(each.stack)
        each = each.__cause__ or each.__context__
    return "".join(whole.format())
