"""Functions in C that classes have for special methods, whoever calls these, and wherever."""

from __future__ import annotations

import contextlib
import copy
import csv
import enum
import itertools
import logging
import marshal
import math
import operator
import os
import pickle
import sqlite3
import sys
import threading
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from xml.etree import ElementTree

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.exploration.options import ExploreOptions
from bohrbug.platforms.threads.platform import explorer_of
from bohrbug.runtime.threads.rewrite import methods_in_c

from .guarding import Guard
from .together import together

Use = Callable[[Any], object]

USES: dict[str, tuple[str, dict[Any, Any] | list[Any], Use]] = {
    "int": ("__int__", [1], int),
    "%d": ("__int__", [1], lambda made: "%d" % made),
    "float": ("__float__", [1.5], float),
    "sin": ("__float__", [1.5], math.sin),
    "complex": ("__complex__", [1j], complex),
    "subscript": ("__index__", [1], lambda made: "ab"[made]),
    "slice": ("__index__", [1], lambda made: "ab"[:made]),
    "range": ("__index__", [1], range),
    "chr": ("__index__", [1], chr),
    "trunc": ("__trunc__", [1], math.trunc),
    "floor": ("__floor__", [1], math.floor),
    "fspath": ("__fspath__", ["a"], os.fspath),
    "attribute": ("__getattr__", {"a": 1}, lambda made: made.a),
    "getattr": ("__getattr__", {"a": 1}, lambda made: getattr(made, "a")),
    "attrgetter": ("__getattr__", {"a": 1}, lambda made: [*map(operator.attrgetter("a"), [made])]),
    "deleting": ("__delattr__", {"a": 1}, lambda made: delattr(made, "a")),
    "dir": ("__dir__", [["a"]], dir),
    "compared with a number": ("__eq__", {0: True}, lambda made: made == 0),
    "added to a number": ("__add__", {1: True}, lambda made: made + 1),
}


def popped_once(guard: Guard, make: Callable[[str, Any], Any], name: str) -> None:
    """Each of two tasks pops something if there is something left."""
    special, left, use = USES[name]
    left = copy.copy(left)
    made = make(special, left.pop)

    def work() -> None:
        with guard:
            if left:
                use(made)

    together(work, work)


def called(special: str, function: Any) -> Any:
    """An object of a class that a call makes."""
    return type("Made", (), {special: staticmethod(function), "__hash__": None})()


class Meta(type):
    """A metaclass."""


def made_by_a_metaclass(special: str, function: Any) -> Any:
    """The same where a metaclass makes the class."""
    return Meta("Made", (), {special: function, "__hash__": None})()


def explored(program: Callable[[], None]) -> bohrbug.Result:
    return bohrbug.explore(program, strategy="dpor", executions=100, minimise=False, causes=0)


@pytest.mark.parametrize("name", USES)
def test_it_is_seen_wherever_it_is_called(name: str) -> None:
    result = explored(lambda: popped_once(contextlib.nullcontext(), called, name))
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict
    result = explored(lambda: popped_once(threading.Lock(), called, name))
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


@pytest.mark.parametrize("make", [called, made_by_a_metaclass])
def test_it_is_seen_however_the_class_is_made(make: Callable[[str, Any], Any]) -> None:
    result = explored(lambda: popped_once(contextlib.nullcontext(), make, "int"))
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


def in_the_body(guard: Guard) -> None:
    """A class statement binds the function."""
    left = [1]

    class Made:
        __int__ = left.pop

    made: Any = Made()

    def work() -> None:
        with guard:
            if left:
                int(made)

    together(work, work)


def on_the_class(guard: Guard) -> None:
    """It is stored on a class that there is already."""
    left = [1]

    class Made:
        pass

    changed: Any = Made
    changed.__int__ = left.pop
    made: Any = Made()

    def work() -> None:
        with guard:
            if left:
                int(made)

    together(work, work)


LEFT = [1]


class MadeBefore:
    """Made as the module is imported."""

    __int__ = LEFT.pop


