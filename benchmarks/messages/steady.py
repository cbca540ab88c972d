"""Tests that fail now and then, before and after: run natively, and replayed with a passing log.

    python steady.py --runs 200

Needs the libraries of ``requirements.txt`` beside Bohrbug.  All runs are made in one process, by
``bohrbug.record`` and ``bohrbug.replay_messages``.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import bohrbug
from bohrbug.runtime.channels.installation import install

FLAKY = Path(__file__).parent / "flaky"
PATIENCE = 5.0


def test_of(path: Path) -> Callable[[], None]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (name,) = (name for name in vars(module) if name.startswith("test_"))
    return getattr(module, name)


def fails(test: Callable[[], None]) -> bool:
    try:
        test()
    except AssertionError:
        return True
    return False


def record_pass(test: Callable[[], None], log: Path) -> int:
    for number in range(1, 1001):
        # What an earlier run left must not be finalised within this one.
        gc.collect()
        with bohrbug.record(log):
            failed = fails(test)
        if not failed:
            return number
    raise SystemExit("it never passed")


def measure(test: Callable[[], None], runs: int, log: Path) -> tuple[int, int, int, int]:
    """Failures natively, runs until a log of a pass, failures replayed, desynchronisations."""
    failures = sum(fails(test) for _ in range(runs))
    recorded = record_pass(test, log)
    failed = lost = 0
    for _ in range(runs):
        gc.collect()
        with bohrbug.replay_messages(log, keep_going=True, patience=PATIENCE) as replay:
            failed += fails(test)
        if replay.desynchronisation is not None:
            lost += 1
            print(replay.desynchronisation, file=sys.stderr)
    return failures, recorded, failed, lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("tests", nargs="*", type=Path, default=sorted(FLAKY.glob("test_*.py")))
    options = parser.parse_args()
    # Before the tests and their libraries are imported.
    install()
    threading.excepthook = lambda arguments: None
    print(
        "| test | failures natively | runs to record a pass | failures replayed | desynchronised |"
    )
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in options.tests:
            test = test_of(path)
            native, recorded, replayed, lost = measure(test, options.runs, Path(folder) / "log")
            of = f"of {options.runs}"
            print(
                f"| `{path.stem}` | {native} {of} | {recorded} | {replayed} {of} | {lost} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
