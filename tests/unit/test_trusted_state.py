"""Functions of trusted modules in which tasks meet: what they find out may be old when they act."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path
from types import ModuleType

import pytest

import bohrbug
from bohrbug.model.outcome import OutcomeKind
from tests.programs.together import together


@pytest.mark.parametrize("end", ["close", "terminate"])
def test_work_for_a_pool_that_is_just_being_closed(end: str) -> None:
    """A task that has seen the pool open puts its work where nobody takes it any more."""

    def test() -> None:
        pool = ThreadPool(1)

        def work() -> None:
            try:
                pool.apply(len, ("abc",))
            except ValueError:
                return

        def finish() -> None:
            getattr(pool, end)()
            pool.join()

        together(work, finish)

    result = bohrbug.explore(test, executions=400, seconds=None)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.DEADLOCK]


def test_work_for_a_pool_that_is_closed_afterwards() -> None:
    def test() -> None:
        with ThreadPool(1) as pool:
            together(lambda: pool.apply(len, ("abc",)), lambda: pool.map(abs, [1]))
            pool.close()
            pool.join()

    assert not bohrbug.explore(test, executions=60, seconds=None, races="fail").failures


def test_a_module_that_two_tasks_reload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``reload`` asks for who reloads the module already, and then for what it is (gh-126548)."""
    (tmp_path / "reloaded_by_two.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("reloaded_by_two")

    def test() -> None:
        together(lambda: importlib.reload(module), lambda: importlib.reload(module))

    result = bohrbug.explore(test, executions=200, seconds=None)
    failed = [failure.outcome.message for failure in result.failures]
    assert failed == ["KeyError: 'reloaded_by_two'"]


def lazy_module(name: str) -> ModuleType:
    """A module that is loaded when it is used."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("are_different", [True, False])
def test_a_module_that_is_loaded_lazily(
    are_different: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first use asks whether it is still the one in ``sys.modules``, as libraries found out."""
    name = f"lazy_{are_different}"
    (tmp_path / f"{name}.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)

    def test() -> None:
        sys.modules.pop(name, None)
        first, second = lazy_module(name), lazy_module(name)
        if not are_different:
            second = first
            assert first.value

        def use(module: ModuleType) -> None:
            sys.modules[name] = module
            assert module.value == 1

        together(lambda: use(first), lambda: use(second))

    result = bohrbug.explore(test, executions=200, seconds=None)
    failed = [failure.outcome.message.partition(" object")[0] for failure in result.failures]
    assert failed == (["ValueError: module"] if are_different else [])
