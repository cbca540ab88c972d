"""What the first execution leaves behind in modules: races that no other execution can have."""

from __future__ import annotations

import importlib
import sys
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads.module_state import ModuleState, as_before

MODULE = """
import functools
import threading

class Made:
    instance = None

    def __new__(cls):
        if cls.instance is None:
            cls.instance = super().__new__(cls)
        return cls.instance

class Settings:
    def __init__(self):
        self.path = None

settings = Settings()

def path():
    if settings.path is None:
        settings.path = object()
    return settings.path

class Computing:
    @functools.cached_property
    def value(self):
        return object()

computing = Computing()

def computed():
    return computing.value

connection = None
entries = {}
guard = threading.Lock()

def connect():
    global connection
    if connection is None:
        connection = object()
    return connection

def connect_once():
    with guard:
        return connect()

def entry(name="a"):
    if name not in entries:
        entries[name] = object()
    return entries[name]

def late():
    global made_late
    try:
        return made_late
    except NameError:
        made_late = object()
        return made_late

def both(function):
    def run():
        def look():
            found.append(function())
        found = []
        threads = [threading.Thread(target=look) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found[0] is found[1]
    return run

def reset(function):
    def run():
        global connection
        connection = None
        both(function)()
    return run
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "program_that_leaves.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("program_that_leaves")
    del sys.modules["program_that_leaves"]


def _conditions(result: Result) -> list[str]:
    assert result.verdict.conditions is not None
    return list(map(str, result.verdict.conditions.taking))


@pytest.mark.parametrize(
    ("function", "label"),
    [
        ("connect", "global connection"),
        ("Made", "Made.instance"),
        ("entry", "entries['a']"),
        ("late", "global made_late"),
        ("path", "Settings.path"),
        ("computed", "Computing.value"),
    ],
)
def test_a_race_of_the_first_execution_is_a_condition(
    program: Any, function: str, label: str
) -> None:
    result = bohrbug.explore(program.both(getattr(program, function)))
    assert result.verdict.kind is VerdictKind.HOLDS
    assert _conditions(result) == ["what the first execution leaves behind as it is"]
    (notice,) = result.notices
    assert notice.startswith("only the first execution of the test has data races on ")
    assert label in notice
    # What it has left behind is there.
    made = getattr(program, function)
    assert made() is made()


def test_there_is_none_where_a_lock_is_held(program: Any) -> None:
    result = bohrbug.explore(program.both(program.connect_once))
    assert result.verdict.kind is VerdictKind.HOLDS
    assert _conditions(result) == []
    assert result.notices == []


def test_what_a_test_resets_is_explored(program: Any) -> None:
    result = bohrbug.explore(program.reset(program.connect))
    assert result.verdict.kind is VerdictKind.FAILED
    assert result.notices == []


def test_nobody_looks_where_races_are_ignored(program: Any) -> None:
    result = bohrbug.explore(program.both(program.connect), races="ignore")
    assert result.notices == []


CONTAINERS: list[Callable[[], Any]] = [
    dict,
    OrderedDict,
    lambda: defaultdict(int),
    list,
    set,
    deque,
]


def _add(container: Any, value: object) -> None:
    if isinstance(container, dict):
        container["added"] = value
    elif isinstance(container, set):
        container.add(value)
    else:
        container.append(value)


@pytest.mark.parametrize("make", CONTAINERS)
def test_containers_are_as_before_for_a_while(program: ModuleType, make: Callable[[], Any]) -> None:
    container = make()
    _add(container, 1)
    program.container = container  # type: ignore[attr-defined]
    before = make()
    _add(before, 1)
    state = ModuleState()
    _add(container, "more")
    if not isinstance(container, dict):
        _add(container, 2)
    after = type(container)(*([int] if isinstance(container, defaultdict) else []), container)
    with as_before(state.changes()):
        assert container == before
    assert container == after


def test_values_are_as_before_for_a_while(program: Any) -> None:
    state = ModuleState()
    program.connection, program.new, program.Made.instance = 7, 8, 9
    del program.entries
    program.threads = sys
    vars(program.settings)[3] = 4
    with as_before(state.changes()):
        assert program.connection is None
        assert program.Made.instance is None
        assert not hasattr(program, "new")
        assert program.threads is sys
    assert (program.connection, program.new, program.Made.instance) == (7, 8, 9)
    assert not hasattr(program, "entries")


def test_nothing_is_kept_alive(program: Any) -> None:
    program.connection = program.both
    program.entries["a"] = program.Made()
    seen = weakref.ref(program.entries["a"])
    program.Made.instance = None
    state = ModuleState()
    program.entries.clear()
    assert seen() is None
    assert state.changes() == []
