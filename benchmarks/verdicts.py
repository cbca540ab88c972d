"""What is said, by default, of small programs whose truth is known.

``python benchmarks/verdicts.py`` explores the programs of ``tests/programs/broken`` and ``correct``
with the default options and counts the verdicts: of the correct ones, how many hold without a
condition; of the broken ones, how many are found.  Names each that is neither.  Exits with 1 if a
correct one fails or a broken one is said to hold.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import bohrbug
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import PROMISES, VerdictKind
from tests.programs.test_programs import PROGRAMS, Program, correct_programs


def said_of(result: Result) -> str:
    """The case of a verdict, and whether it has a condition."""
    conditions = result.verdict.conditions
    taking = conditions is not None and conditions.taking
    return result.verdict.kind.value + (", with a condition" if taking else "")


def _explain(program: Program, result: Result) -> None:
    print(f"  {program.__module__}.{program.__name__}: {said_of(result)}")
    conditions = result.verdict.conditions
    for line in (
        *result.verdict.covered,
        *result.verdict.caveats,
        *(() if conditions is None else conditions.taking),
    ):
        print(f"      {line}")


def _judged(programs: list[Program], wanted: str, executions: int, seconds: float) -> list[Result]:
    results = []
    for program in programs:
        result = bohrbug.explore(
            program, executions=executions, seconds=seconds, minimise=False, causes=0
        )
        results.append(result)
        if said_of(result) != wanted:
            _explain(program, result)
    return results


def _table(name: str, results: list[Result]) -> None:
    print(f"{len(results)} {name} programs:")
    for said, count in Counter(map(said_of, results)).most_common():
        print(f"  {count:>4}  {count / len(results):6.1%}  {said}")


def main() -> int:
    """Print what is said of which programs, and count it."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = ExploreOptions()
    parser.add_argument("words", nargs="*", help="only programs with one of these in their name")
    parser.add_argument("--executions", type=int, default=default.executions)
    parser.add_argument("--seconds", type=float, default=default.seconds)
    chosen = parser.parse_args()
    programs = [
        program
        for program in PROGRAMS
        if not chosen.words or any(word in program.__name__ for word in chosen.words)
    ]
    right = correct_programs()
    correct = [program for program in programs if program in right]
    broken = [program for program in programs if program not in right]
    limits = chosen.executions, chosen.seconds
    held = _judged(correct, VerdictKind.HOLDS.value, *limits)
    found = _judged(broken, VerdictKind.FAILED.value, *limits)
    for name, results in (("correct", held), ("broken", found)):
        if results:
            _table(name, results)
    wrong = any(result.verdict.kind is VerdictKind.FAILED for result in held) or any(
        result.verdict.kind in PROMISES and said_of(result) == result.verdict.kind.value
        for result in found
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
