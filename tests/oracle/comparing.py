"""What real threads come to, beside what an exploration reaches."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import bohrbug
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind

_SCRIPT = Path(__file__).parent / "real_threads.py"


class RealThreads:
    """A process that runs programs natively, and never imports what is tested.

    Parameters:
        python: the interpreter.
    """

    def __init__(self, python: str = sys.executable) -> None:
        self._process = subprocess.Popen(
            [python, str(_SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def outcomes(self, path: Path, seed: int, runs: int) -> set[str]:
        """What comes of some runs of a program, held up at random.

        Parameters:
            path: of its source.
            seed: decides where tasks are held up.
            runs: how many.

        Raises:
            EOFError: the process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([str(path), seed, runs]), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise EOFError(f"the process that runs programs ended with {self._process.wait()}")
        return set(json.loads(line))

    def __enter__(self) -> RealThreads:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()


@dataclass(frozen=True)
class Explored:
    """What an exploration came to.

    Attributes:
        outcomes: of its executions.
        result: its verdict and what it is about.
    """

    outcomes: frozenset[str]
    result: Result

    @property
    def promises(self) -> bool:
        """Whether it says that there are no other outcomes."""
        return self.result.verdict.kind is VerdictKind.HOLDS


def explored(path: Path, **options: Any) -> Explored:
    """Explore a program.

    Parameters:
        path: of its source.
        options: of the exploration.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
        found = set()
        result = bohrbug.explore(lambda: found.add(module.outcome()), **options)
    finally:
        del sys.modules[path.stem]
    return Explored(frozenset(found), result)
