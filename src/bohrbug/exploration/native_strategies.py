"""The strategies for native programs: those whose plans the shim can execute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType

from bohrbug.exploration.options import ExploreOptions
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.search.auto import Auto
from bohrbug.search.delay_bounding import DelayBounding
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.pct import PCT
from bohrbug.search.preemption_bounding import PreemptionBounding
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.strategy import Strategy
from bohrbug.search.uniform import UniformSampling


def _depths(options: ExploreOptions) -> tuple[int, ...]:
    return (1, 2, 3) if options.depth is None else (options.depth,)


def _auto(options: ExploreOptions) -> Auto:
    seeds = Random(options.seed)

    def seed() -> int:
        return seeds.getrandbits(32)

    return Auto(
        [DepthFirst(), PreemptionBounding(options.bound), DelayBounding(options.bound)],
        [
            (PCT(_depths(options), seed()), 3.0),
            (UniformSampling(seed()), 1.0),
            (RandomWalk(seed()), 1.0),
        ],
        options.executions,
    )


NATIVE_STRATEGIES: Mapping[str, Callable[[ExploreOptions], Strategy]] = MappingProxyType(
    {
        "auto": _auto,
        "dfs": lambda _: DepthFirst(),
        "idb": lambda options: DelayBounding(options.bound),
        "ipb": lambda options: PreemptionBounding(options.bound),
        "pct": lambda options: PCT(_depths(options), options.seed, options.executions),
        "random": lambda options: RandomWalk(options.seed, options.executions),
        "uniform": lambda options: UniformSampling(options.seed, options.executions),
    }
)
"""Factories by name."""


def native_strategy(options: ExploreOptions) -> Strategy:
    """The strategy that the options name.

    Raises:
        UnsupportedError: it needs plans that can be executed for Python tests only.
    """
    if options.strategy not in NATIVE_STRATEGIES:
        raise UnsupportedError(
            f"the strategy {options.strategy} can't be used for native programs; "
            f"choose one of {', '.join(NATIVE_STRATEGIES)}"
        )
    return NATIVE_STRATEGIES[options.strategy](options)
