"""Runs a program with real threads that are held up at random bytecodes: run as a process.

Each line of the standard input is ``[path, seed, runs]`` in JSON, each line of the output the
sorted outcomes of that many runs.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
import types
from collections.abc import Callable
from types import FrameType
from typing import Any

_MOST_DELAYS = 6
_LONGEST = 0.001
"""Seconds that a task is held up at once."""


class Delays:
    """Which tasks are held up before which of their instructions, in one run.

    Parameters:
        filename: of the program whose instructions count.
        draw: decides.
        lengths: how many instructions each task had in an earlier run, by its name.
    """

    def __init__(self, filename: str, draw: random.Random, lengths: dict[str, int]) -> None:
        self._filename = filename
        self.counts: dict[str, int] = dict.fromkeys(lengths, 0)
        self._delays: dict[tuple[str, int], float] = {}
        names = sorted(lengths)
        for name in names:
            # Whoever is started first would often be over before the next begins.
            self._delays[name, 1] = draw.choice((0.0, draw.uniform(0.0, _LONGEST)))
        for _ in range(draw.randint(1, _MOST_DELAYS) if names else 0):
            name = draw.choice(names)
            at = draw.randint(1, max(1, lengths[name]))
            self._delays[name, at] = draw.uniform(0.0, _LONGEST)

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """What ``sys.settrace`` calls."""
        if frame.f_code.co_filename != self._filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            name = threading.current_thread().name
            count = self.counts[name] = self.counts.get(name, 0) + 1
            delay = self._delays.get((name, count))
            if delay is not None:
                time.sleep(delay)
        return self.trace


def outcomes(path: str, seed: int, runs: int) -> list[str]:
    """What comes of some runs of a program.

    Parameters:
        path: of its source.
        seed: decides where tasks are held up.
        runs: how many.
    """
    outcome = _program(path)
    draw = random.Random(seed)
    seen = set()
    lengths: dict[str, int] = {}
    for _ in range(runs):
        delays = Delays(path, draw, lengths)
        threading.settrace(delays.trace)
        try:
            seen.add(outcome())
        finally:
            threading.settrace(None)  # type: ignore[arg-type]
        lengths = {name: max(count, lengths.get(name, 0)) for name, count in delays.counts.items()}
    return sorted(seen)


def _program(path: str) -> Callable[[], str]:
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec")
    # Dataclasses look for their module, and pickle for their class in it.
    module = sys.modules["program"] = types.ModuleType("program")
    exec(code, vars(module))
    outcome: Callable[[], str] = module.outcome
    return outcome


def main() -> None:
    sys.setswitchinterval(1e-5)
    for line in sys.stdin:
        path, seed, runs = json.loads(line)
        print(json.dumps(outcomes(path, seed, runs)), flush=True)


if __name__ == "__main__":
    main()
