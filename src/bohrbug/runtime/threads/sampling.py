"""Which executions are looked at more closely, as looking takes time."""

from __future__ import annotations

import marshal
import zlib
from typing import Any

from bohrbug.accelerator import native
from bohrbug.model.plan import Choice, NonPreemptive, Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.threads.recorded import RecordedTrace

WATCHED_AT_FIRST = 40
"""Executions, since the last new racy place, in which all accesses are watched for races."""

WATCHED_LATER = 8
"""After these, in one of so many; in which ones, the plan decides: see :func:`sample`."""


def _never_quick(choices: object, seed: int, are_rows: bool) -> int | None:
    """Stands for the function in C where there is none."""
    return None


_quick_number: Any = _never_quick if native is None else native.checksum_of


def number_of(choices: list[Choice] | tuple[Choice, ...], seed: int = 0, other: bytes = b"") -> int:
    """A number by which executions are sampled, the same in every process.

    Parameters:
        choices: of a plan or trace.
        seed: of the plan's policy, at least 0 and below 2**32.
        other: what else tells plans apart.
    """
    if not other:
        number = _quick_number(choices, seed, False)
        if number is not None:
            return int(number)
    # Version 0 of the format depends on nothing but the values.
    return zlib.crc32(marshal.dumps(choices, 0) + other, seed)


def number_of_trace(trace: Trace) -> int:
    """The same of the choices of an execution, which are not put together for it.

    Parameters:
        trace: of the execution.
    """
    if isinstance(trace, RecordedTrace):
        number = _quick_number(trace.rows, 0, True)
        if number is not None:
            return int(number)
    return number_of(trace.choices)


def sample(plan: Plan) -> int:
    """The number by which a plan is sampled.

    What a sample of the executions shows must not depend on the order in which they are
    made, nor on how they are divided among processes: so the plan itself decides.
    """
    policy = plan.policy
    seed = getattr(policy, "seed", None)
    if seed is not None:
        return number_of(plan.prefix, seed & 0xFFFFFFFF)
    return number_of(
        plan.prefix, other=b"" if isinstance(policy, NonPreemptive) else repr(policy).encode()
    )


class Sampling:
    """Counts the executions of an exploration, and says what to look for in the next one.

    Attributes:
        executions: how many there were.
        quiet: how many since the last new racy place.
    """

    __slots__ = ("executions", "quiet")

    def __init__(self) -> None:
        self.executions = 0
        self.quiet = 0

    def count(self) -> None:
        """One more execution begins."""
        self.executions += 1
        self.quiet += 1

    def next(self, plan: Plan) -> bool:
        """One more execution begins: whether to look for races in it."""
        self.executions += 1
        self.quiet += 1
        # CHESS, section 3.5: races are looked for "on the first few runs".
        return self.quiet <= WATCHED_AT_FIRST or sample(plan) % WATCHED_LATER == 0