def made_before(guard: Guard) -> None:
    """The class is older than the exploration."""
    LEFT[:] = [1]
    made: Any = MadeBefore()

    def work() -> None:
        with guard:
            if LEFT:
                int(made)

    together(work, work)


@pytest.mark.parametrize("program", [in_the_body, on_the_class, made_before])
def test_classes_made_by_statements(program: Callable[[Guard], None]) -> None:
    result = explored(lambda: program(contextlib.nullcontext()))
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict
    result = explored(lambda: program(threading.Lock()))
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert vars(MadeBefore)["__int__"] == LEFT.pop


def _held(**functions: Any) -> Any:
    return types.SimpleNamespace(**functions)


def _of_class(**functions: Any) -> Any:
    return type("Made", (), functions)()


def _parse(made: Any) -> None:
    parser = ElementTree.XMLParser(target=made)
    parser.feed("<a>text</a>")


CALLED_BY_NAME: dict[str, tuple[str, int, Use]] = {
    "print": ("write", 2, lambda made: print("a", file=made)),
    "pickle": ("write", 1, lambda made: pickle.dump([1], made)),
    "marshal": ("write", 1, lambda made: marshal.dump([1], made)),
    "csv": ("write", 1, lambda made: csv.writer(made).writerow([1])),
    "methodcaller": ("keep", 1, operator.methodcaller("keep", 1)),
    "methodcaller for a map": ("keep", 1, lambda made: [*map(_keep, [made])]),
    "elements": ("data", 1, _parse),
}
_keep = operator.methodcaller("keep", 1)


def kept_once(guard: Guard, make: Callable[..., Any], name: str) -> None:
    """Each of two tasks has code in C keep something if nothing is kept yet."""
    method, times, use = CALLED_BY_NAME[name]
    kept: list[object] = []

    def work() -> None:
        with guard:
            if not kept:
                use(make(**{method: kept.append}))

    together(work, work)
    assert len(kept) == times


@pytest.mark.parametrize("make", [_held, _of_class])
@pytest.mark.parametrize("name", CALLED_BY_NAME)
def test_methods_that_code_in_c_calls_by_their_names(make: Callable[..., Any], name: str) -> None:
    result = explored(lambda: kept_once(contextlib.nullcontext(), make, name))
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict
    result = explored(lambda: kept_once(threading.Lock(), make, name))
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


CALLERS: dict[str, Callable[[Any], object]] = {
    "operator.call": operator.call,
    "operator.call for a map": lambda take: [*map(operator.call, [take])],
    "static method": lambda take: staticmethod(take)(),
    "static method for iter": lambda take: [*iter(staticmethod(take), 1)],
    "__call__": lambda take: take.__call__(),
    "starmap without arguments": lambda take: [*itertools.starmap(take, [()])],
    "closing": lambda take: contextlib.closing(types.SimpleNamespace(close=take)).__exit__(),
}


def called_once(guard: Guard, name: str) -> None:
    """Each of two tasks has something pop if there is something left."""
    left = [1]

    def work() -> None:
        with guard:
            if left:
                CALLERS[name](left.pop)

    together(work, work)


@pytest.mark.parametrize("name", CALLERS)
def test_code_in_c_that_calls_what_it_is_given(name: str) -> None:
    result = explored(lambda: called_once(contextlib.nullcontext(), name))
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict
    result = explored(lambda: called_once(threading.Lock(), name))
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


def attribute_of_a_module(guard: Guard) -> None:
    """A module asks a function in C for what it lacks."""
    left = {"missing": 1}
    module: Any = types.ModuleType("made")
    module.__getattr__ = left.pop

    def work() -> None:
        with guard:
            if left:
                _ = module.missing

    together(work, work)


def hook_of_the_interpreter(guard: Guard) -> None:
    """It is called for errors in ``__del__``."""
    kept: list[object] = []

    class Made:
        def __del__(self) -> None:
            raise ValueError

    def work() -> None:
        with guard:
            if not kept:
                Made()

    usual, sys.unraisablehook = sys.unraisablehook, kept.append
    try:
        together(work, work)
    finally:
        sys.unraisablehook = usual
    assert len(kept) == 1


