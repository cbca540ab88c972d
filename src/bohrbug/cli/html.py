"""Reports as HTML files: what ``--html FILE`` of the commands does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from bohrbug.exploration.progress import Progress, TellProgress
from bohrbug.exploration.result import Failure, Result
from bohrbug.exploration.sights import Sights
from bohrbug.paths import display_path

Look = Callable[[Failure], Sights | None]
"""Replays a failure once more, and returns what was in sight."""


def html_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flag for the file that the report is written to."""
    return click.option(
        "--html",
        "html",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Also write the report to FILE: one HTML page to step through.",
    )(command)


def write_html(document: Any, file: Path) -> bool:
    """Write a page, and say so; where that can't be done, say why.

    Returns:
        Whether it was written.
    """
    # Loaded only where a page is wanted.
    from bohrbug.report.html.page import write_page

    try:
        write_page(document, file)
    except OSError as error:
        click.echo(f"bohrbug: no report was written: {file}: {error.strerror or error}", err=True)
        return False
    click.echo(f"report: {display_path(str(file))}", err=True)
    return True


@dataclass(slots=True)
class ResultPage:
    """The page of an exploration.

    Parameters:
        file: to write to; ``None``: no page is wanted.
        history: how far the exploration had come, time after time.
        sights: of each failure, by its place in the result.
    """

    file: Path | None
    history: list[Progress] = field(default_factory=list)
    sights: list[Sights | None] = field(default_factory=list)

    def following(self, tell: TellProgress) -> TellProgress:
        """What is told of the progress, noted if a page is wanted."""
        if self.file is None:
            return tell

        def noted(progress: Progress) -> None:
            self.history.append(progress)
            tell(progress)

        return noted

    def look_at(self, failures: Sequence[Failure], look: Look) -> None:
        """Replay failures once more, if a page is wanted, for what is in sight at their steps."""
        if self.file is not None:
            self.sights = [look(failure) if failure.confirmed else None for failure in failures]

    def write(self, result: Result, printed: str) -> None:
        """Write the page if one is wanted.

        Parameters:
            result: of the exploration.
            printed: by the failing execution.
        """
        if self.file is None:
            return
        from bohrbug.report.html.making import result_document

        write_html(result_document(result, self.history, self.sights, printed), self.file)
