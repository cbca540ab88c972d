"""Which frames of stacks and tracebacks are the program's, without those of the tool."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bohrbug.model.outcome import Frame
from bohrbug.paths import display_path, is_library_file
from bohrbug.report.sources import is_threading_file, is_tool_file, runs_a_loop

FRAME_LINE = re.compile(
    r'^(?P<indent>[ |+-]*)File "(?P<file>.+)", line (?P<line>\d+)(?:, in (?P<function>.+))?'
)
"""The line with which a frame of a printed traceback begins."""


def program_frames(stack: Sequence[Frame]) -> list[Frame]:
    """The frames of the program: without ours, those of runners and the thread's first ones."""
    frames = [frame for frame in stack if not is_tool_file(frame.site.filename)]
    frames = [
        frame
        for frame in frames
        if frame is frames[-1] or not runs_a_loop(frame.site.filename, frame.site.function)
    ]
    while len(frames) > 1 and is_threading_file(frames[0].site.filename):
        del frames[0]
    return frames


def telling_frame(stack: Sequence[Frame]) -> Frame | None:
    """The frame that tells most: the innermost one outside libraries, else the innermost."""
    frames = program_frames(stack)
    own = [frame for frame in frames if not is_library_file(frame.site.filename)]
    return own[-1] if own else frames[-1] if frames else None


def program_traceback(traceback: str) -> str:
    """A traceback as Python prints it, without the frames of the tool and the test runner.

    A frame is its ``File`` line and the deeper indented lines behind it (the
    source, and the marks below it).
    """
    kept: list[str] = []
    dropping: int | None = None
    lines = traceback.splitlines()
    matches = [FRAME_LINE.match(line) for line in lines]
    last = next((match for match in reversed(matches) if match), None)
    for line, match in zip(lines, matches, strict=True):
        if match:
            outside = is_tool_file(match["file"]) or is_threading_file(match["file"])
            if match is not last and runs_a_loop(match["file"], match["function"] or ""):
                outside = True
            dropping = len(match["indent"]) if outside else None
        elif dropping is not None:
            depth = len(line) - len(line.lstrip(" |"))
            if depth <= dropping:
                dropping = None
        if dropping is None:
            kept.append(line)
    return "\n".join(kept)


def traceback_in_words(traceback: str) -> str:
    """A traceback without the frames of the tool, paths as a person would write them."""
    lines = program_traceback(traceback).splitlines()
    if not any(FRAME_LINE.match(line) for line in lines):
        # Raised in the tool alone, for instance by a wrapped primitive: better all than nothing.
        lines = traceback.splitlines()
    return "\n".join(_shortened(line) for line in lines)


def _shortened(line: str) -> str:
    match = FRAME_LINE.match(line)
    return line if match is None else line.replace(match["file"], display_path(match["file"]), 1)
