"""Options of pytest for live rounds."""

from __future__ import annotations

from typing import Any

NUMBERS = (
    ("budget", float, "PERCENT", "how much of the time rounds may take"),
    ("window", int, "STEPS", "steps of a fragment"),
    ("fragments", int, "N", "fragments of a round"),
)
"""Name, type, what stands for the value, and help of those that are numbers."""


def add_live_options(group: Any) -> None:
    """Add them to a group of options."""
    group.addoption(
        "--bohrbug-live",
        action="store_true",
        help="run each test once, while copies of it try what could come next (live rounds)",
    )
    for name, kind, metavar, words in NUMBERS:
        group.addoption(
            f"--bohrbug-live-{name}",
            type=kind,
            metavar=metavar,
            help=f"with --bohrbug-live: {words}",
        )
