"""What a user should know about an exploration, though it does not limit the verdict."""

from __future__ import annotations

from collections.abc import Mapping

from bohrbug.exploration.conditions import sort_unseen
from bohrbug.model.outcome import UNMET


def notices_of(uncontrolled: Mapping[str, int], executions: int, tells_logs: bool) -> list[str]:
    """Sentences on what executions did.

    Parameters:
        uncontrolled: as in :class:`bohrbug.model.outcome.Uncontrolled`, of all executions.
        executions: how many there were.
        tells_logs: what asyncio has only logged, and wrong uses of a loop, are worth a notice.
    """
    unseen = sort_unseen(uncontrolled)
    notices = [
        f"a task spins {where} while others could run, and does not yield: wait for the "
        "condition (Event, Condition, join), or sleep in the loop"
        for where in unseen.spinning
    ]
    notices += [
        f"{UNMET}{name}, so none was cancelled"
        for name, count in unseen.unmet
        if count >= executions
    ]
    if tells_logs:
        of_all = f"of {executions:,} execution{'s' * (executions != 1)}"
        notices += [
            f"asyncio has logged, in {count:,} {of_all}: {words}" for words, count in unseen.logged
        ]
        notices += [
            f"a thread called, in {count:,} {of_all}, {words}" for words, count in unseen.unsafe
        ]
    return notices
