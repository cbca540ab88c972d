"""Data races in the suites of published libraries, as ``suites.py`` has them.

cd benchmarks
python -m texts.suites_races --json FILE      # ten minutes; read by texts.libraries --races
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from environments import default_cache
from suites import LOOPS, SUITES, Suite, environment, sources

HERE = Path(__file__).parent
PATIENCE = 240.0
"""Seconds of real time for a suite; what was found until then counts."""


def races_in(python: Path, suite: Suite, cache: Path, seconds: float) -> list[dict[str, object]]:
    """The races that the exploration of a suite reports, each as often as a test has it."""
    folder = sources(python, suite, cache)
    library, _, version = suite.requirement.partition("==")
    with tempfile.TemporaryDirectory() as name:
        found = Path(name) / "races"
        found.touch()
        plugins = ["-p", "collecting", "-p", "no:cacheprovider"]
        options = ["--bohrbug", f"--bohrbug-seconds={seconds:g}", "--bohrbug-keep-going"]
        try:
            subprocess.run(
                [python, "-m", "pytest", "-q", *plugins, *LOOPS, *suite.tests, *options],
                check=False,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(HERE), "BOHRBUG_RACES": str(found)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE,
            )
        except subprocess.TimeoutExpired:
            print(f"{suite.requirement}: not complete after {PATIENCE:.0f} s", file=sys.stderr)
        lines = found.read_text(encoding="utf-8").splitlines()
    races = [json.loads(line) for line in lines]
    return [{"library": library, "version": version, "folder": str(folder), **r} for r in races]


def main(argv: Sequence[str] | None = None) -> int:
    """Explore the suites, and write one line for each race."""
    parser = argparse.ArgumentParser(
        prog="python -m texts.suites_races", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--seconds", type=float, default=1.0, help="for each test")
    parser.add_argument("--suite", action="append", help="only these, by their names")
    arguments = parser.parse_args(argv)
    python = environment(Path(sys.executable), arguments.cache)
    for suite in SUITES:
        if arguments.suite and suite.requirement.partition("==")[0] not in arguments.suite:
            continue
        races = races_in(python, suite, arguments.cache, arguments.seconds)
        print(f"{suite.requirement}: {len(races)} races in its tests", flush=True)
        with arguments.json.open("a", encoding="utf-8") as file:
            for race in races:
                file.write(json.dumps(race) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
