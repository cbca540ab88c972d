"""Bohrbug on kernels of real bugs: ``python benchmarks/kernels/run.py [word ...] [--seconds 10]``.

Explores each kernel in both versions with the default options.  Prints, for the broken one, whether
its bug is found, as what, after how many executions and in how many seconds, all that explains it
included; and what is said of the mended one.  With ``--runs 100`` also which of as many runs with
plain threads is the first to fail.  Exits with 1 if a bug is missed, or a mended kernel fails.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from kernel import Kernel  # noqa: E402
from plain import runs_until_it_fails  # noqa: E402

import bohrbug  # noqa: E402
from bohrbug.exploration.verdicts import VerdictKind  # noqa: E402

FAMILIES = (
    "double_locking",
    "read_write_locks",
    "conditions",
    "channels",
    "locks_and_channels",
    "races",
    "misuse",
    "async_locks",
    "async_tasks",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of both versions of a kernel."""

    family: str
    kernel: Kernel
    found: bool
    failure: str
    executions: int
    seconds: float
    fixed: VerdictKind
    fixed_executions: int
    fixed_seconds: float
    plainly: int | None = None

    @property
    def right(self) -> bool:
        """Whether the bug is found, and nothing in the mended version."""
        return self.found and self.fixed is not VerdictKind.FAILED


def kernels(words: list[str]) -> Iterator[tuple[str, Kernel]]:
    """Those with one of the words in their name, kind or family, with their families."""
    for family in FAMILIES:
        for value in vars(importlib.import_module(family)).values():
            if isinstance(value, Kernel):
                about = f"{family} {value.name} {value.kind}"
                if not words or any(word in about for word in words):
                    yield family, value


def explored(family: str, kernel: Kernel, seconds: float, runs: int = 0) -> Outcome:
    """Explore both versions, and run the broken one so often with plain threads."""
    started = time.perf_counter()
    broken = bohrbug.explore(kernel.broken, seconds=seconds)
    between = time.perf_counter()
    fixed = bohrbug.explore(kernel.fixed, seconds=seconds)
    ended = time.perf_counter()
    first = min(broken.failures, key=lambda failure: failure.execution, default=None)
    return Outcome(
        family,
        kernel,
        broken.verdict.kind is VerdictKind.FAILED,
        "" if first is None else first.outcome.kind.value,
        broken.executions if first is None else first.execution,
        between - started,
        fixed.verdict.kind,
        fixed.executions,
        ended - between,
        runs_until_it_fails(kernel.broken, runs, seconds=1),
    )


def _row(outcome: Outcome, with_runs: bool) -> tuple[object, ...]:
    return (
        f"`{outcome.family}.{outcome.kernel.name}`",
        outcome.kernel.kind,
        "yes" if outcome.found else "**no**",
        outcome.failure,
        outcome.executions,
        f"{outcome.seconds:.2f}",
        outcome.fixed.value,
        outcome.fixed_executions,
        f"{outcome.fixed_seconds:.2f}",
        *([outcome.plainly or "-"] if with_runs else ()),
    )


def _table(outcomes: list[Outcome], with_runs: bool) -> Iterator[str]:
    yield (
        "| kernel | kind | found | as | executions | seconds | mended | executions | seconds |"
        + (" plain run |" if with_runs else "")
    )
    yield "|---|---|---|---|---|---|---|---|---|" + ("---|" if with_runs else "")
    for outcome in outcomes:
        yield "| " + " | ".join(map(str, _row(outcome, with_runs))) + " |"


def _summary(outcomes: list[Outcome], runs: int) -> Iterator[str]:
    found = [outcome for outcome in outcomes if outcome.found]
    yield f"{len(found)} of {len(outcomes)} bugs found"
    if found:
        firsts = [outcome.executions for outcome in found]
        yield (
            f"executions to the first failure: {statistics.median(firsts):g} in the median, "
            f"{max(firsts)} at most"
        )
        yield f"seconds: {sum(outcome.seconds for outcome in outcomes):.0f} for all broken versions"
    said = Counter(outcome.fixed.value for outcome in outcomes)
    yield "mended versions: " + ", ".join(f"{count} {kind}" for kind, count in said.most_common())
    if runs:
        failing = sum(outcome.plainly is not None for outcome in outcomes)
        yield f"plain threads: {failing} of {len(outcomes)} fail within {runs} runs"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "words", nargs="*", help="only kernels with one of these in their name or kind"
    )
    parser.add_argument("--seconds", type=float, default=10, help="for each version of a kernel")
    parser.add_argument("--runs", type=int, default=0, help="runs with plain threads")
    chosen = parser.parse_args()
    outcomes = []
    for family, kernel in kernels(chosen.words):
        print(f"{family}.{kernel.name}", file=sys.stderr, flush=True)
        outcomes.append(explored(family, kernel, chosen.seconds, chosen.runs))
    for line in (*_table(outcomes, chosen.runs > 0), "", *_summary(outcomes, chosen.runs)):
        print(line)
    return 0 if all(outcome.right for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
