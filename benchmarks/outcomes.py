"""Random programs, explored and run by real threads that are held up at any bytecode.

``python benchmarks/outcomes.py --programs 3000``: where an exploration says that a program holds,
no real run may come to anything that it did not reach.  Prints what is missing; exits with 1 if
anything is.  What no real run came to is counted: it may be rare, or impossible, and takes a
look, for which ``--show`` prints it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.oracle.comparing import RealThreads, explored
from tests.oracle.programs import source_of


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--programs", type=int, default=200, help="how many")
    parser.add_argument("--executions", type=int, default=3_000, help="for each exploration")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each exploration")
    parser.add_argument("--runs", type=int, default=100, help="real ones of each program")
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--show", action="store_true", help="what no real run came to")
    parser.add_argument("--keep", type=Path, help="a folder for the programs")
    chosen = parser.parse_args()
    said: Counter[str] = Counter()
    missing = unseen = outcomes = 0
    with tempfile.TemporaryDirectory() as name, RealThreads() as real:
        folder = chosen.keep or Path(name)
        folder.mkdir(exist_ok=True)
        for seed in range(chosen.first, chosen.first + chosen.programs):
            path = folder / f"program_{seed}.py"
            path.write_text(source_of(seed), encoding="utf-8")
            seen = real.outcomes(path, seed, chosen.runs)
            found = explored(
                path,
                strategy=chosen.strategy,
                executions=chosen.executions,
                seconds=chosen.seconds,
            )
            verdict = found.result.verdict
            said[verdict.kind.value] += 1
            if found.result.failures or verdict.caveats:
                print(f"{seed}: {verdict}", *verdict.caveats, sep="\n    ")
            if found.promises and not seen <= found.outcomes:
                missing += 1
                print(f"{seed}: holds, and misses", *sorted(seen - found.outcomes), sep="\n    ")
            outcomes += len(found.outcomes)
            unseen += len(found.outcomes - seen)
            if chosen.show and found.outcomes - seen:
                print(f"{seed}: no real run came to", *sorted(found.outcomes - seen), sep="\n    ")
    kinds = ", ".join(f"{kind} {count}" for kind, count in said.most_common())
    print(
        f"{chosen.programs} programs, {chosen.runs} real runs of each; {kinds}; "
        f"{missing} hold and miss outcomes; of {outcomes} outcomes {unseen} were not seen natively"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
