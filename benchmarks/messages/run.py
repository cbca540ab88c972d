"""Overhead of recording and replaying, size of logs, and whether replays give the same.

    python run.py                    # everything
    python run.py --rounds 5 --replays 20 threads compute
    python run.py --each 100000 bounded_threads    # long runs, where the start matters little

Plain, recorded and replayed runs take turns, so that noise which lasts falls on all; the ratios are
those of medians: of the seconds that the programs measure themselves (wall), and of the processor
time of the whole command with its children, the start of Python and of Bohrbug included.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from bohrbug.runtime.channels.reading import read_log

PROGRAMS = Path(__file__).parent / "programs"
FREQUENT_SWITCHES = "1e-5"


class Run(NamedTuple):
    """How a command ended: the digest and the seconds that it prints, no digest if it failed."""

    digest: str
    seconds: float
    processor: float


def run(*command: str) -> Run:
    begin = processor_seconds()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    processor = processor_seconds() - begin
    words = done.stdout.split()
    if done.returncode or len(words) != 2:
        print(done.stderr, file=sys.stderr)
        return Run("", 0.0, processor)
    return Run(words[0], float(words[1]), processor)


def processor_seconds() -> float:
    """Of all processes that have been started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(name: str, rounds: int, replays: int, log: str, each: int = 0) -> str:
    program = [sys.executable, str(PROGRAMS / f"{name}.py")]
    if each and name.startswith("bounded"):
        program.append(str(each))
    bohrbug = [sys.executable, "-m", "bohrbug"]
    record = [*bohrbug, "record", "-q", "-o", log, "--"]
    replay = [*bohrbug, "replay-messages", "-q", log, "--"]
    runs: dict[str, list[Run]] = {"plain": [], "record": [], "replay": []}
    for _ in range(rounds):
        runs["plain"].append(run(*program))
        runs["record"].append(run(*record, *program))
        runs["replay"].append(run(*replay, *program))
    median = {kind: statistics.median(r.seconds for r in each) for kind, each in runs.items()}
    processor = {kind: statistics.median(r.processor for r in each) for kind, each in runs.items()}
    # Replays, of a run with as much disorder as can be had.
    if name == "threads":
        program.append(FREQUENT_SWITCHES)
    times = min(10, replays)
    plain = len({run(*program).digest for _ in range(times)})
    expected = run(*record, *program).digest
    same = sum(run(*replay, *program).digest == expected for _ in range(replays))
    found = read_log(Path(log))
    size = Path(log).stat().st_size / found.events
    ratios = [
        f"{median[kind] / median['plain']:.2f}, {processor[kind] / processor['plain']:.2f}"
        for kind in ("record", "replay")
    ]
    return (
        f"| {name} | {median['plain']:.3f} s | {ratios[0]} | {ratios[1]} "
        f"| {found.events:,} | {size:.1f} "
        f"| {plain} in {times} | {same} of {replays} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--replays", type=int, default=100)
    parser.add_argument("--each", type=int, default=0, help="messages of a sender, where bounded")
    parser.add_argument(
        "programs", nargs="*", default=sorted(path.stem for path in PROGRAMS.glob("*.py"))
    )
    options = parser.parse_args()
    print(
        "| program | plain | record: wall, processor | replay: likewise | events | bytes per event "
        "| different results, plain | replays with the recorded result |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.programs:
            log = str(Path(folder) / "log")
            row = measure(name, options.rounds, options.replays, log, options.each)
            print(row, flush=True)


if __name__ == "__main__":
    main()
