"""A failure for other tools: each module turns one into the text of one format."""

from __future__ import annotations

from pathlib import Path

from bohrbug.report.formats.told import Told

FORMATS = ("trace-events", "sarif", "mermaid")
"""The names that the command line knows."""


def in_format(name: str, told: Told) -> str:
    """A failure as the text of a format; only then is what writes it loaded.

    Parameters:
        name: one of :data:`FORMATS`.
        told: the failure.
    """
    if name == "sarif":
        from bohrbug.report.formats.sarif import sarif

        return sarif([told], Path())
    if name == "mermaid":
        from bohrbug.report.formats.mermaid import mermaid

        return mermaid(told.failure, told.test)
    from bohrbug.report.formats.trace_events import trace_events

    return trace_events(told.failure, told.test)
