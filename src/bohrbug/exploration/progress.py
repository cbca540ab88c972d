"""What an exploration tells while it lasts."""

from __future__ import annotations

from typing import Protocol

from bohrbug.search.estimates import Estimate


class Progress(Protocol):
    """Told how an exploration goes on."""

    def update(
        self,
        executions: int,
        budget: int,
        elapsed: float,
        failures: int,
        races: int,
        words: str,
        estimate: Estimate | None = None,
    ) -> None:
        """Called several times a second.

        Parameters:
            executions: executions so far.
            budget: executions at most.
            elapsed: seconds so far.
            failures: distinct failures so far.
            races: distinct data races so far.
            words: the strategy's own words.
            estimate: of the size of the space, if there is one.
        """
        ...
