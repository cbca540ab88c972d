"""A failure for other tools: each module turns one into the text of one format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bohrbug.report.formats.mermaid import mermaid
from bohrbug.report.formats.sarif import Told, sarif
from bohrbug.report.formats.trace_events import trace_events

FORMATS: Mapping[str, Callable[[Told], str]] = {
    "trace-events": lambda told: trace_events(told.failure, told.test),
    "sarif": lambda told: sarif([told], Path()),
    "mermaid": lambda told: mermaid(told.failure, told.test),
}
"""By the names that the command line knows."""
