"""The strategies for native programs."""

from __future__ import annotations

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.verdicts import REDUCTIONS
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.registry import STRATEGIES, Options, strategy_named
from bohrbug.search.strategy import Strategy

_HOLD_BACK = REDUCTIONS | {"rff"}
"""The strategies that hold an operation back for one that it conflicts with."""

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
    if options.strategy in _HOLD_BACK:
        possible = ", ".join(sorted(STRATEGIES.keys() - _HOLD_BACK))
        raise UnsupportedError(
            f"the strategy {options.strategy} can't be used with --watch: it has to hold an access "
            "back that another one was seen to conflict with, and what is watched is known only "
            f"when it is done; choose one of {possible}"
        )
    return native_strategy(options)


def native_strategy(options: ExploreOptions) -> Strategy:
    """The strategy that the options name.

    The member of ``auto`` that is to execute everything is the depth-first search: executions
    with the same happens-before graph may differ in what they do to memory.
    """
    chosen = Options(options.executions, options.seed, options.bound, options.depth, sees_all=False)
    return strategy_named(options.strategy, chosen)
