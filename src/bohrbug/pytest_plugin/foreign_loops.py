"""Event loops that are not asyncio's own: nothing can be explored in them.

uvloop waits in C, and the loops of GUI toolkits run within those of the toolkits.  Which loop a
test runs is known only when it does so.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from bohrbug.runtime.threads.control import controlled


class ForeignLoopError(BaseException):
    """A test starts a loop that can't be controlled; it has to be run without."""


class ForeignLoops:
    """A context within which no execution can start a foreign loop.

    Parameters:
        stop: called when one tries to: ends the exploration.

    Attributes:
        found: the class of a loop that an execution wanted to start; "" if none did.
    """

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        self.found = ""
        self._restore: list[tuple[Any, str, Any]] = []
        self._warnings = warnings.catch_warnings()

    def __enter__(self) -> Self:
        self._warnings.__enter__()
        for name in ("asyncio", "asyncio.events"):
            module = sys.modules.get(name)
            if module is not None:
                self._replace(module, "_set_running_loop", self._checking_argument)
        # Its code in C has got hold of the original when it was imported.
        uvloop = sys.modules.get("uvloop")
        for name in ("__init__", "run_forever", "run_until_complete"):
            if uvloop is not None:
                self._replace(uvloop.Loop, name, self._checking_argument)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._restore:
            owner, name, original = self._restore.pop()
            setattr(owner, name, original)
        self._warnings.__exit__(kind, error, trace)

    def _replace(self, owner: Any, name: str, around: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        self._restore.append((owner, name, original))
        setattr(owner, name, around(original))

    def _checking_argument(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def checking(loop: Any, *args: Any) -> Any:
            if loop is not None and controlled() is not None and not _is_asyncios_own(loop):
                self.found = f"{type(loop).__module__}.{type(loop).__qualname__}"
                self._stop()
                # It was to run in that loop.
                warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
                raise ForeignLoopError(self.found)
            return original(loop, *args)

        return checking


def _is_asyncios_own(loop: object) -> bool:
    """Whether a loop runs as asyncio's do; classes that are derived from those may do so."""
    asyncio = sys.modules["asyncio"]
    return (
        isinstance(loop, asyncio.SelectorEventLoop)
        and type(loop).run_forever is asyncio.BaseEventLoop.run_forever
    )
