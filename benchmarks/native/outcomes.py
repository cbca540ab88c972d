"""Generated programs, explored completely and run natively.

``python benchmarks/native/outcomes.py``: for each seed a program of each family is written, see
``tests/native/random_programs.py``.  What complete strategies reach is compared with a model of
all interleavings, and the model with what happens natively, held up at random.  Prints what is
missing, or impossible; exits with 1 if anything is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from bohrbug.runtime.posix.build import compiler
from tests.native.program_model import telling_program
from tests.native.random_programs import FAMILIES, compiled, native_outcomes
from tests.native.reaching import outcomes_under_control


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--programs", type=int, default=50, help="how many of each family")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each exploration")
    parser.add_argument("--runs", type=int, default=100, help="native ones of each program")
    parser.add_argument("--strategies", nargs="*", default=["dpor", "dfs"])
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    chosen = parser.parse_args()
    cc = compiler()
    assert cc is not None
    wrong = incomplete = programs = outcomes = seen_natively = 0
    begun = time.monotonic()
    for family in chosen.families:
        for seed in range(chosen.first, chosen.first + chosen.programs):
            program, possible = telling_program(seed, family)
            programs += 1
            outcomes += len(possible)
            with tempfile.TemporaryDirectory() as name:
                explored = compiled(cc, program, Path(name, "seen"), *program.flags)
                if chosen.runs:
                    delayed = compiled(cc, program, Path(name, "delayed"), "-DDELAYS")
                    seen = native_outcomes(delayed, range(chosen.runs))
                    seen_natively += len(seen)
                    if not seen <= possible:
                        wrong += 1
                        print(f"{family} {seed}: the model lacks {sorted(seen - possible)}")
                for strategy in chosen.strategies:
                    found, is_complete = outcomes_under_control(
                        program, explored, strategy, executions=None, seconds=chosen.seconds
                    )
                    incomplete += not is_complete
                    missing = possible - found if is_complete else set()
                    if missing or found - possible:
                        wrong += 1
                        print(
                            f"{family} {seed}, {strategy}: missing {sorted(missing)}, "
                            f"impossible {sorted(found - possible)}",
                            flush=True,
                        )
        print(f"{family}: done after {time.monotonic() - begun:.0f} s", flush=True)
    print(
        f"{programs} programs with {outcomes} outcomes, {seen_natively} of them seen in "
        f"{chosen.runs} native runs of each, strategies {', '.join(chosen.strategies)}: "
        f"{wrong} wrong, {incomplete} explorations not complete"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
