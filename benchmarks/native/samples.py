"""Programs without hooks: ``python benchmarks/native/samples.py``.

How many executions ``--sample-accesses`` takes until it has shown a race, or a failure; and what
an execution costs with it, and with one watchpoint, as a part of what it costs without: processor
time of the program and of Bohrbug, medians.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

from run import runtime

from bohrbug.model.plan import Plan, UniformRandom

PROGRAMS = Path(__file__).parents[2] / "tests" / "native" / "programs"
RACES = {
    "fees.c": "balance",
    "plain_lost_update.c": "balance",
    "plain_flag.c": "ready",
    "check_then_act.c": "taken",
    "double_checked.c": "shared",
    "reference_count.c": "owners",
    "bit_fields.c": "door",
    "peterson.c": "turn",
}
"""Programs, and a variable that races."""

SEEDS = 9
MOST = 300
TIMES = 60
ROUNDS = 5


def compiled(folder: Path, name: str) -> str:
    target = folder / Path(name).stem
    words = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", "-pthread"]
    subprocess.run([*words, "-o", str(target), str(PROGRAMS / name)], check=True)
    return str(target)


def until_found(program: str, seed: int) -> tuple[int, int]:
    """Executions until a race was seen, and until one failed; ``MOST`` for later."""
    race = failure = MOST
    with runtime([program], sample=3, seed=seed) as sampled:
        sampled.execute(Plan())
        for number in range(2, MOST):
            trace = sampled.execute(Plan((), UniformRandom(1000 * seed + number))).trace
            race = min(race, number) if trace.races else race
            failure = min(failure, number) if trace.outcome.is_failure else failure
            if max(race, failure) < MOST or number == race + 100:
                break
    return race, failure


def processor_time() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def cost(program: str, **settings: object) -> float:
    """Of an execution, in seconds."""
    began = processor_time()
    with runtime([program], **settings) as executing:
        for seed in range(TIMES):
            executing.execute(Plan((), UniformRandom(seed)))
    return (processor_time() - began) / TIMES


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'':22}{'first race':>16}{'first failure':>16}{'sampled':>10}{'watched':>10}")
        for source, variable in RACES.items():
            program = compiled(folder, source)
            found = [until_found(program, seed) for seed in range(SEEDS)]
            plain, sampled, watched = [], [], []
            for _ in range(ROUNDS):
                plain.append(cost(program))
                sampled.append(cost(program, sample=3))
                watched.append(cost(program, watch=(variable,)))
            columns = []
            for column in zip(*found, strict=True):
                middle = statistics.median(column)
                columns.append("-" if middle == MOST else f"{middle} ({min(column)}-{max(column)})")
            base = statistics.median(plain)
            ratios = [statistics.median(each) / base for each in (sampled, watched)]
            print(
                f"{source:22}{columns[0]:>16}{columns[1]:>16}"
                + "".join(f"{ratio:>10.2f}" for ratio in ratios),
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
