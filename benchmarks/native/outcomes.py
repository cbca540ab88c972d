"""Generated programs, explored completely and run natively.

``python benchmarks/native/outcomes.py``: for each seed a program is written, see
``tests/native/random_programs.py``.  What ``dpor`` and ``dfs`` reach is compared with a model of
all interleavings, and the model with what happens natively, held up at random.  Prints what is
missing, or impossible; exits with 1 if anything is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from bohrbug.exploration.native import Command, native_explorer
from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.posix.build import compiler
from tests.native.random_programs import (
    DEADLOCK,
    compiled,
    native_outcomes,
    possible_outcomes,
    random_program,
)


def reached(program: Path, strategy: str, seconds: float) -> tuple[set[str], bool]:
    """What an exploration comes to, and whether it is complete."""
    found: set[str] = set()
    options = ExploreOptions(
        strategy=strategy,
        executions=None,
        seconds=seconds,
        max_steps=20_000,
        keep_going=True,
        minimise=False,
        causes=0,
        predict=0,
    )
    explorer, _ = native_explorer(
        Command((str(program),), exit_code=0),
        options,
        on_printed=lambda printed: found.add(printed.stdout.decode()),
    )
    result = explorer.explore()
    found.discard("")
    for failure in result.failures:
        is_deadlock = failure.outcome.kind is OutcomeKind.DEADLOCK
        found.add(DEADLOCK if is_deadlock else failure.outcome.message)
    return found, explorer.strategy.complete


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--programs", type=int, default=200, help="how many")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each exploration")
    parser.add_argument("--runs", type=int, default=100, help="native ones of each program")
    parser.add_argument("--strategies", nargs="*", default=["dpor", "dfs"])
    chosen = parser.parse_args()
    cc = compiler()
    assert cc is not None
    wrong = incomplete = 0
    for seed in range(chosen.first, chosen.first + chosen.programs):
        program = random_program(seed)
        possible = possible_outcomes(program)
        with tempfile.TemporaryDirectory() as name:
            hooked = compiled(cc, program, Path(name, "hooked"), "-fsanitize=thread")
            delayed = compiled(cc, program, Path(name, "delayed"), "-DDELAYS")
            seen = native_outcomes(delayed, range(chosen.runs))
            if not seen <= possible:
                wrong += 1
                print(f"{seed}: the model lacks what happens natively: {sorted(seen - possible)}")
            for strategy in chosen.strategies:
                found, is_complete = reached(hooked, strategy, chosen.seconds)
                incomplete += not is_complete
                missing = possible - found if is_complete else set()
                if missing or found - possible:
                    wrong += 1
                    impossible = sorted(found - possible)
                    print(f"{seed}, {strategy}: missing {sorted(missing)}, impossible {impossible}")
    print(
        f"{chosen.programs} programs, {chosen.runs} native runs of each, strategies "
        f"{', '.join(chosen.strategies)}: {wrong} wrong, {incomplete} explorations not complete"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
