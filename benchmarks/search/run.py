"""Schedules to the first bug: every strategy on every program, beside published figures.

From the folder ``benchmarks``: ``python -m search.run --quick``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import bohrbug
from bohrbug.search.registry import STRATEGIES

from . import published
from .programs import SUITE
from .trials import Records, Trial, TwinTrial, append, records_of

LIMIT = 10_000
"""Schedules after which a trial is given up."""

TWIN_LIMIT = 1_000
"""Executions of a correct twin: what a user has by default."""

SEEDS = 20

DETERMINISTIC = frozenset({"bpor", "dfs", "ipb", "idb", "dpor"})
"""Strategies for which the seed changes nothing: one trial stands for all."""

AUTO = "auto"


def explore_broken(
    program: str, strategy: str, seed: int, limit: int, seconds: float | None
) -> Trial:
    """Explore a broken program until its bug is found or the limit is reached."""
    result = bohrbug.explore(
        SUITE[program].broken,
        name=program,
        strategy=strategy,
        executions=limit,
        seconds=seconds,
        bound=2 if strategy == AUTO else None,
        seed=seed,
        minimise=False,
        causes=0,
    )
    failure = result.failures[0] if result.failures else None
    return Trial(
        program,
        strategy,
        seed,
        None if failure is None else failure.execution,
        "" if failure is None else failure.strategy,
        "" if failure is None else failure.outcome.kind.value,
        result.executions,
        result.seconds,
    )


def explore_correct(program: str, strategy: str, limit: int, seconds: float | None) -> TwinTrial:
    """Explore a correct twin with the budget that a user has by default."""
    result = bohrbug.explore(
        SUITE[program].correct,
        name=program,
        strategy=strategy,
        executions=limit,
        seconds=seconds,
        minimise=False,
        causes=0,
    )
    return TwinTrial(
        program,
        strategy,
        result.verdict.kind.value,
        tuple(failure.outcome.message for failure in result.failures),
        result.verdict.caveats,
        result.executions,
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """The trials of one strategy on one program.

    Parameters:
        median: schedules to the first bug; a trial that did not find it counts as beyond
            the limit, and ``None`` stands for a median there.
        found: trials that found the bug.
        trials: all trials.
    """

    median: float | None
    found: int
    trials: int

    def __str__(self) -> str:
        text = "-" if self.median is None else f"{self.median:g}"
        return text if self.found == self.trials else f"{text} ({self.found}/{self.trials})"


def summarise(trials: Iterable[Trial]) -> dict[tuple[str, str], Cell]:
    """The median and the number of finds by program and strategy."""
    by_key: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        by_key.setdefault((trial.program, trial.strategy), []).append(trial)
    cells = {}
    for key, group in by_key.items():
        numbers = [float("inf") if t.schedules is None else float(t.schedules) for t in group]
        median = statistics.median(numbers)
        found = sum(number != float("inf") for number in numbers)
        cells[key] = Cell(None if median == float("inf") else median, found, len(numbers))
    return cells


def best_single(
    cells: dict[tuple[str, str], Cell], program: str, strategies: Sequence[str]
) -> tuple[str, float] | None:
    """The single strategy with the smallest median."""
    known = [
        (cell.median, strategy)
        for strategy in strategies
        if strategy != AUTO
        and (cell := cells.get((program, strategy))) is not None
        and cell.median is not None
    ]
    return (min(known)[1], min(known)[0]) if known else None


def table(
    cells: dict[tuple[str, str], Cell], programs: Sequence[str], strategies: Sequence[str]
) -> str:
    """A row for each program: a column per strategy, the ratio to the best, published figures."""
    figures = published.read()
    singles = [strategy for strategy in strategies if strategy != AUTO]
    header = ["program", *strategies, "best", "auto / best", "published"]
    rows = [header, ["---"] * len(header)]
    for program in programs:
        row = [program]
        row += [str(cells.get((program, strategy), "")) for strategy in strategies]
        best = best_single(cells, program, singles)
        own = cells.get((program, AUTO))
        ratio = ""
        if best is not None and own is not None:
            ratio = "inf" if own.median is None else f"{own.median / best[1]:.1f}"
        row += [best[0] if best else "", ratio]
        row.append(", ".join(str(figure) for figure in figures.get(SUITE[program].counterpart, [])))
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def totals(
    cells: dict[tuple[str, str], Cell], programs: Sequence[str], strategies: Sequence[str]
) -> str:
    """For each strategy how many programs it breaks with every seed, and in at least half."""
    rows = ["| strategy | found with every seed | median within the limit |", "|---|---|---|"]
    for strategy in strategies:
        own = [cells[key] for program in programs if (key := (program, strategy)) in cells]
        always = sum(cell.found == cell.trials for cell in own)
        mostly = sum(cell.median is not None for cell in own)
        rows.append(f"| {strategy} | {always} of {len(own)} | {mostly} of {len(own)} |")
    return "\n".join(rows)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m search.run", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--strategy", action="append", choices=list(STRATEGIES), help="may be repeated"
    )
    parser.add_argument("--program", action="append", choices=list(SUITE), help="may be repeated")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--limit", type=int, default=LIMIT, help="schedules per trial")
    parser.add_argument("--seconds", type=float, help="wall time per trial; none by default")
    parser.add_argument("--no-large", action="store_true", help="leave out the large programs")
    parser.add_argument("--no-twins", action="store_true", help="leave out the correct twins")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--json", type=Path, help="append every trial to this file; make none that is in it"
    )
    parser.add_argument(
        "--read", type=Path, action="append", help="measure nothing; tables of such files together"
    )
    parser.add_argument(
        "--quick", action="store_true", help="3 seeds, 1,000 schedules, no large programs"
    )
    arguments = parser.parse_args(argv)
    if arguments.quick:
        arguments.seeds, arguments.limit, arguments.no_large = 3, 1_000, True
    arguments.strategy = arguments.strategy or list(STRATEGIES)
    arguments.program = [
        name
        for name in arguments.program or SUITE
        if arguments.program or not (arguments.no_large and SUITE[name].is_large)
    ]
    return arguments


def _jobs(
    arguments: argparse.Namespace, known: Records
) -> Iterator[tuple[Callable[..., Trial | TwinTrial], tuple[object, ...]]]:
    """What is left to explore: first every program once, so that a run can be stopped early."""
    done = {(trial.program, trial.strategy, trial.seed) for trial in known.trials}
    done_twins = {twin.program for twin in known.twins}
    for seed in range(arguments.seeds):
        for program in arguments.program:
            if seed == 0 and not arguments.no_twins and program not in done_twins:
                yield explore_correct, (program, AUTO, TWIN_LIMIT, arguments.seconds)
            for strategy in arguments.strategy:
                is_needed = seed == 0 or strategy not in DETERMINISTIC
                if is_needed and (program, strategy, seed) not in done:
                    job = (program, strategy, seed, arguments.limit, arguments.seconds)
                    yield explore_broken, job


def run(arguments: argparse.Namespace) -> Records:
    """Make all explorations that the file does not have yet, several processes at a time."""
    path: Path | None = arguments.json
    conditions = _conditions(arguments)
    records = Records()
    if path is not None and path.exists():
        records = records_of([path])
        if records.conditions and records.conditions[-1]["limit"] != arguments.limit:
            raise SystemExit(f"{path} has trials with another limit: name another file")
    records.add(conditions)
    if path is not None:
        append(path, conditions)
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        jobs = [pool.submit(explore, *job) for explore, job in _jobs(arguments, records)]
        for number, finished in enumerate(as_completed(jobs), 1):
            records.add(finished.result())
            if path is not None:
                append(path, finished.result())
            if number % 50 == 0:
                print(f"{number:,} of {len(jobs):,} trials", file=sys.stderr, flush=True)
    return records


def _conditions(arguments: argparse.Namespace) -> dict[str, object]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "seeds": arguments.seeds,
        "limit": arguments.limit,
        "seconds": arguments.seconds,
    }


def _print(arguments: argparse.Namespace, records: Records) -> None:
    """Print the tables, and what is wrong."""
    trials, twins = records.trials, records.twins
    measured = {trial.program for trial in trials}
    programs = [program for program in SUITE if program in measured]
    strategies = [
        name for name in arguments.strategy if any(trial.strategy == name for trial in trials)
    ]
    cells = summarise(trials)
    print("\n".join(json.dumps(each) for each in records.conditions))
    print("\n## Schedules to the first bug (medians)\n")
    print(table(cells, programs, strategies))
    print(f"\n## Strategies\n\n{totals(cells, programs, strategies)}")
    for trial in trials:
        if trial.outcome and trial.outcome not in SUITE[trial.program].outcomes:
            print(f"\n(!) {trial.program} failed by {trial.outcome}, which is not its bug")
    if twins:
        verdicts = [twin.verdict for twin in twins]
        counts = ", ".join(f"{verdicts.count(each)} {each}" for each in sorted(set(verdicts)))
        print(f"\n## Correct twins, explored by auto\n\n{counts}")
    for twin in twins:
        if twin.failures or twin.caveats:
            print(f"\n(!) twin of {twin.program}: {'; '.join((*twin.failures, *twin.caveats))}")


def main(argv: Sequence[str] | None = None) -> None:
    """Run what the command line asks for, and print the tables."""
    arguments = _arguments(argv)
    _print(arguments, records_of(arguments.read) if arguments.read else run(arguments))


if __name__ == "__main__":
    main()
