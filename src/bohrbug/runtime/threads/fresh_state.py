"""What each execution finds as the first one has: numbers, names, random input, built-in functions.

And what is left of an execution when it is over, which the next one must not find.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.threads import (
    children,
    entropy,
    forks,
    futures,
    identities,
    leftovers,
    log_records,
    quiet_sets,
    replaced_builtins,
    thread_functions,
)
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.futures import lasting_executors
from bohrbug.runtime.threads.settings import Settings

END_HOOKS: tuple[Callable[[Execution], None], ...] = (futures.let_workers_end,)
"""Called when the test is over, while the execution still controls its threads."""

_AFTERWARDS: tuple[Callable[[], None], ...] = (lasting_executors.end,)
if os.name == "posix":
    from bohrbug.runtime.threads.process_pools import end_pools, lasting_pools, let_helpers_end

    END_HOOKS = (*END_HOOKS, let_helpers_end)
    _AFTERWARDS = (*_AFTERWARDS, lasting_pools.end, end_pools)


class FreshState:
    """That of the executions of one test.

    Parameters:
        settings: how executions are run.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._thread_names = thread_functions.ThreadNames()

    def begin(self) -> None:
        """An execution begins."""
        replaced_builtins.begin()
        identities.begin(self._settings.is_service)
        lasting_executors.begin()
        quiet_sets.patches.begin()
        self._thread_names.begin()
        entropy.begin(self._settings)
        log_records.begin()

    def end(self, execution: Execution) -> None:
        """It has ended, and nothing controls or observes it any more."""
        if not (execution.trace.outcome.kind is OutcomeKind.PASSED or self._settings.is_live):
            children.end_those_left()
        forks.note_dependence(execution)
        leftovers.forget_all()
        for put_back in _AFTERWARDS:
            put_back()
        self._thread_names.end()
        entropy.end()
        identities.end()

    def close(self) -> None:
        """No other execution follows."""
        self._thread_names.close()
