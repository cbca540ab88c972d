"""What was in sight at the steps of a replay: where each task stood, and the values it saw."""

from __future__ import annotations

from dataclasses import dataclass, field

from bohrbug.model.outcome import Frame

Values = tuple[tuple[str, str], ...]
"""Names of local variables with their values, for people."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What the task of a step saw just before it.

    Parameters:
        stack: where it stood, innermost last.
        values: of the local variables of the innermost function that is no library's, if they
            were looked at.
    """

    stack: tuple[Frame, ...]
    values: Values = ()


@dataclass(slots=True)
class Sights:
    """The sights of one replay.

    Parameters:
        by_step: for each step that is known.
    """

    by_step: dict[int, Sight] = field(default_factory=dict)
