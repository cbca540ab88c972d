"""Strategies by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bohrbug.model.plan import Plan
from bohrbug.search.bounded_dpor import BoundedReduction
from bohrbug.search.branching import BRANCHING_LIMIT
from bohrbug.search.default import default_strategy
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.dpor import OptimalReduction
from bohrbug.search.pct import PCT
from bohrbug.search.portfolio import Searching
from bohrbug.search.preemption_bounding import PreemptionBounding
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.replay import Replay

DEFAULT = "auto"
"""The name of the strategy for whoever names none."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a strategy can be told; each takes what concerns it.

    Parameters:
        executions: the budget, or ``None`` for none: ``auto``, ``random``, ``pct``.
        seed: ``auto``, ``random``, ``pct``.
        bound: the largest number of preemptions, ``None`` for no bound: ``auto``, ``bpor``,
            ``ipb``.
        depth: the depth of bugs aimed at, ``None`` for 1, 2 and 3 in turn: ``auto``, ``pct``.
        steps: branch at the first so many steps of an execution: ``bpor``, ``dfs``, ``dpor``,
            ``ipb``.
        plan: what to replay: ``replay``.
    """

    executions: int | None = None
    seed: int = 0
    bound: int | None = 2
    depth: int | None = None
    steps: int = BRANCHING_LIMIT
    plan: Plan | None = None

    @property
    def depths(self) -> tuple[int, ...]:
        """The depths for PCT."""
        return (1, 2, 3) if self.depth is None else (self.depth,)


def _replay(options: Options) -> Searching:
    if options.plan is None:
        raise ValueError("the strategy 'replay' needs a plan to replay")
    return Replay(options.plan)


STRATEGIES: Mapping[str, Callable[[Options], Searching]] = MappingProxyType(
    {
        "auto": lambda options: default_strategy(
            options.executions, options.seed, options.bound, options.depths
        ),
        "bpor": lambda options: BoundedReduction(options.bound, options.steps),
        "dfs": lambda options: DepthFirst(options.steps),
        "dpor": lambda options: OptimalReduction(options.steps),
        "ipb": lambda options: PreemptionBounding(options.bound, steps=options.steps),
        "pct": lambda options: PCT(options.depths, options.seed, options.executions),
        "random": lambda options: RandomWalk(options.seed, options.executions),
        "replay": _replay,
    }
)
"""Factories by name."""


def strategy_named(name: str, options: Options | None = None) -> Searching:
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
