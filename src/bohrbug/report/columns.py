"""Draws the schedule: one column per task, or one column with the task in a gutter."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from bohrbug.model.operation import SLEEP, TaskId
from bohrbug.report.naming import Names
from bohrbug.report.schedule import (
    TIMEOUT,
    End,
    Folded,
    Line,
    Preempted,
    Row,
    Schedule,
    Timeout,
    Waits,
)
from bohrbug.report.style import FAILED, HEADING, QUIET, WARNED, Paper

MOST_COLUMNS = 5
NARROWEST_COLUMN = 24
_INDENT = 2
_GAP = 2
_WIDEST_PLACE = 26
_MOST_IN_PIECES = 0.25
"""Share of the rows that columns may break; beyond it one column reads better."""


def draw_schedule(paper: Paper, schedule: Schedule, names: Names) -> None:
    """Print a schedule in columns if they fit, otherwise with the task in a gutter."""
    if not schedule.rows:
        return
    layout = _Layout(paper, schedule, names)
    if layout.columns:
        layout.draw_columns()
    else:
        layout.draw_gutter()


def wrapped_source(source: Text, width: int) -> list[Text]:
    """A source line in lines of at most ``width`` characters, broken where code may be broken.

    That is at a space, after an opening bracket or a comma, or before a member's name; within a
    name only if there is no such place in the last two thirds of a line.
    """
    lines: list[Text] = []
    while len(source) > width:
        head = source.plain[: width + 2]
        cut = max(
            (at for at in range(width // 3, width + 1) if _may_break(head, at)), default=width
        )
        line, source = source[:cut], source[cut:]
        line.rstrip()
        lines.append(line)
        if source.plain.startswith(" "):
            source = source[len(source) - len(source.plain.lstrip()) :]
    return [*lines, source] if source.plain or not lines else lines


def _may_break(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    is_member = (text[at] == "." and text[at + 1 : at + 2].isidentifier()) or text[at:].startswith(
        "->"
    )
    return text[at - 1] in " ([{," or text[at] == " " or is_member


def _place(row: Row) -> str:
    return "" if isinstance(row, Folded | Preempted) else row.place


def preempted_words(row: Preempted, with_place: bool = True) -> str:
    """Who was preempted, and before what: ``0.1 preempted before write Account.balance``."""
    at = f" at {row.place}," if row.place and with_place else ""
    if row.late:
        return f"{row.task} late{at.rstrip(',')}"
    return f"{row.task} preempted{at} before {row.before}"


def timeout_words(what: str, early: bool) -> str:
    """That a timeout or a sleep ends: ``wait Event ready times out early``."""
    verb = "ends" if what == SLEEP.name else "fires" if what == TIMEOUT else "times out"
    return f"{what} {verb}{' early' if early else ''}"


class _Layout:
    def __init__(self, paper: Paper, schedule: Schedule, names: Names) -> None:
        self.paper = paper
        self.schedule = schedule
        self.names = names
        self.place_width = min(
            max((len(_place(row)) for row in schedule.rows), default=0), _WIDEST_PLACE
        )
        # Where the words go, if they are beside the source lines of a task.
        self.sources: dict[TaskId, int] = {}
        self.columns = self._column_widths()

    # -- one column per task -----------------------------------------------------

    def _column_widths(self) -> dict[TaskId, int]:
        """The width of each task's column; empty if columns don't fit."""
        tasks = self.schedule.tasks
        if not tasks or len(tasks) > MOST_COLUMNS:
            return {}
        room = self.paper.width - _INDENT - self.place_width - _GAP * len(tasks)
        if room < NARROWEST_COLUMN * len(tasks):
            return {}
        wishes = {task: self._wish(task, beside=False) for task in tasks}
        widths: dict[TaskId, int] = {}
        # Narrow columns get what they want, the others share the rest evenly.
        for left, task in zip(
            range(len(tasks), 0, -1), sorted(tasks, key=wishes.__getitem__), strict=True
        ):
            widths[task] = min(wishes[task], room // left)
            room -= widths[task]
        # The rest lets the words of a task go beside its source lines.
        missing = {task: max(self._wish(task, beside=True) - widths[task], 0) for task in tasks}
        for task in sorted(tasks, key=missing.__getitem__):
            if missing[task] <= room:
                self.sources[task] = self._widest_source(task)
                widths[task] += missing[task]
                room -= missing[task]
        shown = [row for row in self.schedule.rows if isinstance(row, Line | Waits | Timeout)]
        in_pieces = sum(self._is_in_pieces(row, widths[row.task] - 1) for row in shown)
        if in_pieces > len(shown) * _MOST_IN_PIECES:
            return {}
        return {task: widths[task] for task in tasks}

    def _is_in_pieces(self, row: Line | Waits | Timeout, width: int) -> bool:
        """Whether this width breaks the source line, or its words into more than two lines."""
        indent = _INDENT if row.source else 0
        return len(row.source) > width or len(self._words(row)[0]) > 2 * (width - indent)

    def _widest_source(self, task: TaskId | None = None) -> int:
        """Cells of the longest source line of a task, or of all."""
        return max(
            (
                len(row.source)
                for row in self.schedule.rows
                if isinstance(row, Line | Waits | Timeout) and task in (None, row.task)
            ),
            default=0,
        )

    def _widest_words(self, task: TaskId) -> int:
        return max(
            (
                len(self._words(row)[0])
                for row in self.schedule.rows
                if isinstance(row, Line | Waits | Timeout) and row.task == task
            ),
            default=0,
        )

    def _wish(self, task: TaskId, beside: bool) -> int:
        """The width at which nothing of a task wraps, its words beside or below the source."""
        header = max(len(header) for header in self._headers(task))
        source, words = self._widest_source(task), self._widest_words(task)
        if beside:
            return max(header, source + 2 + words) + 1
        return min(max(header, source, words + _INDENT), 80) + 1

    def _words(self, row: Line | Waits | Timeout) -> tuple[str, str]:
        """What the tool says about a row, and the style to say it in."""
        if isinstance(row, Line):
            words = f"{self.paper.glyphs.dash} {', '.join(row.operations)}"
            return words, "bold" if row.conflicting else QUIET
        if isinstance(row, Waits):
            words = f"{self.paper.glyphs.dash} {row.what}"
            if row.for_ever:
                return f"{words} for ever", FAILED
            return words, f"{QUIET} italic"
        style = WARNED if row.essential else "yellow"
        return f"{self.paper.glyphs.timeout} {timeout_words(row.what, row.early)}", style

    def _headers(self, task: TaskId) -> list[str]:
        name = self.names.thread_name(task)
        target = self.names.target(task)
        return [f"{task} {name}".rstrip(), target if target != name else ""]

    def draw_columns(self) -> None:
        paper = self.paper
        tasks = self.schedule.tasks
        headers = {task: self._headers(task) for task in tasks}
        for number in (0, 1):
            cells = {
                task: paper.text(
                    headers[task][number], f"{HEADING if not number else ''} {paper.style_of(task)}"
                )
                for task in tasks
            }
            if any(cell.plain for cell in cells.values()):
                paper.put(self._assemble("", cells))
        rules = {
            task: Text(paper.glyphs.light_rule * (width - 1), style=QUIET)
            for task, width in self.columns.items()
        }
        paper.put(self._assemble(paper.glyphs.light_rule * self.place_width, rules))
        for row in self.schedule.rows:
            if isinstance(row, Folded):
                self._spanning(self._folded(row), QUIET)
            elif isinstance(row, Preempted):
                self._preempted(row)
            elif isinstance(row, End):
                self._end(row)
            else:
                width = self.columns[row.task]
                for number, line in enumerate(self._cell(row, width - 1)):
                    paper.put(self._assemble("" if number else row.place, {row.task: line}))

    def _assemble(self, place: str, cells: dict[TaskId, Text], style: str = QUIET) -> Text:
        """One printed line: the place, and the cell of each task."""
        paper = self.paper
        line = Text(" " * _INDENT)
        shown = paper.text(place)
        if shown.cell_len > self.place_width:
            shown = Text(paper.glyphs.ellipsis) + shown[-(self.place_width - 1) :]
        shown.stylize(style)
        line.append_text(shown)
        line.append(" " * (self.place_width - shown.cell_len))
        at = _INDENT + self.place_width
        for task, width in self.columns.items():
            at += _GAP
            if task in cells and cells[task].plain:
                line.append(" " * (at - line.cell_len))
                line.append_text(cells[task])
            at += width
        return line

    def _spanning(self, words: str, style: str) -> None:
        indent = _INDENT + self.place_width + _GAP
        paper = self.paper
        sign = Text(f"{paper.glyphs.folded:>{self.place_width + _INDENT}}  ", style=QUIET)
        for number, line in enumerate(paper.wrap(paper.text(words, style), paper.width - indent)):
            paper.put((Text(" " * indent) if number else sign) + line)

    def _folded(self, row: Folded) -> str:
        if row.rounds:
            return f"{row.count:,} more steps: the ones below, {row.rounds:,} times"
        steps = f"{row.count:,} more step{'s' if row.count != 1 else ''}"
        who = f"{len(row.tasks)} tasks" if len(row.tasks) > 4 else ", ".join(row.tasks)
        return f"{steps} of {who}" + (f" ({row.place})" if row.place else "")

    def _preempted(self, row: Preempted) -> None:
        """A line across all columns, with the words in the column of the preempted task."""
        paper = self.paper
        glyphs = paper.glyphs
        style = WARNED if row.essential else "yellow"
        words = f" {glyphs.preempted} {preempted_words(row)} "
        start = _INDENT + self.place_width + _GAP
        total = sum(self.columns.values()) + _GAP * (len(self.columns) - 1) - 1
        total = min(max(total, len(words) + 4), paper.width - start)
        if len(words) > total:
            words = f" {glyphs.preempted} {preempted_words(row, with_place=False)} "
        offset = 0
        for task, width in self.columns.items():
            if task == row.task:
                break
            offset += width + _GAP
        text = paper.crop(paper.text(words), total)
        offset = max(min(offset, total - text.cell_len), 0)
        rest = total - offset - text.cell_len
        line = Text(" " * start)
        line.append(glyphs.dots * offset, style=style)
        line.append(text.plain, style=style)
        line.append(glyphs.dots * rest, style=style)
        paper.put(line)

    def _end(self, row: End) -> None:
        paper = self.paper
        message = paper.text(f"{paper.glyphs.failed} {row.message}", FAILED)
        if row.task in self.columns and row.task is not None:
            width = self.columns[row.task]
            lines = list(paper.wrap(paper.text(row.source), width - 1)) if row.source else []
            room = paper.width - self._start_of(row.task)
            lines += paper.wrap(message, max(room, 20))[:4]
            for number, line in enumerate(lines):
                paper.put(self._assemble("" if number else row.place, {row.task: line}))
        else:
            indent = _INDENT + self.place_width + _GAP
            for line in paper.wrap(message, paper.width - indent)[:4]:
                paper.put(Text(" " * indent) + line)

    def _start_of(self, task: TaskId) -> int:
        at = _INDENT + self.place_width
        for other, width in self.columns.items():
            at += _GAP
            if other == task:
                break
            at += width
        return at

    # -- what a task does, in one cell ----------------------------------------------

    def _cell(self, row: Line | Waits | Timeout, width: int) -> list[Text]:
        """The source line, and what the tool says about it, wrapped to a width."""
        paper = self.paper
        source = paper.text(row.source)
        words = paper.text(*self._words(row))
        if isinstance(row, Waits):
            source.stylize(QUIET)
        elif isinstance(row, Line) and row.conflicting:
            source.stylize("bold")
        if not source.plain:
            return list(paper.wrap(words, width))
        lines = list(self._source(source, width))
        aligned = max(self.sources.get(row.task, 0), source.cell_len)
        beside = source + Text(" " * (aligned - source.cell_len + 2)) + words
        if len(lines) == 1 and beside.cell_len <= width:
            return [beside]
        lines.extend(Text("  ") + line for line in paper.wrap(words, width - 2))
        return lines

    def _source(self, source: Text, width: int) -> Sequence[Text]:
        """A source line in at most three lines, those after the first indented."""
        if source.cell_len <= width:
            return [source]
        is_wide = source.cell_len != len(source)
        wrap = self.paper.wrap if is_wide else wrapped_source
        lines = list(wrap(source, width - _INDENT))
        if len(lines) > 3:
            ellipsis = Text(self.paper.glyphs.ellipsis, style=QUIET)
            lines = [*lines[:2], lines[2][: width - _INDENT - len(ellipsis)] + ellipsis]
        return [lines[0], *(Text(" " * _INDENT) + line for line in lines[1:])]

    # -- one column, with the task in a gutter ------------------------------------------

    def draw_gutter(self) -> None:
        paper = self.paper
        tasks = self.schedule.tasks
        gutter = max([len(task) for task in tasks] or [1])
        self._draw_tasks(gutter)
        indent = _INDENT + gutter + 3 + self.place_width + 2
        narrow = paper.width - indent < 30
        if narrow:
            indent = _INDENT + gutter + 5
        width = paper.width - indent
        self.sources = dict.fromkeys(tasks, self._aligned(width))
        paper.put(
            Text(" " * _INDENT + paper.glyphs.light_rule * (paper.width - _INDENT), style=QUIET)
        )
        shown: TaskId | None = None
        for row in self.schedule.rows:
            if isinstance(row, Folded):
                shown = None
                sign = f"{paper.glyphs.folded:<{gutter}}"
                text = Text(f"{' ' * _INDENT}{sign} {paper.glyphs.bar} ", style=QUIET)
                paper.put(text + paper.text(self._folded(row), QUIET))
                continue
            if isinstance(row, Preempted):
                self._preempted_in_gutter(row)
                shown = None
                continue
            for number, cell in enumerate(self._cells_in_gutter(row, width, narrow)):
                line = Text(" " * _INDENT)
                fresh = number == 0 and row.task != shown
                style = paper.style_of(row.task) if fresh else QUIET
                line.append(f"{row.task or '':<{gutter}} ", style=style)
                line.append(f"{paper.glyphs.bar} ", style=paper.style_of(row.task))
                place = paper.glyphs.clean(row.place) if number == 0 else ""
                line.append("  " if narrow else f"{place:<{self.place_width}}  ", style=QUIET)
                paper.put(line + cell)
            shown = row.task

    def _aligned(self, width: int) -> int:
        """Where words can be aligned, except after longer source lines."""
        cells = [
            (len(row.source), len(self._words(row)[0]) + 2)
            for row in self.schedule.rows
            if isinstance(row, Line | Waits | Timeout) and row.source
        ]
        fitting = [(source, words) for source, words in cells if source + words <= width]
        for aligned in sorted({source for source, _ in fitting}, reverse=True):
            if all(aligned + words <= width for source, words in fitting if source <= aligned):
                return aligned
        return 0

    def _draw_tasks(self, gutter: int) -> None:
        """Name the tasks: a line for each of the first ones."""
        paper = self.paper
        tasks = self.schedule.tasks
        for task in tasks[:12]:
            names = dict.fromkeys((self.names.thread_name(task), self.names.target(task)))
            line = paper.text(f"{task:<{gutter}} ", paper.style_of(task))
            line.append_text(paper.text(", ".join(filter(None, names))))
            paper.paragraph(line, indent=_INDENT)
        if len(tasks) > 12:
            paper.paragraph(paper.text(f"and {len(tasks) - 12} more tasks", QUIET))

    def _cells_in_gutter(
        self, row: Line | Waits | Timeout | End, width: int, narrow: bool
    ) -> list[Text]:
        """The lines of a row; if there is little room, its place is one of them."""
        paper = self.paper
        if isinstance(row, End):
            message = paper.text(f"{paper.glyphs.failed} {row.message}", FAILED)
            cells = [*paper.wrap(message, width)[:4]]
            if row.source:
                cells = [*self._source(paper.text(row.source), width), *cells]
        else:
            cells = self._cell(row, width)
        if narrow and row.place:
            cells = [paper.crop(paper.text(row.place, QUIET), width), *cells]
        return cells

    def _preempted_in_gutter(self, row: Preempted) -> None:
        paper = self.paper
        glyphs = paper.glyphs
        style = WARNED if row.essential else "yellow"
        words = f"{glyphs.dots * 2} {glyphs.preempted} {preempted_words(row)} "
        room = paper.width - _INDENT
        if len(words) > room:
            words = f"{glyphs.dots * 2} {glyphs.preempted} {preempted_words(row, False)} "
        text = paper.crop(paper.text(words), room)
        text.append(glyphs.dots * (room - text.cell_len))
        text.stylize(style)
        paper.put(Text(" " * _INDENT) + text)
