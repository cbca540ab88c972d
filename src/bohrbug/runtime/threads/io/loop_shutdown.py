"""The end of ``asyncio.run``: it waits for the threads of the loop's executor.

Since Python 3.12 it gives them up after five minutes, with a warning.  That is no timeout of the
program, and one that fires before the threads have run would only tell of that: so it waits until
they end, and who never ends is in a deadlock.
"""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.io.patches import patches


@patches.when_imported("asyncio.base_events")
def _wrap_shutdown(module: Any) -> None:
    usual = getattr(module.constants, "THREAD_JOIN_TIMEOUT", None)
    if usual is None:
        return
    original = module.BaseEventLoop.shutdown_default_executor

    @patches.method(module.BaseEventLoop, "shutdown_default_executor")
    def shutdown_default_executor(self: Any, timeout: float | None = None) -> Any:
        is_usual = timeout == usual and controlled() is not None
        return original(self, None if is_usual else timeout)
