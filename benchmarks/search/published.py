"""Published figures for programs with the same idea, read from the artifacts of two papers.

Both artifacts give, for 20 trials of each program with a limit of 10,000 schedules (SURW) or five
minutes (RFF), the number of the schedule that found the bug in each trial.  Here stand the
median over the trials that found it, and how many did.  The programs there are written in C and
run natively; what counts as a step differs, so the figures say in which range a good result lies,
and no more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).with_name("published.json")


@dataclass(frozen=True, slots=True)
class Figure:
    """What one algorithm needed for one program.

    Parameters:
        algorithm: as its paper calls it.
        median: schedules to the first bug, over the trials that found it; ``None`` if none did.
        found: trials that found the bug.
        trials: all trials.
    """

    algorithm: str
    median: float | None
    found: int
    trials: int

    def __str__(self) -> str:
        if self.median is None:
            return f"{self.algorithm} -"
        share = "" if self.found == self.trials else f" ({self.found}/{self.trials})"
        return f"{self.algorithm} {self.median:g}{share}"


def read() -> dict[str, list[Figure]]:
    """The published figures by the name of the program in the artifacts."""
    document = json.loads(PATH.read_text(encoding="utf-8"))
    return {
        name: [Figure(algorithm, *numbers) for algorithm, numbers in figures.items()]
        for name, figures in document["programs"].items()
    }
