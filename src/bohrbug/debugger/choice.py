"""Which debugger a replay is looked into with."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bohrbug.debugger.addresses import Address, DebugpyError
from bohrbug.exploration.result import Failure
from bohrbug.platforms.threads.replaying import Debugger

if TYPE_CHECKING:
    from bohrbug.debugger.remote import RemoteDebugger
    from bohrbug.debugger.replay import ReplayDebugger

__all__ = ["DebuggerChoice", "DebugpyError", "opened"]


@dataclass(frozen=True, slots=True)
class DebuggerChoice:
    """A debugger for Python tests, or none.

    Parameters:
        pdb: pdb, at the terminal.
        address: debugpy, for an editor that attaches there.
    """

    pdb: bool = False
    address: Address | None = None

    def __bool__(self) -> bool:
        return self.pdb or self.address is not None


@contextmanager
def opened(
    choice: DebuggerChoice,
    failure: Failure,
    around: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Generator[Debugger | None]:
    """The debugger, for the replays of a failure that are made within; ``None`` for none.

    Parameters:
        choice: which one.
        failure: what is replayed.
        around: entered for whatever it says or asks.

    Raises:
        DebugpyError: debugpy is not installed, or can't listen there.
    """
    debugger: ReplayDebugger | RemoteDebugger | None = None
    if choice.address is not None:
        from bohrbug.debugger.remote import RemoteDebugger

        debugger = RemoteDebugger(failure, choice.address, around)
    elif choice.pdb:
        from bohrbug.debugger.replay import ReplayDebugger

        debugger = ReplayDebugger(failure, around)
    try:
        yield debugger
    finally:
        if debugger is not None:
            debugger.close()
