"""Programs of SCTBench, natively: ``python benchmarks/native/sctbench.py [--seeds 20] [name ...]``.

For each strategy: how many of the explorations find the failure, after how many executions (the
median, and the most), and with how many preemptions minimising leaves it (the median).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

from bohrbug.exploration.options import ExploreOptions
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer
from bohrbug.runtime.posix.build import compiler

PROGRAMS = Path(__file__).parent.parent.parent / "tests" / "native" / "programs"

NAMES = (
    "reorder_3",
    "reorder_4",
    "reorder_5",
    "reorder_10",
    "reorder_20",
    "twostage",
    "twostage_100",
)

STRATEGIES = ("auto", "rff", "pos", "surw", "pct", "random", "uniform", "ipb", "idb")

MOST = 10_000
"""Executions after which an exploration is ended."""


def built(folder: Path, name: str) -> Path:
    """A program, ``reorder_10`` for ten threads of ``reorder.c``; seen by hooks."""
    program, _, threads = name.partition("_")
    cc = compiler()
    assert cc is not None
    words = [cc, "-std=gnu11", "-g", "-O1", "-pthread", "-fsanitize=thread", f"-DN={threads or 2}"]
    subprocess.run([*words, "-o", str(folder / name), str(PROGRAMS / f"{program}.c")], check=True)
    return folder / name


def explored(program: Path, strategy: str, seed: int, minimise: bool) -> tuple[int, int] | None:
    """After how many executions an exploration finds the failure, and its preemptions then."""
    options = ExploreOptions(
        strategy=strategy,
        seed=seed,
        executions=MOST,
        seconds=None,
        minimise=minimise,
        causes=0,
    )
    explorer, _ = native_explorer(Command((str(program),), exit_code=0), options)
    result = explorer.explore()
    if not result.failures:
        return None
    failure = result.failures[0]
    return failure.execution, len(failure.trace.preemptions())


def row(program: Path, strategy: str, seeds: int, minimise: bool) -> str:
    found = [explored(program, strategy, seed, minimise) for seed in range(seeds)]
    executions = [MOST if one is None else one[0] for one in found]
    preemptions = [one[1] for one in found if one is not None]
    left = f"{statistics.median(preemptions):g}" if preemptions else "-"
    return (
        f"{strategy:8}  {len(preemptions):2} of {seeds}  {statistics.median(executions):8g}"
        f"  {max(executions):8}  {left:>5}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES)
    parser.add_argument("--no-minimise", action="store_true")
    parser.add_argument("names", nargs="*", default=NAMES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            program = built(Path(folder), name)
            print(f"\n{name}: strategy, found, median and most executions, preemptions")
            for strategy in options.strategies:
                print(row(program, strategy, options.seeds, not options.no_minimise), flush=True)


if __name__ == "__main__":
    main()
