"""Strategies by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

from bohrbug.search.auto import Auto
from bohrbug.search.bounded_dpor import BoundedReduction
from bohrbug.search.branching import BRANCHING_LIMIT
from bohrbug.search.delay_bounding import DelayBounding
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.dpor import OptimalReduction
from bohrbug.search.pct import PCT
from bohrbug.search.pos import PartialOrderSampling
from bohrbug.search.preemption_bounding import PreemptionBounding
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.reads_from import ReadsFromFuzzing
from bohrbug.search.strategy import Strategy
from bohrbug.search.surw import SelectivelyUniform
from bohrbug.search.uniform import UniformSampling

SMALLEST_OF_MEMBERS = 16
"""Plans of a piece of a member of ``auto``, for all but the last of a generation: while others
have work, nobody waits for it."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a strategy can be told; each takes what concerns it.

    Parameters:
        executions: the budget, or ``None`` for none: ``auto`` and all that are random.
        seed: ``auto`` and all that are random.
        bound: the largest number of preemptions, ``None`` for no bound: ``auto``, ``bpor``,
            ``ipb``; of delays: ``idb``.
        depth: the depth of bugs aimed at, ``None`` for 1, 2 and 3 in turn: ``auto``, ``pct``.
        steps: branch at the first so many steps of an execution: ``bpor``, ``dfs``, ``dpor``,
            ``idb``, ``ipb``, ``uniform``.
        sees_all: the happens-before graph has all that the test depends on, so that
            partial-order reduction proves something: ``auto``.
    """

    executions: int | None = None
    seed: int = 0
    bound: int | None = 2
    depth: int | None = None
    steps: int = BRANCHING_LIMIT
    sees_all: bool = True

    @property
    def depths(self) -> tuple[int, ...]:
        """The depths for PCT."""
        return (1, 2, 3) if self.depth is None else (self.depth,)


def _auto(options: Options) -> Auto:
    # Seeds of their own, or the samplers would make the same choices.
    seeds = Random(options.seed)

    def seed() -> int:
        return seeds.getrandbits(32)

    return Auto(
        [
            OptimalReduction(options.steps) if options.sees_all else DepthFirst(options.steps),
            PreemptionBounding(options.bound, steps=options.steps),
            DelayBounding(options.bound, steps=options.steps),
        ],
        # An execution of RFF is one of POS that meets constraints besides, so it has most turns.
        [
            (PartialOrderSampling(seed(), smallest_piece=SMALLEST_OF_MEMBERS), 2.0),
            (ReadsFromFuzzing(seed(), smallest_piece=SMALLEST_OF_MEMBERS), 6.0),
            (SelectivelyUniform(seed(), smallest_piece=SMALLEST_OF_MEMBERS), 2.0),
            (PCT(options.depths, seed()), 0.2),
            (UniformSampling(seed()), 0.2),
            (RandomWalk(seed()), 0.2),
        ],
        options.executions,
        # Few constraints lead to a bug however many tasks and steps there are; that POS or SURW
        # draws it becomes the less likely, the more there are.
        (1.0, 8.0, 1.0, 0.2, 0.2, 0.2),
    )


STRATEGIES: Mapping[str, Callable[[Options], Strategy]] = MappingProxyType(
    {
        "auto": _auto,
        "bpor": lambda options: BoundedReduction(options.bound, options.steps),
        "dfs": lambda options: DepthFirst(options.steps),
        "dpor": lambda options: OptimalReduction(options.steps),
        "idb": lambda options: DelayBounding(options.bound, steps=options.steps),
        "ipb": lambda options: PreemptionBounding(options.bound, steps=options.steps),
        "pct": lambda options: PCT(options.depths, options.seed, options.executions),
        "pos": lambda options: PartialOrderSampling(options.seed, options.executions),
        "random": lambda options: RandomWalk(options.seed, options.executions),
        "rff": lambda options: ReadsFromFuzzing(options.seed, options.executions),
        "surw": lambda options: SelectivelyUniform(options.seed, options.executions),
        "uniform": lambda options: UniformSampling(
            options.seed, options.executions, steps=options.steps
        ),
    }
)
"""Factories by name."""


def strategy_named(name: str, options: Options | None = None) -> Strategy:
    """A new strategy.

    Parameters:
        name: one of :data:`STRATEGIES`.
        options: the defaults if not given.

    Raises:
        ValueError: there is no strategy of that name, or an option makes no sense.
    """
    if name not in STRATEGIES:
        raise ValueError(f"there is no strategy {name!r}; choose one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name](options if options is not None else Options())
