"""What is replaced: to programs that look at its names it is what it was."""

from __future__ import annotations

import _thread
import concurrent.futures
import copy
import gc
import inspect
import logging
import os
import pickle
import random
import select
import threading
import time
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import pytest

import bohrbug
from bohrbug.accelerator import native
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.operation import PUT, SHUTDOWN, SLEEP
from bohrbug.model.plan import Plan
from bohrbug.model.site import site_of
from bohrbug.platforms.threads.platform import runtime_of
from bohrbug.runtime.threads.installation import _ALL
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.runtime import ThreadsRuntime


class Owner:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def test_a_function_gets_the_names_of_the_first_one_that_it_replaces() -> None:
    def ours() -> None: ...

    ours.__module__ = "bohrbug.somewhere"
    patches = Patches()
    patches.add(Owner(sleep=time.sleep), "sleep", ours)
    patches.add(Owner(seed=random.seed), "seed", ours)
    assert (ours.__module__, ours.__name__, ours.__qualname__) == ("time", "sleep", "sleep")
    assert ours.__doc__ == time.sleep.__doc__


def test_a_function_of_somebody_else_keeps_its_names() -> None:
    def theirs() -> None: ...

    Patches().add(Owner(sleep=time.sleep), "sleep", theirs)
    assert theirs.__module__ == __name__


def test_no_function_that_is_replaced_tells_of_us() -> None:
    """Whatever is added later to what we replace."""
    names = {
        f"{getattr(owner, '__name__', owner)}.{name}"
        for patches in _ALL
        for owner, name, replacement in patches.pairs()
        if isinstance(replacement, FunctionType)
        and callable(getattr(owner, name, None))
        and (replacement.__module__ or "").startswith("bohrbug")
    }
    assert names == set()


@pytest.mark.skipif(native is None, reason="without the accelerator they are functions in Python")
def test_what_replaces_a_function_in_c_does_not_bind_either() -> None:
    """Whatever is added later to what we replace: classes hold such functions."""
    for patches in _ALL:
        patches.prepare()
    binding = {
        f"{owner.__name__}.{name}"
        for patches in _ALL
        for owner, name, replacement in patches.pairs()
        if isinstance(owner, ModuleType)
        and type(vars(owner).get(name)) is BuiltinFunctionType
        and hasattr(type(replacement), "__get__")
    }
    assert binding == set()


class Holder:
    clock = time.monotonic
    sleep = time.sleep
    identity = threading.get_ident
    convert = time.localtime


def test_what_two_modules_have_is_replaced_by_one_object() -> None:
    def test() -> None:
        assert threading.get_ident is _thread.get_ident

    assert bohrbug.explore(test, executions=2).failures == []


def test_replaced_functions_know_the_place_that_calls_them() -> None:
    def test() -> None:
        time.sleep(1)
        raise LookupError

    (failure,) = bohrbug.explore(test, executions=2, seconds=None).failures
    places = [site_of(each.place) for each in failure.trace.operations if each.kind is SLEEP]
    assert [place.function for place in places if place is not None] == [test.__qualname__]


@pytest.mark.skipif(native is None, reason="without the accelerator they are functions in Python")
def test_classes_call_replaced_functions_through_their_objects() -> None:
    def test() -> None:
        class Later:
            clock = time.monotonic
            sleep = time.sleep
            identity = threading.get_ident
            convert = time.localtime

        for holder in (Holder(), Later()):
            began = holder.clock()
            holder.sleep(1)
            assert holder.clock() - began >= 1
            assert holder.identity() == threading.get_ident()
            assert holder.convert(0.0) == time.localtime(0.0)
        record = logging.LogRecord("name", logging.INFO, __file__, 1, "message", (), None)
        assert logging.Formatter("%(asctime)s").format(record)

    assert bohrbug.explore(test, executions=2).failures == []


@pytest.mark.skipif(native is None, reason="without the accelerator they are functions in Python")
def test_a_replaced_function_is_shown_and_pickled_and_inspected_as_it_was() -> None:
    def looks() -> list[tuple[str, str, bool]]:
        found = []
        for function in (time.sleep, time.localtime, select.select, os.urandom):
            assert pickle.loads(pickle.dumps(function)) is function
            assert copy.deepcopy(function) is function
            try:
                signature = str(inspect.signature(function))
            except ValueError as error:
                signature = str(error)
            found.append((repr(function), signature, inspect.isbuiltin(function)))
        return found

    natively, seen = looks(), []
    bohrbug.explore(lambda: seen.append(looks()), executions=1)
    assert seen == [natively]


def test_under_control_time_sleep_has_its_names() -> None:
    seen = []

    def test() -> None:
        seen.append((time.sleep.__module__, time.sleep.__qualname__, os.urandom.__module__))

    natively = (time.sleep.__module__, time.sleep.__qualname__, os.urandom.__module__)
    bohrbug.explore(test, executions=1)
    assert set(seen) == {natively}


def test_nothing_is_replaced_twice() -> None:
    """The second of two replacements would undo the first, as both call what was there before."""
    import asyncio  # noqa: F401  (so that its parts are replaced, too)
    import concurrent.futures.thread  # noqa: F401
    import multiprocessing.pool  # noqa: F401
    import sqlite3  # noqa: F401

    from bohrbug.runtime.threads import installation

    wanted: dict[tuple[int, str], list[str]] = {}
    for patches in installation._ALL:
        patches.prepare()
        for owner, name, replacement in patches.pairs():
            at = f"{type(patches).__name__} {owner!r}.{name} {replacement!r}"
            wanted.setdefault((id(owner), name), []).append(at)
    assert [found for found in wanted.values() if len(found) > 1] == []


def test_an_executor_is_called_by_who_made_it() -> None:
    def test() -> None:
        with concurrent.futures.ThreadPoolExecutor(1, initializer=int) as executor:
            executor.submit(int).result()

    with runtime_of(test, ExploreOptions()) as runtime:
        trace = runtime.execute(Plan()).trace
    puts = [each.resource for each in trace.operations if each.kind in (PUT, SHUTDOWN)]
    assert puts[0].startswith("0:"), puts


@pytest.mark.parametrize("late", ["_let_methods_tell", "_enter_discovery"])
def test_what_fails_on_the_way_into_an_exploration_leaves_everything_as_it_was(
    late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: ThreadsRuntime) -> None:
        raise LookupError

    was_enabled, real = gc.isenabled(), time.sleep
    with monkeypatch.context() as patch:
        patch.setattr(ThreadsRuntime, late, fail)
        with pytest.raises(LookupError):
            bohrbug.explore(lambda: None)
    assert time.sleep is real
    assert gc.isenabled() == was_enabled
    assert bohrbug.explore(lambda: None).verdict.kind is VerdictKind.HOLDS
