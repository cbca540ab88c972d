"""Objects of the program are not asked what they are: some make what they stand for then."""

from __future__ import annotations

import ctypes
import decimal
import threading
import weakref
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.platforms.threads.plain_values import is_telling, shown


class Lazy:
    """Stands for an object that must not be made yet, such as Django's settings."""

    asked: list[str] = []

    def __init__(self) -> None:
        vars(self)["lock"] = threading.Lock()
        vars(self)["number"] = 0

    @property
    def __class__(self) -> Any:
        self.asked.append("__class__")
        raise RuntimeError("not made yet")

    def __hash__(self) -> int:
        self.asked.append("__hash__")
        raise RuntimeError("not made yet")

    def __eq__(self, other: object) -> bool:
        self.asked.append("__eq__")
        raise RuntimeError("not made yet")

    def __setattr__(self, name: str, value: object) -> None:
        vars(self)[name] = value

    def __index__(self) -> int:
        return 1


settings = Lazy()


@pytest.fixture(autouse=True)
def nobody_has_asked() -> None:
    Lazy.asked.clear()


def test_a_lazy_object_is_none_the_wiser() -> None:
    """It is a global of a module that is rewritten, in containers, and an argument of code in C."""
    refused: list[str] = []

    def use(index: int) -> None:
        lazy = Lazy()
        settings.number += 1
        box: Any = [lazy, lazy]
        box[0], named = settings, {"lazy": lazy}
        named["lazy"].number += len(box)
        reference = weakref.ref(lazy)
        assert reference() is lazy
        weakref.proxy(lazy)
        for call, argument in ((decimal.Decimal, lazy), (ctypes.addressof, lazy)):
            try:
                call(argument)
            except (TypeError, RuntimeError) as error:
                refused.append(type(error).__name__)
        print(lazy is settings, id(lazy) == index, type(lazy), callable(lazy))
        with lazy.lock, settings.lock:
            pass

    def test() -> None:
        threads = [threading.Thread(target=use, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    for call, argument in ((decimal.Decimal, settings), (ctypes.addressof, settings)):
        with pytest.raises((TypeError, RuntimeError)):
            call(argument)
    asked_by_them = len(Lazy.asked)
    Lazy.asked.clear()
    result = bohrbug.explore(test, executions=20)
    assert result.verdict.kind not in (VerdictKind.FAILED, VerdictKind.INCONCLUSIVE), result.verdict
    assert len(Lazy.asked) == asked_by_them * len(refused) / 2


def test_a_lock_that_was_made_before_is_exchanged_in_a_lazy_object() -> None:
    def test() -> None:
        before = settings.number

        def add() -> None:
            with settings.lock:
                settings.number += 1

        threads = [threading.Thread(target=add) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert settings.number == before + 2

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS
    assert not Lazy.asked


def test_a_lazy_object_is_shown_as_what_it_is() -> None:
    assert is_telling(settings)
    assert "Lazy" in shown(settings)
    assert not Lazy.asked
