"""Styles of reports, and the small things that every part of a report prints with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from bohrbug.model.operation import TaskId
from bohrbug.report.glyphs import Glyphs, glyphs_for

FAILED = "bold red"
PASSED = "bold green"
WARNED = "bold yellow"
HEADING = "bold"
QUIET = "dim"
_TASK_STYLES = ("blue", "cyan", "magenta", "green", "yellow", "bright_red")
_MENTION = re.compile(r"\b[Tt]ask (0(?:\.\d+)*)")
_WIDEST_PROSE = 100
_PLACE = re.compile(r"[\w./\\-]+\.\w+:\d+")


class Paper:
    """What a report is written on: a console, its width, its signs, the colour of each task.

    Parameters:
        console: where to print to.
        tasks: the tasks of the report, in the order in which they get their colours.
    """

    def __init__(self, console: Console, tasks: Iterable[TaskId] = ()) -> None:
        self.console = console
        self.width = max(console.width, 40)
        self.glyphs: Glyphs = glyphs_for(console.encoding)
        self._styles = {
            task: _TASK_STYLES[number % len(_TASK_STYLES)] for number, task in enumerate(tasks)
        }

    def style_of(self, task: TaskId | None) -> str:
        """The colour of a task."""
        return self._styles.get(task, "default") if task is not None else "default"

    def text(self, words: str, style: str = "") -> Text:
        """Words of a report or of the program, safe to print here."""
        return Text(self.glyphs.clean(words), style=style)

    def prose(self, words: str, style: str = "") -> Text:
        """A sentence in which tasks have their colours and places are set off."""
        text = self.text(words, style)
        for match in _PLACE.finditer(text.plain):
            text.stylize("bold", *match.span())
        for match in _MENTION.finditer(text.plain):
            if match[1] in self._styles:
                text.stylize(self.style_of(match[1]), *match.span())
        return text

    def put(self, *lines: Text, whole: bool = False) -> None:
        """Print lines, cut at the right edge unless they are to be shown as a ``whole``."""
        for line in lines:
            line.rstrip()
            self.console.print(
                line if whole else self.crop(line, self.width),
                soft_wrap=True,
                highlight=False,
                markup=False,
                emoji=False,
                no_wrap=True,
            )

    def gap(self) -> None:
        """An empty line."""
        self.put(Text())

    def paragraph(self, text: Text, indent: int = 2, hanging: int | None = None) -> None:
        """Text wrapped at words.

        Parameters:
            text: what to print.
            indent: cells before each line.
            hanging: cells before each line but the first; as ``indent`` if ``None``.
        """
        following = indent if hanging is None else hanging
        width = min(self.width, _WIDEST_PROSE) - max(indent, following)
        for number, line in enumerate(self.wrap(text, width)):
            self.put(Text(" " * (following if number else indent)) + line)

    def wrap(self, text: Text, width: int) -> Sequence[Text]:
        """The lines of a text, wrapped at words; each at most ``width`` cells."""
        lines = list(text.wrap(self.console, max(width, 8)))
        for line in lines:
            line.rstrip()
        return lines or [Text()]

    def heading(self, words: str) -> None:
        """The title of a part of the report."""
        self.gap()
        self.put(self.text(words, HEADING))

    def crop(self, text: Text, width: int) -> Text:
        """A text cut to ``width`` cells, with a sign that something is missing."""
        if text.cell_len <= width:
            return text
        sign = self.glyphs.ellipsis
        cut = text.copy()
        cut.truncate(max(width - cell_len(sign), 0))
        return cut + Text(sign, style=QUIET)
