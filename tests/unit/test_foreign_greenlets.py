"""gevent and eventlet: no verdict says of what they run that it is known."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads.foreign_greenlets import NotControlledError

PATCHED = [
    ("gevent.monkey", SimpleNamespace(saved={"threading": {}})),
    ("eventlet.patcher", SimpleNamespace(already_patched={"thread": True})),
]
LOADED = [
    ("gevent.monkey", SimpleNamespace(saved={})),
    ("eventlet.patcher", SimpleNamespace(already_patched={})),
    ("gevent._hub_local", SimpleNamespace(get_hub_if_exists=lambda: None)),
    ("eventlet.hubs", SimpleNamespace(_threadlocal=threading.local())),
]
ANOTHER_VERSION = [(name, SimpleNamespace()) for name, _ in LOADED]
RUNNING = [
    ("gevent._hub_local", SimpleNamespace(get_hub_if_exists=object)),
    ("eventlet.hubs", SimpleNamespace(_threadlocal=SimpleNamespace(hub=object()))),
]


def does_nothing() -> None:
    pass


@pytest.mark.parametrize(("name", "module"), PATCHED)
def test_threads_that_are_greenlets_are_not_explored(
    name: str, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(NotControlledError, match=name.partition(".")[0]):
        bohrbug.explore(does_nothing)


def test_nor_if_the_test_itself_makes_them_such(monkeypatch: pytest.MonkeyPatch) -> None:
    name, module = PATCHED[0]

    def test() -> None:
        monkeypatch.setitem(sys.modules, name, module)

    with pytest.raises(NotControlledError):
        bohrbug.explore(test)


@pytest.mark.parametrize(("name", "module"), RUNNING)
def test_greenlets_of_others_are_a_caveat(
    name: str, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, module)
    verdict = bohrbug.explore(does_nothing).verdict
    assert verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert any(name.partition(".")[0] in caveat for caveat in verdict.caveats)


@pytest.mark.parametrize("modules", [LOADED, ANOTHER_VERSION])
def test_that_one_is_installed_changes_nothing(
    modules: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, module in modules:
        monkeypatch.setitem(sys.modules, name, module)
    assert bohrbug.explore(does_nothing).verdict.kind is VerdictKind.HOLDS
