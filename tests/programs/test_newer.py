"""The whole tool on small programs for newer Pythons: broken ones and correct ones."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

import bohrbug
from bohrbug import VerdictKind

from .newer import BEGINNING, EAGER, PROGRAMS

_HERE = [name for name, program in PROGRAMS.items() if sys.version_info >= program.since]


def _module(folder: Path, name: str, source: str) -> ModuleType:
    path = folder / f"newer_{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_is_tried_on_the_newest_python() -> None:
    assert all((3, 12) <= program.since <= (3, 15) for program in PROGRAMS.values())


@pytest.mark.parametrize("name", _HERE)
def test_without_a_lock_it_fails(name: str, tmp_path: Path) -> None:
    module = _module(tmp_path, name, PROGRAMS[name].source)
    result = bohrbug.explore(lambda: module.program(contextlib.nullcontext()), executions=300)
    assert result.failures, result.verdict
    assert result.failures[0].confirmed


@pytest.mark.parametrize("name", _HERE)
def test_with_a_lock_it_holds(name: str, tmp_path: Path) -> None:
    module = _module(tmp_path, name, PROGRAMS[name].source)
    result = bohrbug.explore(lambda: module.program(threading.Lock()), executions=300)
    assert not result.failures, result.failures
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert not result.races


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with 3.12")
def test_a_task_that_is_started_eagerly_may_be_late(tmp_path: Path) -> None:
    module = _module(tmp_path, "eager", BEGINNING + EAGER)
    broken = bohrbug.explore(lambda: asyncio.run(module.main(contextlib.nullcontext())))
    assert broken.failures, broken.verdict
    correct = bohrbug.explore(lambda: asyncio.run(module.main(asyncio.Lock())))
    assert correct.verdict.kind is VerdictKind.HOLDS, correct.verdict
