"""Hooks of the plugin."""

from __future__ import annotations

from typing import Any

import pytest


def pytest_bohrbug_replayed(replayed: Any) -> None:
    """A test was replayed.

    Parameters:
        replayed: a :class:`bohrbug.exploration.replaying.Replay`.
    """


@pytest.hookspec(firstresult=True)
def pytest_bohrbug_replaying(test: Any, uncaptured: Any) -> Any:
    """A test is about to be replayed; a result that is true takes the place of the replay.

    Parameters:
        test: executes it once when it is called.
        uncaptured: makes a context manager within which nothing is captured.
    """
