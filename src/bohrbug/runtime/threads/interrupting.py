"""Interrupting a system call in which the thread of an execution is blocked.

An exception that another thread raises is delivered at the next instruction, and a thread that
is blocked in the kernel has none.  A signal makes the call return; Python then runs the
signal's handler, and the exception is delivered in that.  C code that waits without
looking at signals is not interrupted.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

SIGNAL: int | None = getattr(signal, "SIGURG", None)
"""Ignored unless somebody asks for it, and hardly anybody does."""

_real_signal = signal.signal
_real_getsignal = signal.getsignal
_real_get_ident = threading.get_ident


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """A handler in which what was raised is delivered."""


class Interrupting:
    """Makes system calls of one thread interruptible from :meth:`begin` to :meth:`end`.

    Nothing is done where that is not possible: handlers run in the main thread only, and a
    handler of the program's own stays what it is.
    """

    def __init__(self) -> None:
        self._thread = 0

    def begin(self) -> None:
        """Let system calls of the calling thread be interruptible."""
        in_main_thread = threading.current_thread() is threading.main_thread()
        if SIGNAL is not None and in_main_thread and _real_getsignal(SIGNAL) is signal.SIG_DFL:
            _real_signal(SIGNAL, _do_nothing)
            self._thread = _real_get_ident()

    def end(self) -> None:
        """Put back what was there before; called by the same thread."""
        if SIGNAL is not None and self._is_ours():
            _real_signal(SIGNAL, signal.SIG_DFL)
        self._thread = 0

    def interrupt(self) -> None:
        """Interrupt the system call that the thread is in, if any; called by another thread."""
        if SIGNAL is not None and self._is_ours():
            signal.pthread_kill(self._thread, SIGNAL)

    def _is_ours(self) -> bool:
        return bool(self._thread) and _real_getsignal(SIGNAL or 0) is _do_nothing
