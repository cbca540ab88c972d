"""The tables of a document: each file, place and task once, named by its index."""

from __future__ import annotations

import linecache
from collections.abc import Iterable

from bohrbug.model.operation import Site, TaskId
from bohrbug.paths import display_path, is_library_file
from bohrbug.report.html.document import NOWHERE, SourceFile, Task
from bohrbug.report.naming import Names

WHOLE_FILE_LINES = 240
"""Files of at most so many lines are shown as a whole."""
AROUND = 20
"""Of longer files so many lines around each place are shown, and of libraries:"""
AROUND_IN_LIBRARY = 6
LONGEST_LINE = 400
"""Characters of a line that are shown; generated code has longer ones."""


class Tables:
    """Numbers for tasks, files and places, in the order in which they are asked for.

    Parameters:
        names: what to call things.
        tasks: in the order in which the report has them.
    """

    def __init__(self, names: Names, tasks: Iterable[TaskId]) -> None:
        self._names = names
        self._tasks: dict[TaskId, int] = {}
        self._files: dict[str, int] = {}
        self._places: dict[tuple[str, int, str], int] = {}
        self._sites: list[Site] = []
        for task in tasks:
            self.task(task)

    def task(self, task: TaskId) -> int:
        """The index of a task."""
        return self._tasks.setdefault(task, len(self._tasks))

    def place(self, site: Site | None) -> int:
        """The index of a place; columns do not count."""
        if site is None:
            return NOWHERE
        key = (site.filename, site.line, site.function)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = len(self._sites)
            self._sites.append(site)
            self._files.setdefault(site.filename, len(self._files))
        return found

    def tasks(self) -> list[Task]:
        """All tasks asked for."""
        names = self._names
        return [Task(id, names.thread_name(id), names.target(id)) for id in self._tasks]

    def places(self) -> list[tuple[int, int, str, str]]:
        """File, line, function and name of each place."""
        return [
            (
                self._files[site.filename],
                site.line,
                site.function.rpartition("<locals>.")[2],
                self._names.place(site),
            )
            for site in self._sites
        ]

    def files(self) -> list[SourceFile]:
        """The files, with the lines around all places."""
        lines: dict[str, set[int]] = {filename: set() for filename in self._files}
        for site in self._sites:
            lines[site.filename].add(site.line)
        return [self._file(filename, lines[filename]) for filename in self._files]

    def _file(self, filename: str, mentioned: set[int]) -> SourceFile:
        site = Site(filename, 1, "?")
        is_library = is_library_file(filename)
        return SourceFile(
            self._names.place(site).rpartition(":")[0] or display_path(filename),
            display_path(filename),
            _parts(linecache.getlines(filename), mentioned, is_library),
            is_library,
        )


def _parts(text: list[str], mentioned: set[int], is_library: bool) -> list[tuple[int, list[str]]]:
    """The whole text, or what is around the lines mentioned."""
    around = AROUND_IN_LIBRARY if is_library else AROUND
    if len(text) <= WHOLE_FILE_LINES and not is_library:
        shown = set(range(1, len(text) + 1))
    else:
        shown = {
            near
            for line in mentioned
            for near in range(max(1, line - around), min(len(text), line + around) + 1)
        }
    parts: list[tuple[int, list[str]]] = []
    previous = 0
    for number in sorted(shown):
        line = text[number - 1].rstrip("\r\n").expandtabs(4)
        if len(line) > LONGEST_LINE:
            line = f"{line[:LONGEST_LINE]}…"
        if number != previous + 1 or not parts:
            parts.append((number, []))
        parts[-1][1].append(line)
        previous = number
    return parts
