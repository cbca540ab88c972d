"""Timeouts of other plugins that come as a signal, such as those of pytest-timeout.

Their handlers raise an exception wherever the program happens to be. In an execution that would be
in some task, and would look like a failure of the test.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

_GRACE = 2.0
"""Seconds that the exploration has to end after the alarm; then the handler is called at once."""


class AlarmGuard:
    """Context manager: an alarm ends the exploration, and its handler is called afterwards.

    Parameters:
        stop: ends the exploration.

    Attributes:
        rang: whether there was an alarm.
        error: what the handler raised in the midst of the exploration, which did not end in time.
    """

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        self._handler: Any = None
        self._guarding = False
        self.rang = False
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        if hasattr(signal, "SIGALRM"):
            self._handler = signal.getsignal(signal.SIGALRM)
            # A handler without an alarm to come is the program's own.
            if callable(self._handler) and signal.getitimer(signal.ITIMER_REAL)[0] > 0:
                signal.signal(signal.SIGALRM, self._ring)
                self._guarding = True
        return self

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self.rang:
            try:
                self._handler(number, frame)
            except BaseException as error:
                self.error = error
                raise
            return
        self.rang = True
        signal.setitimer(signal.ITIMER_REAL, _GRACE)
        self._stop()

    def __exit__(self, *exc_info: object) -> None:
        if self._guarding:
            if self.rang:
                signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._handler)

    def call_handler(self) -> None:
        """Call the handler of the alarm, which usually raises."""
        self._handler(signal.SIGALRM, None)
