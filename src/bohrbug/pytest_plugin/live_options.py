"""Options of pytest for live rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bohrbug.live.options import LiveOptions

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


def live_settings(config: pytest.Config) -> LiveOptions | None:
    """How rounds are made; ``None``: tests are not run live.

    Raises:
        pytest.UsageError: an option makes no sense, or there can be no rounds here.
    """
    if not config.getoption("bohrbug_live"):
        return None
    # Few sessions need it.
    from bohrbug.live.copies import CannotHoldBack, check
    from bohrbug.live.options import LiveOptions

    if config.getoption("bohrbug") or config.getoption("bohrbug_replay"):
        raise pytest.UsageError(
            "bohrbug: with --bohrbug-live tests are run once, and neither explored nor replayed"
        )
    given = {name: config.getoption(f"bohrbug_live_{name}") for name, *_ in NUMBERS}
    try:
        settings = LiveOptions(**{k: v for k, v in given.items() if v is not None})
        check()
    except (ValueError, CannotHoldBack) as error:
        raise pytest.UsageError(f"bohrbug: {error}") from error
    return settings
