"""The documents of explorations and of single failures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from bohrbug.exploration.progress import Progress
from bohrbug.exploration.result import Failure, Result
from bohrbug.exploration.sights import Sights
from bohrbug.report.html.document import Document
from bohrbug.report.html.explored import explored_of
from bohrbug.report.html.failure import failure_page


def result_document(
    result: Result,
    history: Sequence[Progress] = (),
    sights: Sequence[Sights | None] = (),
    printed: str = "",
    index: str = "",
) -> Document:
    """The document of an exploration: all failures, and what was explored.

    Parameters:
        result: of the exploration.
        history: how far it had come, time after time.
        sights: of the failures that count and then of the untimely ones, as far as there are any.
        printed: by the failing execution.
        index: the page of all tests, relative to this one.
    """
    pages = []
    for number, failure in enumerate(result.reproducible):
        counted = number < len(result.failures)
        pages.append(
            failure_page(
                failure,
                commands=commands_for(failure),
                executions=result.executions if counted else None,
                seconds=result.seconds if counted else None,
                sights=sights[number] if number < len(sights) else None,
                printed=printed if counted else "",
                counted=counted,
            )
        )
    return Document(result.test, pages, explored_of(result, history), index=index)


def failure_document(
    failure: Failure,
    test: str,
    *,
    sights: Sights | None = None,
    printed: str = "",
    notes: Sequence[str] = (),
) -> Document:
    """The document of one failure, such as of a file.

    Parameters:
        failure: the failure.
        test: the name of the test.
        sights: what a replay has seen at the steps.
        printed: by the failing execution.
        notes: such as what a replay gave.
    """
    page = failure_page(failure, commands=commands_for(failure), sights=sights, printed=printed)
    return Document(test, [page], notes=[note for note in notes if note])


def commands_for(failure: Failure) -> list[str]:
    """The command that replays a failure, if it was written to a file."""
    path = failure.reproduction
    return [] if path is None else [f"bohrbug replay {shlex.quote(str(path))}"]
