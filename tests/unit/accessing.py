"""What stands for a running execution in tests of what accesses data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bohrbug.monitors.races import RaceDetector
from bohrbug.runtime.threads.data.places import Place, PlaceSet
from bohrbug.runtime.threads.data.shadows import Shadow
from bohrbug.runtime.threads.data.sinks import WatchingSink
from bohrbug.runtime.threads.data.variables import Variables

CODE = compile("\n" * 11 + "x = y\n" * 30, "bank.py", "exec")
PLACE = (CODE, 4)


@dataclass
class Task:
    index: int
    id: str


ROOT, FIRST, SECOND = Task(0, "0"), Task(1, "0.1"), Task(2, "0.2")


@dataclass
class Execution:
    current: Task = field(default_factory=lambda: ROOT)


class Account:
    """Something with attributes."""


class Watched:
    """A detector, variables and the sink, for three tasks."""

    def __init__(self, execution: Execution, points: PlaceSet | None = None) -> None:
        self.points: list[tuple[Place, Any, Shadow]] = []
        self.detector = RaceDetector()
        self.variables = Variables(execution)
        self.monitor = WatchingSink(
            self.detector,
            self.variables,
            execution,
            lambda place, kind, shadow: self.points.append((place, kind, shadow)),
            PlaceSet([PLACE]) if points is None else points,
        )
        self.monitor.enabled = True
        self.detector.spawn(0, 1)
        self.detector.spawn(0, 2)
