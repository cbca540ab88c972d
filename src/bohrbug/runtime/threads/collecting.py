"""Garbage is collected between the executions of an exploration, and not within them.

When a collection comes would depend on what was made before, and so would what weak references
still find, and when finalizers run.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import FunctionType

from bohrbug.runtime.threads import heap
from bohrbug.runtime.threads.freezing import Freezing
from bohrbug.runtime.threads.young_garbage import OLDEST, YoungGarbage

MOST_YOUNG_OBJECTS = 20_000
"""Objects made and not freed, since the last garbage collection, after which there is another."""


class Collecting:
    """The collector, while a test is explored.

    Parameters:
        always: no garbage of an execution may be left to the next one, as collections are choices.
        let_go: lets go of what is kept of an execution that failed, such as its traceback.
    """

    def __init__(self, always: bool, let_go: Callable[[], object] | None) -> None:
        self._always = always
        self._let_go = let_go
        self._freezing = Freezing()
        self._young_garbage = YoungGarbage()
        self._was_enabled = True
        # The last execution failed: frames of its traceback may keep its objects alive.
        self._has_left_frames = False
        # Some of what it has left may be found through weak references.
        self._left_weakly_known = False

    @property
    def passes_over(self) -> bool:
        """Whether collections pass over what existed before."""
        return self._freezing.is_begun

    # -- an exploration --------------------------------------------------------------------

    def remember(self) -> None:
        """An exploration is about to begin; afterwards all will be as it is now."""
        self._was_enabled = gc.isenabled()

    def begin(self) -> None:
        """There are no automatic collections from now on."""
        gc.disable()
        self._young_garbage.begin()

    def pass_over(self, codes: int, functions: list[FunctionType] | None = None) -> None:
        """Pass over all that exists.

        Parameters:
            codes: how many functions are rewritten.
            functions: see :func:`.heap.freeze`.
        """
        self._freezing.begin(codes, functions)

    def clear(self) -> None:
        """After the last execution."""
        if self._freezing.is_begun:
            # Cheap, as everything older is; otherwise it would pile up from test to test.
            gc.collect()

    def look_at_all(self) -> None:
        """Pass over nothing any more."""
        self._freezing.end()

    def end(self, executions: int) -> None:
        """There are automatic collections again, if there were.

        Parameters:
            executions: how many there were.
        """
        if self._was_enabled:
            gc.enable()
        if executions > 1:
            heap.collect_now_and_then()

    # -- its executions --------------------------------------------------------------------

    def before(self, codes: int, executions: int, learn: bool) -> None:
        """An execution is about to begin.

        Parameters:
            codes: how many functions are rewritten.
            executions: how many there were.
            learn: whether it is one of a search. A replay begins clean: a failure is confirmed in
                the state in which it was found.
        """
        freezing = self._freezing
        if executions and not freezing.is_begun:
            # With all that the first execution has left.
            self._clean(self._young_garbage.generation())
            freezing.begin(codes)
        elif freezing.is_behind(codes, executions):
            self._clean(OLDEST)
            freezing.go_on(codes)
        elif self._has_left_frames and not learn:
            self._clean(OLDEST)
        elif self._always or self._left_weakly_known:
            # Garbage of earlier executions is not to be collected in this one, nor found weakly.
            gc.collect()
        self._left_weakly_known = False

    def after(self, has_failed: bool, left_weakly_known: bool) -> None:
        """An execution has ended.

        Parameters:
            has_failed: whether it has failed.
            left_weakly_known: some of what it has left may be found through weak references.
        """
        self._has_left_frames = has_failed
        self._left_weakly_known = left_weakly_known
        # Before the next execution all are collected, if some may be found weakly.
        if gc.get_count()[0] > MOST_YOUNG_OBJECTS and not left_weakly_known:
            gc.collect(1)

    def _clean(self, generation: int) -> None:
        """Nothing that an execution has left is found by the next.

        Weak references still find what is reachable only from a traceback, or from a cycle that
        it is in.

        Parameters:
            generation: the oldest one in which executions have left something.
        """
        if self._let_go is not None:
            self._let_go()
        gc.collect(generation)
