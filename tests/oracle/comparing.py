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
_ATTEMPTS = 5


class RealThreads:
    """A process that runs programs natively, and never imports what is tested.

    Parameters:
        python: the interpreter.
    """

    def __init__(self, python: str = sys.executable) -> None:
        self._python = python
        self._process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self._python, str(_SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def outcomes(self, path: Path, seed: int, runs: int) -> set[str]:
        """What comes of some runs of a program, held up at random.

        A fault of the interpreter is not the program's: Python 3.12.1 has one, now and then, where
        a generator is traced by opcodes. The runs are then begun again.

        Parameters:
            path: of its source.
            seed: decides where tasks are held up.
            runs: how many.

        Raises:
            EOFError: the process has ended again and again.
        """
        for _ in range(_ATTEMPTS):
            line = self._answer(json.dumps([str(path), seed, runs]))
            if line:
                return set(json.loads(line))
            with self._process as ended:
                status = ended.wait()
            self._process = self._started()
        raise EOFError(f"the process that runs programs ended with {status}")

    def _answer(self, request: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(request, file=self._process.stdin, flush=True)
        return self._process.stdout.readline()

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
        """Whether it says, and under no condition, that there are no other outcomes."""
        verdict = self.result.verdict
        taking = () if verdict.conditions is None else verdict.conditions.taking
        return verdict.kind is VerdictKind.HOLDS and not taking


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
