"""Faulty proxies: what Bohrbug finds in them, and what a stress test does.

    cd benchmarks
    python -m texts.proxies                       # about fifteen minutes
    python -m texts.proxies --json FILE           # goes on where it was stopped
    python -m texts.proxies --variant find-split --runs 100 --executions 100

The variants are made from ``proxy/proxy.c`` by ``proxy/mutations.py``.  As dBug's authors did with
their students' proxies, those that fail when the clients come one after the other are set aside.
The stress test runs the program as it is until it fails, exits with another code than 0, or hangs
for two seconds; Bohrbug explores it, compiled with hooks, with its default strategy and as many
executions.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bohrbug.exploration.options import ExploreOptions
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer
from bohrbug.runtime.posix.build import compiler

from .proxy.mutations import Variant, unmarked, variants

SOURCE = Path(__file__).parent / "proxy" / "proxy.c"
RUNS = 1_000
IN_TURN = 5
PATIENCE = 2.0
"""Seconds of real time after which a native run hangs; an ordinary one takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of one variant.

    Parameters:
        name, operator: of the variant.
        in_turn: it fails already if the clients come one after the other.
        stress: the number of the native run that failed first, ``None`` if none did.
        runs: native runs made.
        execution: the number of Bohrbug's execution that failed first, ``None`` if none did.
        executions: executions made.
        outcome: the kind of that failure, and what it says.
        races: data races reported.
        verdict: its kind.
    """

    name: str
    operator: str
    in_turn: bool
    stress: int | None = None
    runs: int = 0
    execution: int | None = None
    executions: int = 0
    outcome: str = ""
    races: int = 0
    verdict: str = ""


def compiled(folder: Path, name: str, text: str, *flags: str) -> Path:
    """A program in a folder."""
    source = folder / f"{name}.c"
    source.write_text(text, encoding="utf-8")
    target = folder / f"{name}{''.join(flags)}"
    cc = compiler()
    assert cc is not None
    words = [cc, "-std=gnu11", "-g", "-O1", "-pthread", *flags]
    subprocess.run([*words, "-o", str(target), str(source)], check=True)
    return target


def fails(program: Path, *arguments: str) -> bool:
    """Whether one native run does."""
    try:
        done = subprocess.run(
            [program, *arguments],
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def first_failure(program: Path, runs: int, *arguments: str) -> int | None:
    """The number of the first native run that fails."""
    return next((run for run in range(1, runs + 1) if fails(program, *arguments)), None)


def measured(variant: Variant, folder: Path, runs: int, executions: int) -> Measured:
    """Test a variant in turn, under stress, and with Bohrbug."""
    plain = compiled(folder, variant.name, variant.text)
    if first_failure(plain, IN_TURN, "in-turn") is not None:
        return Measured(variant.name, variant.operator, in_turn=True)
    stress = first_failure(plain, runs)
    hooked = compiled(folder, variant.name, variant.text, "-fsanitize=thread")
    options = ExploreOptions(executions=executions, seconds=None, minimise=False, causes=0)
    explorer, _ = native_explorer(Command((str(hooked),), exit_code=0), options)
    result = explorer.explore()
    failure = result.failures[0] if result.failures else None
    return Measured(
        variant.name,
        variant.operator,
        in_turn=False,
        stress=stress,
        runs=stress or runs,
        execution=None if failure is None else failure.execution,
        executions=result.executions,
        outcome=""
        if failure is None
        else f"{failure.outcome.kind.value}: {failure.outcome.message}",
        races=len(result.races),
        verdict=result.verdict.kind.value,
    )


# -- tables --------------------------------------------------------------------------------


def table(rows: Iterable[Measured]) -> str:
    """A row for each variant that passes in turn."""
    lines = [
        "| variant | found after executions | what | data races | stress test fails in run |",
        "|---|---|---|---|---|",
    ]
    for one in rows:
        if not one.in_turn:
            what = one.outcome.partition(":")[0]
            lines.append(
                f"| `{one.name}` | {one.execution or '-'} | {what} | {one.races or ''}"
                f" | {one.stress or '-'} |"
            )
    return "\n".join(lines)


def summary(rows: Sequence[Measured]) -> str:
    """How many were found, by whom, after how many executions or runs."""
    tested = [one for one in rows if not one.in_turn]
    ours = [one for one in tested if one.execution is not None]
    stress = [one for one in tested if one.stress is not None]
    both = [one for one in ours if one.stress is not None]
    lines = [
        f"{len(rows)} variants, {len(tested)} of which pass in turn",
        f"Bohrbug fails {len(ours)}, the stress test {len(stress)}, both {len(both)}",
        f"only the stress test: {_names(set(_of(stress)) - set(_of(ours)))}",
        f"only a race: {_names(_of(one for one in tested if one.races and one not in ours))}",
        f"nothing: {_names(_of(one for one in tested if not one.races and one not in ours))}",
    ]
    if stress:
        lines.append(f"ratio of variants that fail: {len(ours) / len(stress):.2f}")
    if ours:
        lines.append(f"median execution of Bohrbug's: {_median(one.execution for one in ours)}")
    if both:
        quotients = [(one.stress or 0) / (one.execution or 1) for one in both]
        lines.append(
            f"where both find it: median run {_median(one.stress for one in both)}, median"
            f" execution {_median(one.execution for one in both)}, median of run / execution"
            f" {statistics.median(quotients):.1f}"
        )
    kinds = Counter(one.outcome.partition(":")[0] for one in ours)
    lines.append(", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    return "\n".join(lines)


def _of(rows: Iterable[Measured]) -> list[str]:
    return [one.name for one in rows]


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _median(numbers: Iterable[int | None]) -> str:
    return f"{statistics.median(number for number in numbers if number is not None):g}"


# -- the command line ----------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Test the variants, print the tables; 1 if the correct proxy fails."""
    parser = argparse.ArgumentParser(
        prog="python -m texts.proxies", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--runs", type=int, default=RUNS, help="of the stress test, at most")
    parser.add_argument("--executions", type=int, default=RUNS, help="of Bohrbug, at most")
    parser.add_argument("--variant", action="append", help="only these; may be repeated")
    parser.add_argument("--json", type=Path, help="keep results in this file; repeat none in it")
    arguments = parser.parse_args(argv)
    source = SOURCE.read_text(encoding="utf-8")
    known = {}
    if arguments.json is not None and arguments.json.exists():
        lines = arguments.json.read_text(encoding="utf-8").splitlines()
        known = {one.name: one for one in (Measured(**json.loads(line)) for line in lines)}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for variant in [Variant("correct", "", unmarked(source)), *variants(source)]:
            if arguments.variant and variant.name not in arguments.variant:
                continue
            one = known.get(variant.name)
            if one is None:
                one = measured(variant, Path(folder), arguments.runs, arguments.executions)
                print(one, flush=True)
                if arguments.json is not None:
                    with arguments.json.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(one)) + "\n")
            rows.append(one)
    faulty = [one for one in rows if one.operator]
    print(f"\n{table(faulty)}\n\n{summary(faulty)}")
    wrong = [one for one in rows if not one.operator and (one.execution or one.stress or one.races)]
    for one in wrong:
        print(f"(!) the correct proxy: {one}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
