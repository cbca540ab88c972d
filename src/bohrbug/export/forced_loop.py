"""Forces one order of steps on the tasks of asyncio's event loops.

This module is no part of what Bohrbug does: its source is copied into the tests that
``bohrbug export`` writes, and has to be readable there by somebody who knows nothing of Bohrbug.
"""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from typing import Any

# --8<-- copied from here


LIMIT = 10.0  # seconds


class NotForced(Exception):
    """The tasks did not follow the order of steps."""


class Deadlock(Exception):
    """The tasks wait for ever."""


class ForcedLoop:
    """Lets the tasks of event loops make their steps in this order, each by the name of its task.

    A task gets its name with its first step: they begin in the order in which they are created. A
    step that comes before its turn is put back at the end of the loop's queue, as if what it waits
    for (a timer, a socket, another thread) had come later.
    """

    def __init__(
        self,
        order: list[str],
        patience: float = LIMIT,
        limit: float = LIMIT,
        beside: tuple[str, ...] = (),
    ) -> None:
        self.order = order
        self.limit = limit  # seconds that a step may take to come
        self.patience = patience  # seconds without any step after which there is a deadlock
        self.beside = beside  # these tasks go on while the others wait for ever
        self.done = 0  # steps
        self.unused = list(dict.fromkeys(order))  # names of tasks that have not begun
        self.names: weakref.WeakKeyDictionary[asyncio.Task[Any], str]
        self.names = weakref.WeakKeyDictionary()
        self.errors: list[BaseException] = []
        self.moved = time.monotonic()
        self.loops: weakref.WeakSet[Any] = weakref.WeakSet()

    def run_handle(self, handle: Any, run: Callable[[Any], None]) -> None:
        """In the place of Handle._run: run what the loop is to call next, or put it back."""
        task = getattr(handle._callback, "__self__", None)
        if isinstance(task, asyncio.Task) and self.done < len(self.order):
            self.loops.add(handle._loop)
            if task not in self.names and self.unused:
                self.names[task] = self.unused.pop(0)
            name = self.names.get(task)
            if name is not None and name != self.order[self.done] and not task.done():
                time.sleep(0.0005)
                handle._loop._ready.append(handle)
                return
            if name is not None and name == self.order[self.done]:
                self.done += 1
        if not self.beside or self.done < len(self.order) or self.is_of_the_others(task):
            self.moved = time.monotonic()
        run(handle)

    def is_of_the_others(self, task: object) -> bool:
        """Whether it is a task, and not one of those that go on beside a deadlock."""
        return isinstance(task, asyncio.Task) and self.names.get(task) not in self.beside

    def body(self, test: Callable[[], object]) -> None:
        """Run the test and keep what it raises."""
        try:
            test()
        except BaseException as error:  # noqa: BLE001
            self.errors.append(error)

    def run(self, test: Callable[[], object]) -> None:
        """Run a test in a thread of its own, with its tasks in order; raise what it raises."""
        run = asyncio.Handle._run
        thread = threading.Thread(target=self.body, args=(test,), daemon=True)
        forced = lambda handle: self.run_handle(handle, run)  # noqa: E731
        asyncio.Handle._run = forced  # type: ignore[method-assign]
        try:
            thread.start()
            while thread.is_alive():
                thread.join(0.01)
                still = time.monotonic() - self.moved
                if thread.is_alive() and self.done < len(self.order) and still > self.limit:
                    raise NotForced(self.standing())
                if thread.is_alive() and self.done == len(self.order) and still > self.patience:
                    raise Deadlock("these tasks wait for ever" + self.stacks())
        finally:
            asyncio.Handle._run = run  # type: ignore[method-assign]
        if self.errors:
            raise self.errors[0]
        if self.done < len(self.order):
            raise NotForced(self.standing())

    def standing(self) -> str:
        """Which step did not come, for people."""
        number, task = self.done + 1, self.order[self.done]
        return f"step {number} of {len(self.order)}, by task {task}, did not come"

    def stacks(self) -> str:
        """Where each task stands."""
        words = ""
        for loop in self.loops:
            for task in asyncio.all_tasks(loop):
                words += f"\n\nTask {self.names.get(task, task.get_name())}:\n"
                stack = traceback.StackSummary.extract(inner_frames(task.get_coro()))
                words += "".join(stack.format()).rstrip()
        return words


def inner_frames(coroutine: Any) -> list[Any]:
    """The frames of a coroutine and of those that it awaits, with their lines."""
    found = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is not None:
            found.append((frame, frame.f_lineno))
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
    return found
