"""Overhead of recording and replaying, size of logs, and whether replays give the same.

    python run.py                    # everything
    python run.py --rounds 5 --replays 20 threads compute

Plain, recorded and replayed runs take turns, so that noise which lasts falls on all; the ratios are
those of the medians of the seconds that the programs measure themselves.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bohrbug.runtime.channels.reading import read_log

PROGRAMS = Path(__file__).parent / "programs"
FREQUENT_SWITCHES = "1e-5"


def run(*command: str) -> tuple[str, float]:
    """The digest and the seconds that a program prints; no digest if it failed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    words = done.stdout.split()
    if done.returncode or len(words) != 2:
        print(done.stderr, file=sys.stderr)
        return "", 0.0
    return words[0], float(words[1])


def measure(name: str, rounds: int, replays: int, log: str) -> str:
    program = [sys.executable, str(PROGRAMS / f"{name}.py")]
    bohrbug = [sys.executable, "-m", "bohrbug"]
    record = [*bohrbug, "record", "-q", "-o", log, "--"]
    replay = [*bohrbug, "replay-messages", "-q", log, "--"]
    seconds: dict[str, list[float]] = {"plain": [], "record": [], "replay": []}
    for _ in range(rounds):
        seconds["plain"].append(run(*program)[1])
        seconds["record"].append(run(*record, *program)[1])
        seconds["replay"].append(run(*replay, *program)[1])
    median = {kind: statistics.median(values) for kind, values in seconds.items()}
    # Replays, of a run with as much disorder as can be had.
    if name == "threads":
        program.append(FREQUENT_SWITCHES)
    plain = len({run(*program)[0] for _ in range(10)})
    expected, _ = run(*record, *program)
    same = sum(run(*replay, *program)[0] == expected for _ in range(replays))
    found = read_log(Path(log))
    size = Path(log).stat().st_size / found.events
    return (
        f"| {name} | {median['plain']:.3f} s | {median['record'] / median['plain']:.2f} "
        f"| {median['replay'] / median['plain']:.2f} | {found.events:,} | {size:.1f} "
        f"| {plain} in 10 | {same} of {replays} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--replays", type=int, default=100)
    parser.add_argument(
        "programs", nargs="*", default=["threads", "processes", "streams", "compute"]
    )
    options = parser.parse_args()
    print(
        "| program | plain | record | replay | events | bytes per event "
        "| different results, plain | replays with the recorded result |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.programs:
            row = measure(name, options.rounds, options.replays, str(Path(folder) / "log"))
            print(row, flush=True)


if __name__ == "__main__":
    main()
