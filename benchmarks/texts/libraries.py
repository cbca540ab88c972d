"""CHESS's tables 2 and 3 and DataCollider's races, measured on the libraries of ``examples/real``.

    cd benchmarks
    python -m texts.libraries --json FILE                 # twenty minutes; goes on where it stopped
    python -m texts.libraries --read FILE                 # the tables
    python -m texts.libraries --read FILE --sample 30     # races to check by hand, with their lines

Each library is installed as published into a folder of its own, and each of its tests explored in
processes of its own: see ``one_test.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from environments import ROOT, default_cache

from .bugs import table_of_bugs

REAL = ROOT / "examples" / "real"
ONE_TEST = Path(__file__).with_name("one_test.py")
CHECKED = Path(__file__).with_name("checked.json")
PHASES = ("find", "bound", "races")
PATIENCE = 120.0
"""Seconds of real time for one phase of one test."""

VERDICTS = ("harmful", "benign", "no race")
"""What a check by hand can say."""

Row = dict[str, Any]
"""A line of the file: folder, library, test, phase, and what ``one_test.py`` printed."""


# -- measuring -----------------------------------------------------------------------------


def installed(folder: str, cache: Path) -> tuple[Path, str]:
    """Where the library of a folder of ``examples/real`` is installed, and what it is called."""
    requirements = REAL / folder / "requirements.txt"
    target = cache / "real" / f"{sys.version_info[0]}.{sys.version_info[1]}" / folder
    packages = target / "site-packages"
    if not requirements.exists():
        return packages, "cpython"
    if not (target / "finished").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages)]
        subprocess.run([*pip, "-r", str(requirements)], check=True, stderr=subprocess.DEVNULL)
        (target / "finished").touch()
    (name, _, _) = requirements.read_text(encoding="utf-8").split()[0].partition("==")
    return packages, re.sub(r"\[.*\]", "", name)


def tests() -> Iterator[tuple[str, Path, str]]:
    """All tests: folder, file and function."""
    for path in sorted(REAL.glob("*/test_*.py")):
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            yield path.parent.name, path, name


def explored(folder: str, path: Path, test: str, phase: str, cache: Path) -> Row:
    """One phase of one test."""
    packages, library = installed(folder, cache)
    command = [sys.executable, str(ONE_TEST), str(path), test, phase, library]
    known: Row = {"folder": folder, "library": library, "test": test, "phase": phase}
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(packages), "PYTHONHASHSEED": "0"},
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return {**known, **json.loads(done.stdout.strip().splitlines()[-1])}
    except subprocess.TimeoutExpired:
        return {**known, "problem": f"no result after {PATIENCE:.0f} s"}
    except (ValueError, IndexError):
        return {**known, "problem": (done.stderr.strip().splitlines() or ["(silent)"])[-1]}


def measure(arguments: argparse.Namespace, rows: list[Row]) -> None:
    """Explore whatever is not among the rows yet."""
    known = {(row["folder"], row["test"], row["phase"]) for row in rows}
    for folder, path, test in tests():
        if arguments.library and folder not in arguments.library:
            continue
        for phase in PHASES:
            if (folder, test, phase) in known:
                continue
            row = explored(folder, path, test, phase, arguments.cache)
            said = row.get("problem") or f"{row['verdict']}, {row['executions']} executions"
            print(f"{folder} {test} {phase}: {said}", file=sys.stderr, flush=True)
            rows.append(row)
            if arguments.json is not None:
                with arguments.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


# -- CHESS, table 2 ------------------------------------------------------------------------


def bound_of(row: Row) -> str:
    """How many preemptions all schedules were explored with; ``all`` if there are no more."""
    text = " ".join(row.get("covered", ()))
    if "all schedules (" in text:
        return "all"
    if found := re.search(r"all schedules with at most (\d+) preemption", text):
        return found[1]
    return "0" if "all schedules without preemptions" in text else "-"


def _as_number(bound: str) -> int:
    return int(bound) if bound.isdigit() else -1 if bound == "-" else sys.maxsize


def programs_table(rows: Sequence[Row]) -> str:
    """A row for each library: lines, tasks, scheduling points, preemptions."""
    lines = [
        "| library | lines | tasks | points | bugs found | executions | preemptions | bound |",
        "|---|---|---|---|---|---|---|---|",
    ]
    by_library: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if "problem" not in row:
            by_library.setdefault((row["library"], row["version"]), []).append(row)
    for (library, version), group in sorted(by_library.items()):
        finds = [row for row in group if row["phase"] == "find"]
        found = [row for row in finds if row["execution"]]
        bounds = [bound_of(row) for row in group if row["phase"] == "bound"]
        executions = ", ".join(str(row["execution"]) for row in found)
        preemptions = max((row["preemptions"] for row in found), default="-")
        lines.append(
            f"| {library} {version} | {group[0]['lines'] or '-'}"
            f" | {max(row['tasks'] for row in group)} | {max(row['points'] for row in group)}"
            f" | {len(found)} of {len(finds)} | {executions} | {preemptions}"
            f" | {min(bounds, key=_as_number, default='-')} |"
        )
    return "\n".join(lines)


def programs_summary(rows: Sequence[Row]) -> str:
    """Medians over all tests."""
    finds = [row for row in rows if row["phase"] == "find" and "problem" not in row]
    found = [row for row in finds if row["execution"]]
    bounds = Counter(
        bound_of(row) for row in rows if row["phase"] == "bound" and "problem" not in row
    )
    preemptions = Counter(row["preemptions"] for row in found)

    def spread(key: str) -> str:
        values = [row[key] for row in found]
        return f"{statistics.median(values):g} ({min(values)} to {max(values)})"

    return "\n".join(
        [
            f"{len(found)} of {len(finds)} tests fail",
            f"tasks: {spread('tasks')}; points: {spread('points')}",
            f"executions until the bug: {spread('execution')}",
            f"preemptions, minimised: {_counts(preemptions)}",
            f"explored completely up to so many preemptions: {_counts(bounds)}",
        ]
    )


def _counts(counter: Counter[Any]) -> str:
    return ", ".join(f"{key}: {counter[key]}" for key in sorted(counter, key=str))


# -- DataCollider --------------------------------------------------------------------------


_OF_TESTS = re.compile(r"(^|/)(tests?/|test_)")


def races_of(rows: Iterable[Row]) -> list[Row]:
    """Each race once, with its library; those in the code of the tests only are left out."""
    races: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        for race in row.get("races", ()):
            places = sorted((access["file"], access["line"]) for access in race["accesses"])
            if all(_OF_TESTS.search(file) for file, _ in places):
                continue
            key = (row["library"], row["version"], *map(tuple, places))
            races.setdefault(key, {**race, "library": row["library"], "folder": row["folder"]})
    return list(races.values())


def races_table(races: Sequence[Row], checked: dict[str, Any]) -> str:
    """How many races look like what, and what came of those that were checked by hand."""
    lines = [
        f"| pattern | listed as | races | libraries | checked | {' | '.join(VERDICTS)} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    counted = Counter(race["pattern"] for race in races)
    for pattern, count in counted.most_common():
        own = [race for race in races if race["pattern"] == pattern]
        verdicts = [checked[key]["verdict"] for race in own if (key := key_of(race)) in checked]
        benign = "often benign" if own[0]["benign"] else "suspicious"
        libraries = len({race["library"] for race in own})
        lines.append(
            f"| {pattern} | {benign} | {count} | {libraries} | {len(verdicts)}"
            f" | {' | '.join(str(verdicts.count(each)) for each in VERDICTS)} |"
        )
    return "\n".join(lines)


def agreement(races: Sequence[Row], checked: dict[str, Any]) -> str:
    """How often the class of a race and the check by hand say the same."""
    pairs = Counter(
        (race["benign"], checked[key]["verdict"])
        for race in races
        if (key := key_of(race)) in checked
    )
    benign = sum(race["benign"] for race in races)
    libraries = len({race["library"] for race in races})
    share = f"{100 * benign / max(len(races), 1):.0f}%"
    lines = [
        f"{len(races)} races in {libraries} libraries, {benign} of them often benign ({share})",
        f"checked by hand: {pairs.total()}",
    ]
    for name, often_benign in (("suspicious", False), ("often benign", True)):
        counts = [f"{pairs[often_benign, verdict]} {verdict}" for verdict in VERDICTS]
        lines.append(f"listed as {name}: {', '.join(counts)}")
    return "\n".join(lines)


def key_of(race: Row) -> str:
    """What names a race in the file of those that were checked."""
    places = sorted(f"{access['file']}:{access['line']}" for access in race["accesses"])
    return f"{race['library']} {' '.join(places)}"


def sample(races: Sequence[Row], count: int) -> list[Row]:
    """So many races, drawn at random, the same ones each time."""
    in_order = sorted(races, key=key_of)
    return Random(2011).sample(in_order, min(count, len(in_order)))


def show(race: Row, cache: Path) -> None:
    """A race, with the lines around both places."""
    print(f"\n## {key_of(race)}\n{race['label']}: {race['pattern']}")
    packages = Path(race["folder"])
    if not packages.is_absolute():
        packages, _ = installed(race["folder"], cache)
    for access in race["accesses"]:
        place = f"{access['file']}:{access['line']}"
        print(f"- {access['what']} in {access['function']}, {access['locks']} locks, {place}")
        found = [*packages.rglob(access["file"])] or [*REAL.rglob(access["file"])]
        if not found:
            found = list(Path(os.__file__).parent.glob(access["file"].split("/")[-1]))
        if found:
            text = found[0].read_text(encoding="utf-8", errors="replace").splitlines()
            at = access["line"]
            for number in range(max(1, at - 6), min(len(text), at + 4) + 1):
                mark = ">" if number == at else " "
                print(f"   {mark} {number} {text[number - 1]}")


# -- the command line ----------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Measure or read, and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m texts.libraries", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--json", type=Path, help="keep results in this file; repeat none in it")
    parser.add_argument("--read", type=Path, help="measure nothing; take what is in such a file")
    parser.add_argument("--library", action="append", help="only these folders; may be repeated")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--races", type=Path, help="races of suites, for the last table only")
    parser.add_argument("--sample", type=int, help="show so many races to check by hand")
    arguments = parser.parse_args(argv)
    rows: list[Row] = []
    source = arguments.read or arguments.json
    if source is not None and source.exists():
        rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    if arguments.read is None and arguments.races is None:
        measure(arguments, rows)
    if arguments.races is not None:
        # Of each suite, what suites_races.py has written.
        lines = arguments.races.read_text(encoding="utf-8").splitlines()
        rows = [{**race, "races": [race]} for race in map(json.loads, lines)]
    races = races_of(rows)
    if arguments.sample is not None:
        for race in sample(races, arguments.sample):
            show(race, arguments.cache)
        return 0
    if arguments.races is not None:
        rows = []
    checked = json.loads(CHECKED.read_text(encoding="utf-8")) if CHECKED.exists() else {}
    if rows:
        print(f"## CHESS, table 2\n\n{programs_table(rows)}\n\n{programs_summary(rows)}")
    bugs = (ROOT / "docs" / "bugs.md").read_text(encoding="utf-8")
    print(f"\n## CHESS, table 3\n\n{table_of_bugs(bugs)}")
    print(f"\n## DataCollider\n\n{races_table(races, checked)}\n\n{agreement(races, checked)}")
    for row in rows:
        if "problem" in row:
            print(f"(!) {row['folder']} {row['test']} {row['phase']}: {row['problem']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
