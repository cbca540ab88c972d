"""Code that runs in a namespace without a ``__name__``, as ``exec`` lets it, or with an odd one."""

from __future__ import annotations

from typing import Any

import pytest

import bohrbug

CODE = """
import asyncio, multiprocessing, queue, threading

def work():
    condition, semaphore = threading.Condition(), threading.Semaphore()
    barrier, event, items = threading.Barrier(1), threading.Event(), queue.Queue()
    with condition, semaphore:
        condition.notify_all()
    barrier.wait()
    event.set()
    event.wait()
    items.put(1)
    items.get()
    with multiprocessing.Lock():
        pass
    loop = asyncio.new_event_loop()
    assert not loop.is_closed()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

def run():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""


@pytest.mark.parametrize("names", [{}, {"__name__": None}])
def test_code_without_a_name_is_controlled(names: dict[str, Any]) -> None:
    def test() -> None:
        namespace = {"__builtins__": __builtins__, **names}
        exec(CODE, namespace)
        namespace["run"]()

    result = bohrbug.explore(test, executions=3)
    assert not result.failures, result.failures[0].outcome.traceback
