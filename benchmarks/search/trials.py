"""The explorations that were made: a file with a line for each, so that a run can go on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Trial:
    """One exploration of a broken program.

    Parameters:
        program: its name.
        strategy: its name.
        seed: the seed.
        schedules: the number of the execution that found the bug, ``None`` if none did.
        member: the member of a portfolio that found it, otherwise the strategy.
        outcome: the kind of outcome.
        executions: executions made.
        seconds: wall time.
    """

    program: str
    strategy: str
    seed: int
    schedules: int | None
    member: str
    outcome: str
    executions: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TwinTrial:
    """One exploration of a correct twin.

    Parameters:
        program: its name.
        strategy: its name.
        verdict: the verdict.
        failures: what was reported, which is wrong.
        caveats: the caveats of the verdict.
        executions: executions made.
    """

    program: str
    strategy: str
    verdict: str
    failures: tuple[str, ...]
    caveats: tuple[str, ...]
    executions: int


Conditions = dict[str, Any]
"""When and how the trials after it were made."""


@dataclass(slots=True)
class Records:
    """All that is known.

    Parameters:
        conditions: of each run, in their order.
        trials: of the broken programs.
        twins: of their twins.
    """

    conditions: list[Conditions] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    twins: list[TwinTrial] = field(default_factory=list)

    def add(self, record: Conditions | Trial | TwinTrial) -> None:
        """Add one of the three."""
        if isinstance(record, Trial):
            self.trials.append(record)
        elif isinstance(record, TwinTrial):
            self.twins.append(record)
        else:
            self.conditions.append(record)


def append(path: Path, record: Conditions | Trial | TwinTrial) -> None:
    """Append a record to a file."""
    name = {Trial: "trial", TwinTrial: "twin"}.get(type(record), "conditions")
    content = record if isinstance(record, dict) else asdict(record)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({name: content}) + "\n")


def records_of(paths: Iterable[Path]) -> Records:
    """What is in files that :func:`append` wrote.  A line that was cut off is left out."""
    records = Records()
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                [(name, content)] = json.loads(line).items()
            except ValueError:
                continue
            if name == "trial":
                records.add(Trial(**content))
            elif name == "twin":
                records.add(TwinTrial(**content))
            else:
                records.add(content)
    return records
