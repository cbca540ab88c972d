"""What an execution costs as the number of its tasks grows.

The program starts ``N`` threads, each of which takes a lock and increments a counter. Its number
of steps is linear in ``N``, and so is what an execution of it should cost: processor time
per execution doubles as ``N`` does. Explorations with a few and with some more executions are
compared, so that entering, leaving and the first executions do not count.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Sequence

import bohrbug

SIZES = (50, 100, 200, 400, 800)
STRATEGIES = ("random", "pct", "dfs", "ipb")


def locked_increments(threads: int) -> Callable[[], None]:
    """A program of so many threads, each of which increments a counter under one lock."""

    def program() -> None:
        lock = threading.Lock()
        values = [0]

        def increment() -> None:
            with lock:
                values[0] += 1

        workers = [threading.Thread(target=increment) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert values == [threads]

    return program


def processor_seconds(threads: int, strategy: str, executions: int) -> tuple[float, int]:
    """Processor seconds that an exploration takes, and its executions."""
    began = time.process_time()
    result = bohrbug.explore(
        locked_increments(threads),
        strategy=strategy,
        executions=executions,
        seconds=None,
        max_steps=1_000_000,
    )
    return time.process_time() - began, result.executions


def seconds_per_execution(threads: int, strategy: str, few: int, more: int) -> float:
    """Processor seconds of one further execution."""
    short, made_in_short = processor_seconds(threads, strategy, few)
    long, made_in_long = processor_seconds(threads, strategy, more)
    return (long - short) / max(made_in_long - made_in_short, 1)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--strategy", action="append", help=f"default: {', '.join(STRATEGIES)}")
    parser.add_argument("--threads", action="append", type=int, help="default: 50 to 800")
    parser.add_argument("--few", type=int, default=12, help="executions of the shorter exploration")
    parser.add_argument("--more", type=int, default=22, help="of the longer one")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Print seconds per execution for each number of threads, and their ratio to those before."""
    arguments = _arguments(argv)
    for strategy in arguments.strategy or STRATEGIES:
        # Imports, pools, caches that fill once.
        processor_seconds(3, strategy, 30)
        before: tuple[int, float] | None = None
        for threads in arguments.threads or SIZES:
            seconds = seconds_per_execution(threads, strategy, arguments.few, arguments.more)
            ratio = ""
            if before is not None:
                ratio = f", x {seconds / before[1]:.2f} for x {threads / before[0]:.2f} threads"
            print(
                f"{strategy}: {threads} threads, {seconds:.4f} s per execution{ratio}", flush=True
            )
            before = threads, seconds


if __name__ == "__main__":
    main()
