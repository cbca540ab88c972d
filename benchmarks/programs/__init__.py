"""The programs that every tool is measured on.

Each is ordinary Python that knows nothing of any tool: a function without
arguments that starts threads, joins them and returns what came of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from programs.large import LOCKINGS_PER_ROUND, ROUNDS, THREADS, large
from programs.lock_cycle import lock_cycle, lock_order
from programs.locked_increments import locked_increments
from programs.lost_update import lost_update_2, lost_update_3, lost_update_4
from programs.producer_consumer import ITEMS, producer_consumer


@dataclass(frozen=True, slots=True)
class Program:
    """A program and what is known of it.

    Parameters:
        name: how the command line and the tables call it.
        run: the program itself; it never fails by what it returns, so that a
            tool which stops at the first failure goes on.
        expected: what a correct execution returns.
        broken: whether some interleaving returns something else or deadlocks.
        can_block: whether an execution with plain threads can deadlock.
    """

    name: str
    run: Callable[[], object]
    expected: object
    broken: bool = False
    can_block: bool = False

    def test(self) -> None:
        """Run the program as a test would: with an assertion."""
        assert self.run() == self.expected


PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        Program("lost-update-2", lost_update_2, expected=2, broken=True),
        Program("lost-update-3", lost_update_3, expected=3, broken=True),
        Program("lost-update-4", lost_update_4, expected=4, broken=True),
        Program("locked-increments", locked_increments, expected=40),
        Program("producer-consumer", producer_consumer, expected=list(range(ITEMS))),
        Program("lock-order", lock_order, expected=None),
        Program("lock-cycle", lock_cycle, expected=None, broken=True, can_block=True),
    )
}
"""The programs whose executions per second are measured, by name."""

LARGE = Program(
    "large",
    large,
    expected=(THREADS * ROUNDS * LOCKINGS_PER_ROUND, THREADS * ROUNDS),
)
"""The program of one long execution."""


def program_named(name: str) -> Program:
    """Return the program called ``name``.

    Raises:
        KeyError: there is none.
    """
    return LARGE if name == LARGE.name else PROGRAMS[name]
