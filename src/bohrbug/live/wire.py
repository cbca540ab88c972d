"""What a service and who attaches to it tell each other: lines of JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from bohrbug.exploration.reproduction import failure_from_json, failure_to_json
from bohrbug.live.figures import Figures
from bohrbug.live.harm import End
from bohrbug.live.options import LiveOptions
from bohrbug.live.result import LiveResult
from bohrbug.model.conditions import Level
from bohrbug.model.outcome import PASSED, Outcome, OutcomeKind

VERSION = 1

HISTORY = 2_000
"""Steps of a service that are kept: it can't be replayed anyway, and a report shows the last."""


class MessageKind(str, Enum):
    """What a message is about."""

    ATTACH = "attach"
    """To the service: rounds are wanted."""
    DETACH = "detach"
    """To the service: no more."""
    ATTACHED = "attached"
    """From it: they are made from now on."""
    REFUSED = "refused"
    """From it: they are not, and why."""
    FAILED = "failed"
    """From it: a failure."""
    OVER = "over"
    """From it: no more rounds are made, and what has come of them."""


@dataclass(frozen=True, slots=True)
class AttachRequest:
    """What is wanted of a service.

    Parameters:
        rounds: how rounds are made.
        level: which operations are scheduling points.
        scope: which functions are rewritten.
    """

    rounds: LiveOptions
    level: Level = Level.RACY
    scope: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """It as plain data."""
        return {
            "version": VERSION,
            "rounds": asdict(self.rounds),
            "level": self.level.value,
            "scope": list(self.scope),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> AttachRequest:
        """What :meth:`to_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is of another version of Bohrbug, or makes no sense.
        """
        if data["version"] != VERSION:
            raise ValueError("the command and the service have different versions of Bohrbug")
        rounds = LiveOptions(**{**data["rounds"], "history": HISTORY, "debug": False})
        return AttachRequest(rounds, Level(data["level"]), tuple(map(str, data["scope"])))


def encoded(kind: MessageKind, data: object = None) -> bytes:
    """A message.

    Parameters:
        kind: what it is about.
        data: plain data.
    """
    return json.dumps([kind.value, data]).encode("utf-8", "backslashreplace") + b"\n"


def decoded(message: bytes) -> tuple[MessageKind, Any]:
    """What :func:`encoded` was given.

    Raises:
        ValueError: it is no such message.
    """
    content = json.loads(message)
    if not isinstance(content, list) or len(content) != 2:
        raise ValueError("a message has two parts")
    return MessageKind(content[0]), content[1]


def result_to_json(result: LiveResult) -> dict[str, Any]:
    """What has come of rounds, as plain data."""
    figures = {**asdict(result.figures), "ends": {}}
    figures["ends"] = {end.value: count for end, count in result.figures.ends.items()}
    return {
        "interrupted": result.interrupted,
        "figures": figures,
        "seconds": result.seconds,
        "steps": result.steps,
        "failure": None if result.failure is None else failure_to_json(result.failure),
    }


def result_from_json(data: Mapping[str, Any]) -> LiveResult:
    """What :func:`result_to_json` was given.

    Raises:
        KeyError, TypeError, ValueError: it is damaged.
    """
    failure = None if data["failure"] is None else failure_from_json(data["failure"])
    given = data["figures"]
    figures = Figures(**given)
    figures.ends = Counter({End(value): count for value, count in given["ends"].items()})
    figures.unproved = [(what, task) for what, task in given["unproved"]]
    outcome = PASSED if failure is None else failure.outcome
    if failure is None and data["interrupted"]:
        outcome = Outcome(OutcomeKind.INTERRUPTED, "interrupted by the user")
    return LiveResult(outcome, figures, data["seconds"], data["steps"], failure, is_whole=False)
