"""What was recorded is written before a process is ended by SIGTERM, as ``terminate()`` sends it.

Workers are often ended so, and what they did is what others have waited for.  Nothing can be done
about SIGKILL: up to a block of events of each task is lost then.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from bohrbug.runtime.channels.session import Session, active

_PATIENCE = 0.5


def write_before_termination(session: Session) -> None:
    """See to it that SIGTERM ends this process as always, once its events are written.

    Nothing is done in a replay, nor where the program handles the signal.
    """
    if (
        session.replaying
        or sys.platform == "win32"
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        return
    signal.signal(signal.SIGTERM, _end)


def _end(number: int, frame: object) -> None:
    if active.session is not None:
        # The signal may have come while this very thread was writing.
        active.session.flush(_PATIENCE)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
