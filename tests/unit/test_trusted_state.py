"""Functions of trusted modules in which tasks meet: what they find out may be old when they act."""

from __future__ import annotations

import importlib
from multiprocessing.pool import ThreadPool
from pathlib import Path

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
