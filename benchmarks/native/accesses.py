"""What watching accesses costs: ``python benchmarks/native/accesses.py``.

The same program natively, with the thread sanitizer, and with our hooks under control; processor
time, the median of several, everything in turns.  Compare the ratios.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from run import built, runtime

from bohrbug.model.plan import Plan

HERE = Path(__file__).parent
KINDS = ("integers", "list", "bytes")
ROUNDS = "10"
TIMES = 7


def natively(program: Path) -> list[float]:
    done = subprocess.run([program, ROUNDS], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def watched(program: Path, level: str) -> list[float]:
    with runtime([str(program), ROUNDS], level=level, engine="anew") as controlled:
        executed = controlled.execute(Plan())
        assert not executed.trace.outcome.is_failure, executed.trace.outcome
        return [float(word) for word in controlled.printed.stdout.split()]


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = built(folder, HERE / "accesses.c").rename(folder / "plain")
        hooked = built(folder, HERE / "accesses.c", "-fsanitize=thread")
        ways = {
            "natively": lambda: natively(plain),
            "thread sanitizer": lambda: natively(hooked),
            "hooks, nothing watched": lambda: watched(hooked, "sync"),
            "hooks, races": lambda: watched(hooked, "racy"),
            "hooks, all": lambda: watched(hooked, "all"),
        }
        figures: dict[str, list[list[float]]] = {way: [] for way in ways}
        for _ in range(TIMES):
            for way, measure in ways.items():
                figures[way].append(measure())
    medians = {
        way: [statistics.median(column) for column in zip(*rows, strict=True)]
        for way, rows in figures.items()
    }
    for row in medians.values():
        row.append(sum(row))
    native, sanitizer = medians["natively"], medians["thread sanitizer"]
    print(f"{'':24}" + "".join(f"{kind:>28}" for kind in (*KINDS, "together")))
    for way, row in medians.items():
        cells = [
            f"{value:8.1f} ms {value / own:6.1f}x {(value - own) / (tsan - own or 1):5.2f}"
            for value, own, tsan in zip(row, native, sanitizer, strict=True)
        ]
        print(f"{way:24}" + "".join(f"{cell:>28}" for cell in cells))
    print("milliseconds, times the native ones, added time as a share of the sanitizer's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
