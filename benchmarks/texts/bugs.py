"""CHESS's table 3 from the list of real bugs: which were known, by kind."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

SOURCES = ("reported", "known failure, unknown cause", "reading the source", "exploring")
"""Where a bug is known from.  In CHESS's words the first is "known failure, known bug"; the last
two are "unknown failure, unknown bug"."""


@dataclass(frozen=True, slots=True)
class Bug:
    """A row of the list.

    Parameters:
        program: the library or module.
        kind: of the bug, without what stands in brackets.
        source: one of :data:`SOURCES`.
    """

    program: str
    kind: str
    source: str


def bugs_of(text: str) -> list[Bug]:
    """The bugs in ``docs/bugs.md``: the rows of each table that has kinds and sources."""
    bugs: list[Bug] = []
    columns: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = [cell.strip() for cell in cells]
        elif "source of the report" in columns and not line.startswith("|---"):
            row = dict(zip(columns, cells, strict=True))
            kind = re.sub(r" \(.*\)", "", row["kind"])
            program = row.get("library") or f"CPython, {row['module'].strip('`')}"
            bugs.append(Bug(program, kind, source_of(row["source of the report"])))
    return bugs


def source_of(said: str) -> str:
    """Which of :data:`SOURCES` the words of the list mean."""
    if "unknown cause" in said:
        return SOURCES[1]
    if "exploring" in said:
        return SOURCES[3]
    return SOURCES[2] if said == "reading the source" else SOURCES[0]


def table_of_bugs(text: str) -> str:
    """A row for each kind, a column for each source."""
    bugs = bugs_of(text)
    lines = [f"| kind | total | {' | '.join(SOURCES)} |", "|---|---|" + "---|" * len(SOURCES)]
    kinds = [kind for kind, _ in Counter(bug.kind for bug in bugs).most_common()]
    for kind in [*kinds, "**total**"]:
        own = [bug for bug in bugs if kind in (bug.kind, "**total**")]
        cells = [str(sum(bug.source == source for bug in own) or "") for source in SOURCES]
        lines.append(f"| {kind} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join(lines)
