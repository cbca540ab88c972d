"""frontrun 0.7.0: a program has to be rewritten as a set-up, workers and an invariant.

It controls only the threads that it starts itself, so each program is given
to it in that form: the same classes and methods, without starts and joins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import frontrun  # type: ignore[import-not-found]
from programs import Program
from programs.lock_cycle import Table
from programs.locked_increments import THREADS, LockedCounter
from programs.lost_update import Counter
from programs.producer_consumer import Exchange

from peers import Batch, Finding, Judgement


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A program in frontrun's form.

    Parameters:
        setup: makes the shared state.
        workers: what each thread does with it.
        returned: what the program as a function would have returned.
    """

    setup: Callable[[], Any]
    workers: Sequence[Callable[[Any], None]]
    returned: Callable[[Any], object]


def _counter_value(counter: Counter | LockedCounter) -> int:
    return counter.value


def _received(exchange: Exchange) -> list[int]:
    return exchange.received


def _nothing(_state: object) -> None:
    return None


REWRITTEN: dict[str, Rewritten] = {
    "lost-update-2": Rewritten(Counter, [Counter.increment] * 2, _counter_value),
    "lost-update-3": Rewritten(Counter, [Counter.increment] * 3, _counter_value),
    "lost-update-4": Rewritten(Counter, [Counter.increment] * 4, _counter_value),
    "locked-increments": Rewritten(
        LockedCounter, [LockedCounter.increment_often] * THREADS, _counter_value
    ),
    "producer-consumer": Rewritten(Exchange, [Exchange.produce, Exchange.consume], _received),
    "lock-order": Rewritten(
        Table,
        [Table.first_then_second, Table.second_then_third, Table.first_then_third],
        _nothing,
    ),
    "lock-cycle": Rewritten(
        Table,
        [Table.first_then_second, Table.second_then_third, Table.third_then_first],
        _nothing,
    ),
}

STRATEGY_OPTIONS: dict[str, dict[str, object]] = {
    "dpor": {"strategy": "dpor"},
    "dpor-bit-reversal": {"strategy": "dpor", "search": "bit-reversal"},
    "dpor-unbounded": {"strategy": "dpor", "preemption_bound": None},
    "random": {"strategy": "random"},
}


def version() -> str:
    """The installed version."""
    return metadata.version("frontrun")


def explore(program: Program, strategy: str, executions: int, seed: int, seconds: float) -> Batch:
    """Explore; only ``dpor`` can go on after a failure."""
    rewritten = REWRITTEN[program.name]
    options = dict(STRATEGY_OPTIONS[strategy])
    if strategy == "random":
        options.update(max_attempts=executions, seed=seed)
    else:
        options.update(max_executions=executions, stop_on_first=False)
    result = frontrun.explore(
        setup=rewritten.setup,
        workers=list(rewritten.workers),
        invariant=lambda _state: True,
        total_timeout=seconds,
        reproduce_on_failure=0,
        **options,
    )
    return Batch(
        result.num_explored,
        failed=result.property_holds is False,
    )


def judge(program: Program, strategy: str, seconds: float) -> Judgement:
    """Explore the test with the options that it has by default."""
    rewritten = REWRITTEN[program.name]
    result = frontrun.explore(
        setup=rewritten.setup,
        workers=list(rewritten.workers),
        invariant=lambda state: rewritten.returned(state) == program.expected,
        total_timeout=seconds,
        **STRATEGY_OPTIONS[strategy],
    )
    if result.property_holds is None:
        reason = str(result.inconclusive_reason or "")
        return Judgement(Finding.INCONCLUSIVE, result.num_explored, _first_line(reason))
    if result.property_holds:
        return Judgement(Finding.HOLDS, result.num_explored)
    return Judgement(
        Finding.FAILED, result.num_explored, _first_line(str(result.explanation or ""))
    )


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else ""
