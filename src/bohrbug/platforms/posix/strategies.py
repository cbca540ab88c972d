"""The strategies for native programs: those whose plans the shim can execute."""

from __future__ import annotations

from random import Random

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.verdicts import REDUCTIONS
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.search.auto import Auto
from bohrbug.search.delay_bounding import DelayBounding
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.pct import PCT
from bohrbug.search.pos import PartialOrderSampling
from bohrbug.search.preemption_bounding import PreemptionBounding
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.registry import STRATEGIES, Options, strategy_named
from bohrbug.search.strategy import Strategy
from bohrbug.search.surw import SelectivelyUniform
from bohrbug.search.uniform import UniformSampling

REFUSED = {
    "rff": "it decides which write each read sees, and accesses to memory are not seen",
}
"""Why a strategy can't be used for native programs."""


def _auto(options: ExploreOptions) -> Auto:
    """As for Python tests, but without what needs accesses to memory to be seen.

    So the systematic member that is to execute everything is the depth-first search: executions
    with the same happens-before graph may differ in what they do to memory.
    """
    seeds = Random(options.seed)
    depths = (1, 2, 3) if options.depth is None else (options.depth,)

    def seed() -> int:
        return seeds.getrandbits(32)

    return Auto(
        [DepthFirst(), PreemptionBounding(options.bound), DelayBounding(options.bound)],
        [
            (PartialOrderSampling(seed()), 3.0),
            (SelectivelyUniform(seed()), 3.0),
            (PCT(depths, seed()), 1.0),
            (UniformSampling(seed()), 1.0),
            (RandomWalk(seed()), 1.0),
        ],
        options.executions,
    )


SAMPLERS = ("random", "pct", "pos", "surw", "uniform")
"""The strategies that do not count on an execution having the scheduling points of another one."""


def strategy_for_samples(options: ExploreOptions) -> Strategy:
    """The strategy where scheduling points differ from execution to execution.

    Raises:
        UnsupportedError: the options name one that can't be used then, or several processes.
    """
    if options.workers != 1:
        raise UnsupportedError(
            "--sample-accesses explores in one process: leave -j out, or start several with a "
            "--seed each"
        )
    if options.strategy == "auto":
        return RandomWalk(options.seed)
    if options.strategy not in SAMPLERS:
        raise UnsupportedError(
            f"the strategy {options.strategy} can't be used with --sample-accesses: each execution "
            f"has other scheduling points; choose one of {', '.join(SAMPLERS)}"
        )
    return native_strategy(options)


def strategy_for_watchpoints(options: ExploreOptions) -> Strategy:
    """The strategy where the processor tells of accesses when they are done.

    Raises:
        UnsupportedError: the options name one that wants to do them in another order.
    """
    if options.strategy in REDUCTIONS:
        possible = ", ".join(sorted(STRATEGIES.keys() - REFUSED.keys() - REDUCTIONS))
        raise UnsupportedError(
            f"the strategy {options.strategy} can't be used with --watch: it has to hold an access "
            "back that another one was seen to conflict with, and what is watched is known only "
            f"when it is done; choose one of {possible}"
        )
    return native_strategy(options)


def native_strategy(options: ExploreOptions) -> Strategy:
    """The strategy that the options name.

    Raises:
        UnsupportedError: it can be used for Python tests only.
    """
    name = options.strategy
    if name == "auto":
        return _auto(options)
    if name in REFUSED:
        possible = ", ".join(sorted(STRATEGIES.keys() - REFUSED.keys()))
        raise UnsupportedError(
            f"the strategy {name} can't be used for native programs: {REFUSED[name]}; "
            f"choose one of {possible}"
        )
    chosen = Options(options.executions, options.seed, options.bound, options.depth)
    return strategy_named(name, chosen)
