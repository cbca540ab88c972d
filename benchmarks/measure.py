"""One measurement of one tool, in a process of its own; prints one line of JSON.

Run by the other scripts of this folder in the tool's environment.  A process
for each measurement means that no tool's threads, patches or caches meet
another's, and that a hang costs only its own time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import cast

from peers import TOOLS, Adapter
from programs import Program, program_named

WARM_UP_EXECUTIONS = 10
FIRST_BATCH = 100


def measure_rate(
    adapter: Adapter, program: Program, strategy: str, seconds: float, seed: int
) -> dict[str, object]:
    """Explore for about ``seconds`` seconds of wall time and count executions.

    A tool that stops early, because its strategy is exhausted or because of a
    failure, is called again, with another seed.  One that does not stop gets
    larger and larger batches, so that what a call costs before its first
    execution is spread as in a long exploration.  The whole of each call is
    measured from outside.
    """
    started = perf_counter()
    adapter.explore(program, strategy, WARM_UP_EXECUTIONS, seed, seconds)
    warm_up_seconds = perf_counter() - started

    executions = calls = failed_calls = 0
    batch_size = FIRST_BATCH
    started = perf_counter()
    elapsed = 0.0
    while elapsed < seconds:
        call_started = perf_counter()
        batch = adapter.explore(program, strategy, batch_size, seed + calls, seconds - elapsed)
        now = perf_counter()
        executions += batch.executions
        calls += 1
        failed_calls += batch.failed
        elapsed = now - started
        if batch.executions >= batch_size and (now - call_started) * 2 < seconds - elapsed:
            batch_size *= 2
    return {
        "executions": executions,
        "seconds": elapsed,
        "rate": executions / elapsed,
        "calls": calls,
        "failed_calls": failed_calls,
        "warm_up_seconds": warm_up_seconds,
    }


def measure_executions(
    adapter: Adapter, program: Program, strategy: str, executions: int, seed: int
) -> dict[str, object]:
    """Make ``executions`` executions in one call and take its wall time."""
    started = perf_counter()
    batch = adapter.explore(program, strategy, executions, seed, float(sys.maxsize))
    elapsed = perf_counter() - started
    return {
        "executions": batch.executions,
        "seconds": elapsed,
        "rate": batch.executions / elapsed,
        "failed": batch.failed,
    }


def judge(adapter: Adapter, program: Program, strategy: str, seconds: float) -> dict[str, object]:
    """Let the tool judge the program with its own budget."""
    started = perf_counter()
    judgement = adapter.judge(program, strategy, seconds)
    return {
        "finding": judgement.finding.value,
        "executions": judgement.executions,
        "detail": judgement.detail,
        "seconds": perf_counter() - started,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tool", choices=sorted(TOOLS))
    parser.add_argument("program")
    parser.add_argument("strategy")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--executions", type=int, help="make so many in one call")
    what.add_argument("--judge", action="store_true", help="ask for the tool's verdict")
    return parser.parse_args()


def _measurements(arguments: argparse.Namespace) -> Iterator[tuple[str, object]]:
    tool = TOOLS[arguments.tool]
    adapter = cast(Adapter, importlib.import_module(tool.adapter))
    program = program_named(arguments.program)
    yield "version", adapter.version()
    if arguments.judge:
        yield from judge(adapter, program, arguments.strategy, arguments.seconds).items()
    elif arguments.executions is not None:
        yield from measure_executions(
            adapter, program, arguments.strategy, arguments.executions, arguments.seed
        ).items()
    else:
        yield from measure_rate(
            adapter, program, arguments.strategy, arguments.seconds, arguments.seed
        ).items()


def main() -> None:
    """Measure what the command line asks for."""
    measured = dict(_measurements(_arguments()))
    sys.stdout.flush()
    print("\n" + json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
