"""Failing schedules that are remembered from one run to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

import bohrbug
from bohrbug.exploration import memory as module
from bohrbug.exploration.memory import Memory
from bohrbug.exploration.result import Failure


def _fails() -> None:
    assert bohrbug.choose(2) == 0


@pytest.fixture
def failure() -> Failure:
    (found,) = bohrbug.explore(_fails, executions=10).failures
    return found


def test_what_was_remembered_is_known_in_another_run_until_it_is_forgotten(
    tmp_path: Path, failure: Failure
) -> None:
    file = tmp_path / "memory.sqlite"
    first = Memory(file)
    assert first.recall("test_a") == []
    first.remember("test_a", [failure])
    (remembered,) = first.recall("test_a")
    assert remembered.plan == failure.plan
    second = Memory(file)
    assert second.recall("test_a") == [remembered]
    second.forget("test_a", [remembered.digest])
    assert Memory(file).recall("test_a") == []


def test_the_file_is_read_once_for_all_tests_of_which_nothing_is_remembered(
    tmp_path: Path, failure: Failure, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.sqlite"
    Memory(file).remember("test_a", [failure])
    opened: list[Path] = []
    connect = module.connect

    def counting(path: Path, *rest: object) -> object:
        opened.append(path)
        return connect(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "connect", counting)
    memory = Memory(file)
    for number in range(100):
        assert memory.recall(f"test_{number}") == []
        memory.forget(f"test_{number}", [])
    assert opened == [file]
