"""Prints stacks and tracebacks, without the frames of the tool."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.text import Text

from bohrbug.model.outcome import Frame
from bohrbug.report.frames import FRAME_LINE, program_frames, traceback_in_words
from bohrbug.report.naming import Names
from bohrbug.report.sources import source_line
from bohrbug.report.style import FAILED, QUIET, Paper

_MOST_FRAMES = 12

_MARKS = re.compile(r"[ |]*[~^][ ~^]*")
"""What Python prints below a source line, to show a part of it."""


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


def draw_traceback(paper: Paper, traceback: str) -> None:
    """Print a traceback with its last line set off."""
    is_broken = False
    for line in traceback_in_words(traceback).splitlines():
        if is_broken and _MARKS.fullmatch(line):
            # Below a line that goes on in the next one they are not where they belong.
            continue
        if FRAME_LINE.match(line):
            text = paper.text(line, QUIET)
        elif line and line[0] not in " |+" and not line.startswith("Traceback "):
            text = paper.text(line, FAILED)
        else:
            text = paper.text(line)
        parts = paper.wrap(text, paper.width - 2) if line.strip() else [Text()]
        is_broken = len(parts) > 1
        for part in parts:
            paper.put(Text("  ") + part)
