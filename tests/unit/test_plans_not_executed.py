"""A plan whose execution was cut, or interrupted, is still to be executed: nothing is complete."""

from __future__ import annotations

import pytest

from bohrbug.search.registry import Options, strategy_named
from bohrbug.search.strategy import Bounding, Strategy
from tests.simulated import execute, tasks, writes


def _promises(strategy: Strategy) -> tuple[bool, str | None]:
    return strategy.complete, strategy.completed if isinstance(strategy, Bounding) else None


@pytest.mark.parametrize("name", ["dfs", "dpor", "bpor", "ipb", "idb", "uniform", "auto"])
@pytest.mark.parametrize("bound", [None, 1])
def test_nothing_is_promised_of_a_plan_that_was_only_proposed(name: str, bound: int | None) -> None:
    program = tasks(writes(2), writes(2))
    strategy = strategy_named(
        name, Options(1_000, 0, bound if name in ("bpor", "ipb", "idb") else None)
    )
    promised: tuple[bool, str | None] = (False, None)
    while (plan := strategy.next_plan()) is not None:
        # As it stands where the time is up before the execution is over.
        is_complete, within = _promises(strategy)
        assert not is_complete
        assert within in (None, promised[1])
        strategy.observe(execute(program, plan)[0])
        promised = _promises(strategy)
    assert promised[0] or promised[1] is not None
