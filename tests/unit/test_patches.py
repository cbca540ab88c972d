"""What is replaced: to programs that look at its names it is what it was."""

from __future__ import annotations

import concurrent.futures
import os
import random
import time
from types import FunctionType
from typing import Any

import bohrbug
from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.operation import PUT, SHUTDOWN
from bohrbug.model.plan import Plan
from bohrbug.platforms.threads.platform import runtime_of
from bohrbug.runtime.threads.installation import _ALL
from bohrbug.runtime.threads.patches import Patches


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
