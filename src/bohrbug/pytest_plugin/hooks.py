"""Hooks of the plugin."""

from __future__ import annotations

from typing import Any


def pytest_bohrbug_replayed(replayed: Any) -> None:
    """A test was replayed.

    Parameters:
        replayed: a :class:`bohrbug.exploration.replaying.Replay`.
    """
