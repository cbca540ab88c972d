"""``SIGINT`` that a task sends to its own process: it is meant for the program, and is no Ctrl-C.

While an exploration lasts, that signal ends it.
"""

from __future__ import annotations

import _thread
import signal
from sys import _getframe
from typing import Any

from bohrbug.runtime.interrupts import Handlers
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.deferred_signals import announce_signal, defer_signal, handle_now
from bohrbug.runtime.threads.exiting import end_by_signal
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.synchronizers import place_of

patches = LatePatches()


def interrupts(number: int) -> bool:
    """Handle a signal that a task sends to this process, if it is one that ends explorations.

    The root task stands for the main thread, where handlers run: the signal is handled at once
    in it, and else when it runs next.

    Returns:
        Whether the signal was dealt with; else it is to be sent.
    """
    execution = controlled()
    if execution is None or number != signal.SIGINT or not callable(Handlers.program):
        return False
    if signal.getsignal(signal.SIGINT) != Handlers.ours:
        # The program has set its own in this execution.
        return False
    if execution.current is execution.root:
        Handlers.program(number, _getframe(1))
    else:
        defer_signal(execution, Handlers.program, number, None)
    return True


_real_raise_signal = signal.raise_signal
_real_interrupt_main: Any = _thread.interrupt_main


@patches.function(signal, "raise_signal")
def raise_signal(signalnum: int, /) -> None:
    """Stands for ``signal.raise_signal``."""
    announce_signal(place_of(_getframe(2)))
    if not interrupts(signalnum):
        end_by_signal(signalnum)
        _real_raise_signal(signalnum)
        handle_now()


@patches.function(_thread, "interrupt_main")
def interrupt_main(signum: int = signal.SIGINT, /) -> None:
    """Stands for ``_thread.interrupt_main``."""
    announce_signal(place_of(_getframe(2)))
    if not interrupts(signum):
        _real_interrupt_main(signum)
        handle_now()
