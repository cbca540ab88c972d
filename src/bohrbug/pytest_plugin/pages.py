"""HTML reports of a session: a page for each test that failed, and an index of all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bohrbug.exploration.progress import Progress, TellProgress
from bohrbug.exploration.reproduction import stem_of
from bohrbug.exploration.result import Failure, Result, VerdictKind
from bohrbug.exploration.sights import Sights
from bohrbug.report.html.document import Index, IndexRow
from bohrbug.report.html.making import result_document
from bohrbug.report.html.page import write_page
from bohrbug.report.wording import plural, seconds_in_words

INDEX = "index.html"
NOT_EXPLORED = "not explored"

Look = Callable[[Failure], Sights | None]


@dataclass(slots=True)
class TestPage:
    """The page of one test.

    Parameters:
        folder: to write to.
        history: how far the exploration had come, time after time.
    """

    __test__ = False

    folder: Path
    history: list[Progress] = field(default_factory=list)

    def following(self, tell: TellProgress) -> TellProgress:
        """What is told of the progress, noted."""

        def noted(progress: Progress) -> None:
            self.history.append(progress)
            tell(progress)

        return noted

    def write(self, result: Result, look: Look, printed: str) -> str:
        """Write the page, if there is a failure to look at; returns the name of the file.

        Parameters:
            result: of the exploration.
            look: replays a failure once more, for what is in sight at its steps.
            printed: by the failing execution.

        Raises:
            OSError: it can't be written.
        """
        if not result.reproducible:
            return ""
        # The first one last: what is reported beside the page is of the last replay.
        sights = [look(each) if each.confirmed else None for each in reversed(result.reproducible)]
        document = result_document(result, self.history, sights[::-1], printed, INDEX)
        digest = hashlib.sha256(result.test.encode("utf-8", "replace")).hexdigest()[:8]
        name = f"{stem_of(result.test)}-{digest}.html"
        write_page(document, self.folder / name)
        return name


class SessionIndex:
    """The page that lists the tests of a session.

    Parameters:
        folder: to write to.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: dict[str, IndexRow] = {}
        self._unchanged: set[str] = set()

    def add(self, test: str, data: dict[str, Any]) -> None:
        """Take note of the report of a test.

        Parameters:
            test: its name.
            data: what the summary is told.
        """
        if "plain" in data:
            row = IndexRow(test, NOT_EXPLORED, data["plain"], "", 0, 0.0, 0)
        elif "line" in data:
            line = data["line"]
            if "unchanged" in data:
                self._unchanged.add(test)
                line += f"; unchanged since {data['unchanged']}, and not explored again"
            row = IndexRow(
                test,
                data["verdict"],
                line,
                data.get("page", ""),
                data["executions"],
                round(data["seconds"], 3),
                data["tasks"],
            )
        else:
            return
        self._rows[test] = row

    def write(self) -> str:
        """Write it; what to say of it."""
        rows = list(self._rows.values())
        path = self._folder / INDEX
        try:
            write_page(Index("Tests explored", rows, self._summary(rows)), path)
        except OSError as error:
            return f"no HTML report was written: {path}: {error.strerror or error}"
        return f"HTML report: {path}"

    def _summary(self, rows: Sequence[IndexRow]) -> str:
        known = [row for row in rows if row.verdict != NOT_EXPLORED]
        explored = [row for row in known if row.test not in self._unchanged]
        executions = plural(sum(row.executions for row in explored), "execution")
        seconds = seconds_in_words(sum(row.seconds for row in explored))
        parts = [f"{plural(len(explored), 'test')} explored: {executions} in {seconds}"]
        if len(explored) < len(known):
            parts.append(f"{len(known) - len(explored):,} unchanged, and not explored again")
        failed = sum(row.verdict == VerdictKind.FAILED.value for row in rows)
        if failed:
            parts.append(f"{failed:,} failed")
        return "; ".join(parts)
