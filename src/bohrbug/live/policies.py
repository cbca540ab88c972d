"""What fragments try: each one another policy for the steps of its window."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bohrbug.model.operation import TaskId
from bohrbug.model.plan import PartialOrder, Policy, Priorities, Segments, UniformRandom

_STRETCHES = 6
"""Stretches of tasks that run one after the other, at most."""


def policies(draw: random.Random, count: int, tasks: Sequence[TaskId], window: int) -> list[Policy]:
    """The policies of the fragments of a round, beside the one that goes on as it is.

    Stretches of chosen lengths delay one task until another has come far; random priorities of
    events (POS) reorder what conflicts; priorities of tasks (PCT) starve one of them; and a random
    walk switches all the time.

    Parameters:
        draw: draws them.
        count: how many.
        tasks: those that could run.
        window: steps of each fragment.
    """
    made: list[Policy] = []
    first = draw.randrange(4)
    for number in range(count):
        seed = draw.getrandbits(32)
        match (first + number) % 4:
            case 0:
                made.append(_stretches(draw, tasks, window))
            case 1:
                made.append(PartialOrder(seed))
            case 2:
                made.append(UniformRandom(seed))
            case _:
                made.append(Priorities(seed, 1, window))
    return made


def _stretches(draw: random.Random, tasks: Sequence[TaskId], window: int) -> Segments:
    """Tasks in turn, each for some steps: most often few, now and then many."""
    segments = []
    for _ in range(draw.randint(2, _STRETCHES)):
        most = 2 ** draw.randint(0, max(window.bit_length() - 2, 1))
        segments.append((draw.choice(tasks), draw.randint(1, most)))
    return Segments(tuple(segments))
