"""How much slower a program is with live rounds than under control, if there is nothing to find.

    python benchmarks/live/run.py [--budget PERCENT] [--times N]

Each program runs in turn under control without rounds, as an exploration executes it once it knows
the program, and live. What is printed are ratios of real time, the median of all turns; each run
has a process of its own.
"""

from __future__ import annotations

import argparse
import json
import queue
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _together(work: Callable[[], object], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def locked_increments() -> None:
    """Three threads count under one lock."""
    lock = threading.Lock()
    total = 0

    def work() -> None:
        nonlocal total
        for _ in range(200_000):
            with lock:
                total += 1

    _together(work, 3)
    assert total == 600_000


def producer_and_consumers() -> None:
    """One thread hands numbers to two others."""
    numbers: queue.Queue[int | None] = queue.Queue(8)
    seen: list[int] = []

    def consume() -> None:
        while (number := numbers.get()) is not None:
            seen.append(number)

    threads = [threading.Thread(target=consume) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(400_000):
        numbers.put(number)
    for _ in threads:
        numbers.put(None)
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(400_000))


def shared_object() -> None:
    """Four threads use an object that a lock guards, with some work between."""

    class Account:
        def __init__(self) -> None:
            self.lock = threading.Lock()
            self.balance = 0
            self.entries: dict[int, int] = {}

        def book(self, amount: int) -> None:
            with self.lock:
                self.balance += amount
                self.entries[amount % 97] = amount

    account = Account()

    def work() -> None:
        for number in range(80_000):
            account.book(sum(range(number % 50)))

    _together(work, 4)


PROGRAMS = {
    each.__name__: each for each in (locked_increments, producer_and_consumers, shared_object)
}


def run_one(name: str, budget: float | None) -> float:
    """Run a program; the seconds that it took.

    Parameters:
        name: of the program.
        budget: of rounds, in per cent; ``None``: under control, without rounds.
    """
    from bohrbug.exploration.options import ExploreOptions
    from bohrbug.live.options import LiveOptions
    from bohrbug.live.session import live_options_of, run_live
    from bohrbug.model.plan import Plan
    from bohrbug.platforms.threads.platform import runtime_of

    program = PROGRAMS[name]
    if budget is not None:
        result = run_live(program, live_options_of(ExploreOptions()), LiveOptions(budget=budget))
        assert result.failure is None, result.outcome
        assert result.figures.rounds
        return result.seconds
    options = ExploreOptions(max_steps=10**12, hang_seconds=0.0)
    with runtime_of(program, options) as runtime:
        plan = Plan(conditions=options.conditions())
        for _ in range(2):
            runtime.execute(plan, watch=True)
        return runtime.execute(plan, learn=False).trace.seconds


def _in_a_process(name: str, budget: float | None) -> float:
    command = [sys.executable, __file__, "--one", name, "--budget", str(budget)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    seconds: float = json.loads(done.stdout.splitlines()[-1])
    return seconds


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--budget", default="20")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--one")
    given = parser.parse_args()
    budget = None if given.budget == "None" else float(given.budget)
    if given.one:
        print(run_one(given.one, budget))
        return
    for name in PROGRAMS:
        ratios = []
        for _ in range(given.times):
            alone = _in_a_process(name, None)
            ratios.append(_in_a_process(name, budget) / alone)
        low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
        print(f"{name}: {middle:.2f} times as slow as under control ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
