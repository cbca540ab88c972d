"""Functions that an execution is the first to call: rewritten after it, as nobody saw them then."""

from __future__ import annotations

import gc
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import CodeType

from bohrbug.runtime.protocol import Executed
from bohrbug.runtime.threads.instrumentation import Instrumentation
from bohrbug.runtime.threads.points import AccessPoints
from bohrbug.runtime.threads.rewrite.discovery import Discovery

_now = time.perf_counter

RARE_WATCHED = 40
"""How many executions of functions that few executions call are noticed."""


@contextmanager
def _spent_once(executed: Executed) -> Generator[None]:
    """What is done here takes time, and need not be done for the next execution again."""
    began = _now()
    try:
        yield
    finally:
        executed.once += _now() - began


class LateCode:
    """Rewrites what was called late, and says of an execution what that means for the next ones."""

    def __init__(self) -> None:
        # Rewritten only for tasks of an event loop, while there was one thread.
        self._alone: list[tuple[CodeType, str]] = []
        # Whether an execution with several tasks has shown which functions they call.
        self._has_seen_tasks = False
        # An execution that was unseen up to its second task has shown what was called from there.
        self._has_seen_half = False
        # Those that were called first in a later execution, and not in all.
        self._rare: list[CodeType] = []
        # Executions that called some of these, and were all watched for races.
        self._rare_watched = 0

    @property
    def has_run_alone(self) -> bool:
        """Functions are rewritten that only the tasks of a single thread have called."""
        return bool(self._alone)

    def rewrite_what_runs_alone(
        self,
        executed: Executed,
        discovery: Discovery,
        instrumentation: Instrumentation,
        points: AccessPoints,
    ) -> None:
        """For races over an await between tasks of one event loop, without other threads.

        Nothing in it is a scheduling point, so everything that was executed before stays valid.
        """
        alone = discovery.take()
        with _spent_once(executed):
            fresh = instrumentation.rewrite(code for code, _ in alone)
        if fresh:
            points.add_wanted()
            executed.missed = instrumentation.has_grown
        self._alone += alone

    def rewrite(
        self,
        executed: Executed,
        discovery: Discovery,
        instrumentation: Instrumentation,
        points: AccessPoints,
        may_leave: bool,
    ) -> None:
        """Rewrite what an execution has called first.

        Parameters:
            executed: the execution; it records this.
            discovery: has found it.
            instrumentation: rewrites it.
            points: the accesses that are wanted as scheduling points.
            may_leave: what it has left is not collected before the next execution anyway.
        """
        was_rare = discovery.take_noticed()
        if was_rare:
            self._rare_watched += 1
            if self._rare_watched == RARE_WATCHED:
                discovery.notice(())
        calls = [*self._alone, *discovery.take()]
        if self._alone:
            self._alone.clear()
            self._has_seen_tasks = executed.has_learned = True
        if calls and may_leave:
            # The weak references that they made were not seen: the next execution would still
            # find objects that only wait for the collector. After the first one, all are collected.
            gc.collect()
        with _spent_once(executed):
            fresh = instrumentation.rewrite(code for code, _ in calls)
        unfollowed = instrumentation.unfollowed(calls)
        if unfollowed:
            discovery.forget(unfollowed)
        if unfollowed or instrumentation.has_new_made_code:
            instrumentation.has_new_made_code = False
            instrumentation.has_grown = True
        executed.saw_all = instrumentation.all_tell
        if fresh:
            points.add_wanted()
        if instrumentation.has_grown:
            executed.has_learned = True
            if not self._has_seen_tasks:
                # Everything executed so far was only the beginning.
                self._has_seen_tasks = True
                return
        late = [code for code in fresh if instrumentation.is_followed(code)]
        if late and self._has_seen_tasks:
            # If all were rewritten before, as functions in others, they were seen at once.
            was_rare = True
            self._rare += late
            self._rare_watched = 0
            discovery.notice(self._rare)
        if instrumentation.has_grown:
            executed.changes += 1
        executed.is_rare = was_rare

    def note_end(self, was_unseen: bool, has_grown: bool) -> None:
        """An execution with several tasks is over, and what it called first is rewritten.

        Parameters:
            was_unseen: nobody has seen what it called before its second task.
            has_grown: something was rewritten after it.
        """
        # What the first one called before its second task is seen in the next one.
        self._has_seen_tasks = (self._has_seen_tasks or self._has_seen_half) and not was_unseen
        self._has_seen_half = was_unseen and has_grown
