"""Imported and reloaded by tests, in their tasks."""

from __future__ import annotations

from typing import Any


def add(state: Any) -> None:
    with state.guard:
        state.calls += 1
