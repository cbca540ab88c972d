"""In which order ``asyncio.as_completed`` begins coroutines, of which it makes a set first.

Natively they are gone through in the order of their addresses, which may be any. Here it is a
choice of the schedule, as for the :mod:`sets of futures <.sets_of_futures>`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from sys import _getframe
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.synchronizers import place_of

patches = LatePatches()


@patches.when_imported("asyncio.tasks")
def _wrap(module: Any) -> None:
    original = module.as_completed

    @patches.method(module, "as_completed")
    @functools.wraps(original)
    def as_completed(fs: Iterable[Any], *, timeout: float | None = None) -> Any:
        execution = controlled()
        is_one = module.futures.isfuture(fs) or module.coroutines.iscoroutine(fs)
        if execution is not None and not is_one and module.events._get_running_loop() is not None:
            fs = _begun(execution, dict.fromkeys(fs), place_of(_getframe(1)), module)
        return original(fs, timeout=timeout)


def _begun(execution: Execution, awaited: Iterable[Any], place: Any, module: Any) -> list[Any]:
    """What is awaited, with a task in the place of each coroutine."""
    begun: list[Any] = []
    coroutines: list[Any] = []
    for each in awaited:
        (begun if module.futures.isfuture(each) else coroutines).append(each)
    while coroutines:
        number = execution.choose(len(coroutines), place) if len(coroutines) > 1 else 0
        begun.append(module.ensure_future(coroutines.pop(number)))
    return begun
