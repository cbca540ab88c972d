"""Tests that fail now and then, before and after: run natively, and replayed with a passing log.

    python steady.py --runs 200

Needs the libraries of ``requirements.txt`` beside Bohrbug and pytest.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

FLAKY = Path(__file__).parent / "flaky"
SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
DESYNCHRONISED = 3


def pytest_command(test: Path) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]


def bohrbug(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "bohrbug", *arguments]


def measure(test: Path, runs: int, log: Path) -> tuple[int, int, int, int]:
    """Failures natively, runs until a log of a pass, failures replayed, desynchronisations."""
    failures = sum(
        subprocess.run(pytest_command(test), **SILENT, check=False).returncode != 0
        for _ in range(runs)
    )
    recorded = 0
    while True:
        recorded += 1
        record = bohrbug("record", "-q", "-o", str(log), "--", *pytest_command(test))
        if subprocess.run(record, **SILENT, check=False).returncode == 0:
            break
        if recorded == 1000:
            raise SystemExit(f"{test.name} never passed")
    replay = bohrbug("replay-messages", "-q", str(log), "--", *pytest_command(test))
    statuses = [subprocess.run(replay, **SILENT, check=False).returncode for _ in range(runs)]
    failed = sum(status != 0 for status in statuses)
    return failures, recorded, failed, statuses.count(DESYNCHRONISED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("tests", nargs="*", type=Path, default=sorted(FLAKY.glob("test_*.py")))
    options = parser.parse_args()
    print(
        "| test | failures natively | runs to record a pass | failures replayed | desynchronised |"
    )
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for test in options.tests:
            native, recorded, replayed, lost = measure(test, options.runs, Path(folder) / "log")
            of = f"of {options.runs}"
            print(
                f"| `{test.stem}` | {native} {of} | {recorded} | {replayed} {of} | {lost} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
