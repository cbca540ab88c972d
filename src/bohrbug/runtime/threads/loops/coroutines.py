"""Where the coroutines of a task stand: the program's own part, and whom it waits for."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any

Place = tuple[CodeType, int]
"""Code, and the offset of an instruction."""

_LOOPS = ("asyncio.", "bohrbug.runtime.")
"""asyncio, and what replaces parts of it."""

_LIBRARIES = (*_LOOPS, "trio.", "outcome.", "anyio.", "contextlib")
"""Event loops and what a program calls them by: their frames tell its author little."""


def coroutines_of(coroutine: Any) -> Iterator[tuple[Any, FrameType]]:
    """A coroutine that waits, what it awaits, and so on, each with its frame."""
    while coroutine is not None:
        # Most are of the first of these types, and the innermost of the second.
        if type(coroutine) is CoroutineType:
            frame = coroutine.cr_frame
        elif type(coroutine) is GeneratorType:
            frame = coroutine.gi_frame
        else:
            frame = frame_of(coroutine)
        if frame is None:
            return
        yield coroutine, frame
        if type(coroutine) is CoroutineType:
            coroutine = coroutine.cr_await
        else:
            coroutine = (
                getattr(coroutine, "cr_await", None)
                or getattr(coroutine, "gi_yieldfrom", None)
                or getattr(coroutine, "ag_await", None)
            )
        while type(coroutine).__name__ in _STAND_FOR_OTHERS:
            coroutine = _stands_for(coroutine)


_STAND_FOR_OTHERS = frozenset(
    {"async_generator_asend", "async_generator_athrow", "anext_awaitable"}
)
"""What is awaited of async generators, such as by ``async for`` and ``asynccontextmanager``."""


def _stands_for(awaited: Any) -> Any:
    """The async generator of which the next value, say, is awaited; that has no name for it."""
    return next(
        (
            each
            for each in gc.get_referents(awaited)
            if type(each) is AsyncGeneratorType or type(each).__name__ in _STAND_FOR_OTHERS
        ),
        None,
    )


def is_busy(coroutine: Any) -> bool:
    """Whether a coroutine is in the middle of a step, instead of at an ``await``."""
    return bool(getattr(coroutine, "cr_running", getattr(coroutine, "gi_running", False)))


def frame_of(coroutine: Any) -> FrameType | None:
    """That of a coroutine, or a generator that stands for one; ``None`` once it has ended."""
    frame: FrameType | None = (
        getattr(coroutine, "cr_frame", None)
        or getattr(coroutine, "gi_frame", None)
        or getattr(coroutine, "ag_frame", None)
    )
    return frame


def all_frames(coroutine: Any) -> list[FrameType]:
    """The frames in which a coroutine that waits stands, the outermost first."""
    return [frame for _, frame in coroutines_of(coroutine)]


def frames_of_coroutine(coroutine: Any) -> list[FrameType]:
    """Those of the program's own code, the outermost first.

    If it has none there, the one with which the coroutine begins.
    """
    frames = all_frames(coroutine)
    return [frame for frame in frames if not is_of_library(frame.f_globals)] or frames[:1]


def own_frames(coroutine: Any) -> list[FrameType]:
    """Those of the program's own code, or of a layer above an event loop that it consists of.

    The outermost first; none if a coroutine is the event loop's own.
    """
    frames = [frame for frame in all_frames(coroutine) if not is_of_loop(frame.f_globals)]
    return [frame for frame in frames if not is_of_library(frame.f_globals)] or frames


def innermost_own(coroutine: Any) -> FrameType | None:
    """The last of :func:`own_frames`."""
    own = outer = None
    for _, frame in coroutines_of(coroutine):
        name = frame.f_globals.get("__name__", "")
        if not is_name_of_library(name):
            own = frame
        elif not is_name_of_loop(name):
            outer = frame
    return own or outer


def frames_within(coroutine: Any) -> list[FrameType]:
    """Those of what an event loop, or a layer above it, does for the innermost of these."""
    frames = all_frames(coroutine)
    innermost = frames_of_coroutine(coroutine)[-1:]
    return frames[frames.index(innermost[0]) + 1 :] if innermost else []


def place_in_program(coroutine: Any) -> Place | None:
    """Where the program's own code of a coroutine stands, the innermost of it."""
    frames = frames_of_coroutine(coroutine)
    return (frames[-1].f_code, max(frames[-1].f_lasti, 0)) if frames else None


def is_of_loop(module: dict[str, Any]) -> bool:
    """Whether code is asyncio's or ours, by its globals."""
    return is_name_of_loop(module.get("__name__", ""))


def is_of_library(module: dict[str, Any]) -> bool:
    """Whether code is that of an event loop, a layer above it, or ours, by its globals."""
    return is_name_of_library(module.get("__name__", ""))


@functools.lru_cache
def is_name_of_library(module: object) -> bool:
    """As :func:`is_of_library`, by the name of the module."""
    return str(module).startswith(_LIBRARIES)


@functools.lru_cache
def is_name_of_loop(module: object) -> bool:
    """As :func:`is_of_loop`, by the name of the module."""
    return str(module).startswith(_LOOPS)