def registered_with_sqlite(guard: Guard) -> None:
    """An adapter, which makes values of objects."""
    kept: list[object] = []

    class Made:
        pass

    sqlite3.register_adapter(Made, kept.append)
    with contextlib.closing(sqlite3.connect(":memory:", check_same_thread=False)) as connection:

        def work() -> None:
            with guard:
                if not kept:
                    connection.execute("SELECT ?", (Made(),))

        together(work, work)
    assert len(kept) == 1


def text_of_sqlite(guard: Guard) -> None:
    """What makes texts of what lies in the database."""
    kept: list[object] = []
    with contextlib.closing(sqlite3.connect(":memory:", check_same_thread=False)) as connection:
        connection.text_factory = kept.append

        def work() -> None:
            with guard:
                if not kept:
                    connection.execute("SELECT 'a'").fetchall()

        together(work, work)
    assert len(kept) == 1


def emitted(guard: Guard) -> None:
    """A handler of logging keeps records."""
    kept: list[object] = []
    handler, logger = logging.Handler(), logging.Logger("made")
    handler.emit = kept.append  # type: ignore[method-assign]
    logger.addHandler(handler)

    def work() -> None:
        with guard:
            if not kept:
                logger.warning("text")

    together(work, work)
    assert len(kept) == 1


@pytest.mark.parametrize(
    "program",
    [
        *(attribute_of_a_module, hook_of_the_interpreter, registered_with_sqlite),
        *(text_of_sqlite, emitted),
    ],
)
def test_functions_that_something_else_keeps(program: Callable[[Guard], None]) -> None:
    result = explored(lambda: program(contextlib.nullcontext()))
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict
    result = explored(lambda: program(threading.Lock()))
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


def test_members_of_an_enum_stay_what_they_are() -> None:
    def program() -> None:
        items: list[int] = []

        class Ways(enum.Enum):
            APPEND = items.append
            CLEAR = items.clear

        together(lambda: Ways.APPEND.value(1), lambda: None)
        assert [way.name for way in Ways] == ["APPEND", "CLEAR"]
        assert Ways.APPEND.value == items.append

    result = explored(program)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict


def test_what_is_stored_by_its_name_is_a_condition() -> None:
    def program() -> None:
        left = [1]
        made: Any = type("Made", (), {})()
        setattr(type(made), "__int__", left.pop)

        def work() -> None:
            if left:
                int(made)

        together(work, work)

    result = explored(program)
    assert result.verdict.conditions is not None
    (condition,) = result.verdict.conditions.taking
    assert condition.startswith("__int__ of ")
    assert condition.endswith("Made, which is a function in C, as unseen")


def test_classes_of_the_standard_library_have_after_it_what_they_had() -> None:
    counter = vars(ThreadPoolExecutor)["_counter"]

    def program() -> None:
        with ThreadPoolExecutor(2) as pool:
            pool.submit(abs, -1)

    bohrbug.explore(program, executions=3)
    assert vars(ThreadPoolExecutor)["_counter"] is counter


_LEFT: list[int] = []


class _Popping:
    """Made before any exploration."""

    __int__: Any = _LEFT.pop


def _pops_once() -> None:
    _LEFT[:] = [1]

    def work() -> None:
        if _LEFT:
            int(_Popping())

    together(work, work)


def test_classes_made_before_tell_although_an_exploration_begins_unseen() -> None:
    result = explorer_of(_pops_once, "pops", ExploreOptions(), begins_unseen=True).explore()
    assert result.verdict.kind is VerdictKind.FAILED
    assert type(vars(_Popping)["__int__"]) is type(_LEFT.pop)


def test_nobody_looks_at_all_classes_for_a_single_task(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    exchange = methods_in_c.MadeBefore.exchange

    def counting(made: methods_in_c.MadeBefore, classes: Any) -> None:
        looked.append(1)
        exchange(made, classes)

    monkeypatch.setattr(methods_in_c.MadeBefore, "exchange", counting)
    options = ExploreOptions()
    explorer_of(lambda: int("1"), "alone", options, begins_unseen=True).explore()
    assert not looked
    explorer_of(_pops_once, "pops", options, begins_unseen=True).explore()
    assert looked
