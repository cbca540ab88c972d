"""Bohrbug: finds the interleavings that break a concurrent program, and replays them."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from bohrbug_entry.refusing import check_import

check_import()

if TYPE_CHECKING:
    from bohrbug.api import BohrbugFailure, choose, explore, explored
    from bohrbug.exploration.progress import Progress
    from bohrbug.exploration.result import Failure, Interpreter, Result, Verdict, VerdictKind
    from bohrbug.model.outcome import Outcome, OutcomeKind
    from bohrbug.runtime.channels.desynchronisation import DesynchronisationError
    from bohrbug.runtime.channels.programs import record, replay_messages

__version__ = "0.1.0"

__all__ = [
    "BohrbugFailure",
    "DesynchronisationError",
    "Failure",
    "Interpreter",
    "Outcome",
    "OutcomeKind",
    "Progress",
    "Result",
    "Verdict",
    "VerdictKind",
    "choose",
    "explore",
    "explored",
    "record",
    "replay_messages",
]

_HOMES = {
    "BohrbugFailure": "bohrbug.api",
    "choose": "bohrbug.api",
    "explore": "bohrbug.api",
    "explored": "bohrbug.api",
    "DesynchronisationError": "bohrbug.runtime.channels.desynchronisation",
    "record": "bohrbug.runtime.channels.programs",
    "replay_messages": "bohrbug.runtime.channels.programs",
    "Failure": "bohrbug.exploration.result",
    "Interpreter": "bohrbug.exploration.result",
    "Outcome": "bohrbug.model.outcome",
    "OutcomeKind": "bohrbug.model.outcome",
    "Progress": "bohrbug.exploration.progress",
    "Result": "bohrbug.exploration.result",
    "Verdict": "bohrbug.exploration.result",
    "VerdictKind": "bohrbug.exploration.result",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that the pytest plugin costs nothing unless asked for.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    # What is not loaded yet, too, for those who type. Not beside pytest: there freezegun, say, asks
    # each module for all that it has, and would load all of Bohrbug with each suite that uses it.
    is_plugin = f"{__name__}.pytest_plugin" in sys.modules
    return sorted({*globals(), *(() if is_plugin else __all__)})
