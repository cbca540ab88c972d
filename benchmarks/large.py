"""The large program: 25 threads and 170,000 synchronisation operations in one execution.

Prints what an execution costs with plain threads and under control, and the
slowdown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import environments
from environments import Environment, MeasurementFailedError
from peers import BOHRBUG, NATIVE, TOOLS
from programs import LARGE
from programs.large import OPERATIONS, THREADS
from run import prepare_environments

MORE_EXECUTIONS = 3


def seconds_for(environment: Environment, strategy: str, executions: int, timeout: float) -> float:
    """Wall time in seconds of one call that makes ``executions`` executions.

    Raises:
        MeasurementFailedError: it hung or crashed, made fewer, or called the program broken.
    """
    arguments = [LARGE.name, strategy, f"--executions={executions}"]
    measured = environments.run(environment, arguments, timeout)
    if measured["failed"]:
        raise MeasurementFailedError("calls the program broken, and it is correct")
    if measured["executions"] < executions:
        raise MeasurementFailedError(f"only {measured['executions']} executions")
    return float(measured["seconds"])


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tool", choices=sorted(TOOLS), default=BOHRBUG.name)
    parser.add_argument("--strategy", action="append", help="default: random and ipb")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for each process")
    parser.add_argument("--base-python", type=Path, default=Path(sys.executable))
    parser.add_argument("--python", action="append", default=[], metavar="TOOL=PATH")
    parser.add_argument("--cache", type=Path, default=environments.default_cache())
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the slowdown for each strategy asked for."""
    arguments = _arguments(argv)
    native, controlled = prepare_environments(
        [NATIVE.name, arguments.tool], arguments.python, arguments.base_python, arguments.cache
    )
    print(f"{THREADS} threads, {OPERATIONS:,} synchronisation operations in one execution")
    for strategy in arguments.strategy or ("random", "ipb"):
        natively, first, several = [], [], []
        try:
            for _ in range(arguments.repetitions):
                [native_strategy] = NATIVE.strategies
                natively.append(
                    seconds_for(native, native_strategy, MORE_EXECUTIONS, arguments.timeout)
                    / MORE_EXECUTIONS
                )
                first.append(seconds_for(controlled, strategy, 1, arguments.timeout))
                several.append(
                    seconds_for(controlled, strategy, 1 + MORE_EXECUTIONS, arguments.timeout)
                )
        except MeasurementFailedError as problem:
            print(f"{arguments.tool} {strategy}: {problem}")
            continue
        # The first execution comes with all that a call needs to get going.
        further = (median(several) - median(first)) / MORE_EXECUTIONS
        print(
            f"{arguments.tool} {strategy}: plain threads {median(natively):.3f} s; "
            f"controlled {median(first):.2f} s with all preparations, "
            f"{further:.2f} s for each further execution; "
            f"slowdown {median(first) / median(natively):.1f} and {further / median(natively):.1f}"
        )


if __name__ == "__main__":
    main()
