"""What GitHub Actions shows of failures: annotations at lines, and a summary of the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bohrbug.report.cause import cause_in_words
from bohrbug.report.formats.mermaid import mermaid
from bohrbug.report.formats.sarif import location_of
from bohrbug.report.formats.told import Told
from bohrbug.report.headline import failure_headline
from bohrbug.report.naming import Names

MOST_ANNOTATIONS = 10
"""GitHub shows no more of one step."""


def annotated_lines(told: Sequence[Told], root: Path) -> list[str]:
    """Workflow commands that annotate the lines of some failures.

    Parameters:
        told: the failures.
        root: of the repository, to which paths are relative.
    """
    lines = []
    for each in told[:MOST_ANNOTATIONS]:
        site = location_of(each.failure)
        properties = {"title": f"Bohrbug: {each.test}"}
        if site is not None and site.line:
            path = Path(site.filename)
            inside = path.is_absolute() and path.is_relative_to(root.resolve())
            file = path.relative_to(root.resolve()).as_posix() if inside else str(path)
            properties |= {"file": file, "line": str(site.line)}
        text = failure_headline(each.failure.outcome)
        if each.replay:
            text += f"\n{each.replay}"
        listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        lines.append(f"::error {listed}::{_data(text)}")
    return lines


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(told: Sequence[Told], verdicts: Mapping[str, int]) -> str:
    """The summary of a job, in Markdown.

    Parameters:
        told: the failures.
        verdicts: how many tests have got each verdict.
    """
    counts = " · ".join(f"{count:,} {verdict}" for verdict, count in verdicts.items() if count)
    parts = [f"## Bohrbug\n\n{counts}\n"]
    for each in told[:MOST_ANNOTATIONS]:
        failure = each.failure
        parts.append(f"### {_code(each.test)}\n\n{_code(failure_headline(failure.outcome))}\n")
        if failure.cause is not None:
            words = cause_in_words(failure.cause, failure.trace, Names(failure.trace))
            parts.append(f"{_text(words)}\n")
        parts.append(f"```mermaid\n{mermaid(failure)}```\n")
        if each.replay:
            parts.append(f"```sh\n{each.replay}\n```\n")
    if len(told) > MOST_ANNOTATIONS:
        parts.append(f"and {len(told) - MOST_ANNOTATIONS} more failures\n")
    return "\n".join(parts)


def _code(text: str) -> str:
    """Text as it is: between more backticks in a row than it has itself."""
    line = " ".join(text.split())
    fence = "`"
    while fence in line:
        fence += "`"
    return f"{fence} {line} {fence}" if "`" in line else f"`{line}`"


def _text(text: str) -> str:
    """Prose in which nothing is taken for Markdown or HTML."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#|~" else letter for letter in text)
