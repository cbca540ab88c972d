"""Stacks and tracebacks, without the frames of the tool."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.text import Text

from bohrbug.model.outcome import Frame
from bohrbug.paths import display_path, is_library_file
from bohrbug.report.naming import Names
from bohrbug.report.sources import is_threading_file, is_tool_file, source_line
from bohrbug.report.style import FAILED, QUIET, Paper

_FRAME = re.compile(r'^(?P<indent>[ |+-]*)File "(?P<file>.+)", line (?P<line>\d+)')
_MOST_FRAMES = 12


def program_frames(stack: Sequence[Frame]) -> list[Frame]:
    """The frames of the program: without ours, the test runner's and the thread's first ones."""
    frames = [frame for frame in stack if not is_tool_file(frame.site.filename)]
    while len(frames) > 1 and is_threading_file(frames[0].site.filename):
        del frames[0]
    return frames


def telling_frame(stack: Sequence[Frame]) -> Frame | None:
    """The frame that tells most: the innermost one outside libraries, else the innermost."""
    frames = program_frames(stack)
    own = [frame for frame in frames if not is_library_file(frame.site.filename)]
    return own[-1] if own else frames[-1] if frames else None


def draw_stack(paper: Paper, stack: Sequence[Frame], names: Names, indent: int = 4) -> None:
    """Print a stack, innermost frame last: the place, the function and the source line."""
    frames = program_frames(stack)
    cut = len(frames) - _MOST_FRAMES
    if cut > 0:
        paper.paragraph(paper.text(f"{cut} outer frames left out", QUIET), indent)
        frames = frames[cut:]
    places = [names.place(frame.site) for frame in frames]
    width = max((len(place) for place in places), default=0)
    functions = [frame.site.function.rpartition("<locals>.")[2] for frame in frames]
    function_width = min(max((len(name) for name in functions), default=0), 30)
    for frame, place, function in zip(frames, places, functions, strict=True):
        line = Text(" " * indent)
        line.append_text(paper.text(f"{place:<{width}}  ", QUIET))
        line.append_text(paper.text(f"{function:<{function_width}}  "))
        line.append_text(paper.text(frame.text.strip() or source_line(frame.site)))
        paper.put(line)


def program_traceback(traceback: str) -> str:
    """A traceback as Python prints it, without the frames of the tool and the test runner.

    A frame is its ``File`` line and the deeper indented lines behind it (the
    source, and the marks below it).
    """
    kept: list[str] = []
    dropping: int | None = None
    for line in traceback.splitlines():
        match = _FRAME.match(line)
        if match:
            outside = is_tool_file(match["file"]) or is_threading_file(match["file"])
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
    if not any(_FRAME.match(line) for line in lines):
        # Raised in the tool alone, for instance by a wrapped primitive: better all than nothing.
        lines = traceback.splitlines()
    return "\n".join(_shortened(line) for line in lines)


def _shortened(line: str) -> str:
    match = _FRAME.match(line)
    return line if match is None else line.replace(match["file"], display_path(match["file"]), 1)


def draw_traceback(paper: Paper, traceback: str) -> None:
    """Print a traceback with its last line set off."""
    for line in traceback_in_words(traceback).splitlines():
        if _FRAME.match(line):
            text = paper.text(line, QUIET)
        elif line and line[0] not in " |+" and not line.startswith("Traceback "):
            text = paper.text(line, FAILED)
        else:
            text = paper.text(line)
        for wrapped in paper.wrap(text, paper.width - 2) if line.strip() else [Text()]:
            paper.put(Text("  ") + wrapped)
