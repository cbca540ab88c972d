"""The options for message logs; loaded by every pytest run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def add_message_options(group: pytest.OptionGroup) -> None:
    """Add the options for message logs."""
    group.addoption(
        "--bohrbug-record",
        metavar="DIR",
        help="record the order of messages of each test, natively, into a log in this folder",
    )
    group.addoption(
        "--bohrbug-record-only",
        choices=("pass", "fail"),
        help="with --bohrbug-record: keep only logs of tests that pass, or that fail",
    )
    group.addoption(
        "--bohrbug-replay-messages",
        metavar="DIR",
        help="enforce the recorded order of messages in each test that has a log in this folder",
    )
    group.addoption(
        "--bohrbug-messages-keep-going",
        action="store_true",
        help="with --bohrbug-replay-messages: after a difference follow the log where possible",
    )
    group.addoption(
        "--bohrbug-patience",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="with --bohrbug-replay-messages: without progress for so long, a wait never ends",
    )
