"""Timeouts of other plugins that come as a signal, such as those of pytest-timeout.

Their handlers raise an exception wherever the program happens to be. In an execution that would be
in some task, and would look like a failure of the test; in our own work before and after the
exploration it would end the session, as pytest expects no exception there.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from bohrbug.runtime.threads.control import controlled

_GRACE = 2.0
"""Seconds that the exploration has to end after the alarm; then the handler is called at once.

For our own work in it, such as rewriting functions, they are seconds of the processor.
"""

_MOST_GRACE = 60.0
"""Seconds, of real time, after which that is so for our own work, too."""


class AlarmGuard:
    """Context manager, for all that is done for an item: an alarm raises only where it may.

    - Where :meth:`let_through` says so (what belongs to the test, and what pytest catches), its
      handler is called as always.
    - While :meth:`exploring`, it ends the exploration. If it came during an execution, the handler
      is called afterwards: the test has failed as it does without us.
    - In our own work it is put off: the next thing that belongs to the test has the whole time
      again, as it can't be blamed for our work.

    Attributes:
        rang: whether there was an alarm during an exploration.
        rang_in_test: whether it came during an execution, and not in our own work.
        error: what the handler raised in the midst of an exploration, which did not end in time.
    """

    def __init__(self) -> None:
        self._handler: Any = None
        self._granted = 0.0
        self._is_guarding = False
        self._is_put_off = False
        self._stop: Callable[[], object] | None = None
        self._rang_at = self._worked = 0.0
        self.rang = self.rang_in_test = False
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._end()

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """What is done inside may be interrupted by the alarm."""
        was_guarding = self._is_guarding
        self._end()
        try:
            yield
        finally:
            if was_guarding:
                self._begin()

    @contextmanager
    def exploring(self, stop: Callable[[], object]) -> Iterator[None]:
        """An exploration inside ends at the alarm.

        Parameters:
            stop: ends it.
        """
        # The alarm may have been set by a fixture.
        self._begin()
        self._renew_if_put_off()
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None
            if self._is_guarding and self.rang:
                signal.setitimer(signal.ITIMER_REAL, 0)

    def renew(self) -> None:
        """After the end: what comes now has the whole time again, if an alarm was set at first."""
        if self._granted:
            signal.setitimer(signal.ITIMER_REAL, self._granted)

    def call_handler(self) -> None:
        """Call the handler of the alarm, which usually raises."""
        self._handler(signal.SIGALRM, None)

    def _begin(self) -> None:
        if self._is_guarding or not hasattr(signal, "SIGALRM"):
            return
        handler = signal.getsignal(signal.SIGALRM)
        # A handler without an alarm to come is the program's own.
        if callable(handler) and signal.getitimer(signal.ITIMER_REAL)[0] > 0:
            self._handler = handler
            self._is_guarding = True
            self._granted = self._granted or signal.getitimer(signal.ITIMER_REAL)[0]
            signal.signal(signal.SIGALRM, self._ring)

    def _end(self) -> None:
        if not self._is_guarding:
            return
        self._is_guarding = False
        signal.signal(signal.SIGALRM, self._handler)
        self._renew_if_put_off()

    def _renew_if_put_off(self) -> None:
        if self._is_put_off:
            self._is_put_off = False
            signal.setitimer(signal.ITIMER_REAL, self._granted)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._stop is None:
            self._is_put_off = True
        elif not self.rang:
            self.rang = True
            self.rang_in_test = controlled() is not None
            self._rang_at, self._worked = time.perf_counter(), time.process_time()
            signal.setitimer(signal.ITIMER_REAL, _GRACE)
            self._stop()
        elif self._has_grace():
            signal.setitimer(signal.ITIMER_REAL, _GRACE)
        else:
            try:
                self._handler(number, frame)
            except BaseException as error:
                self.error = error
                raise

    def _has_grace(self) -> bool:
        """Whether it is still at our own work, on a machine that lets it do little."""
        return (
            controlled() is None
            and time.process_time() - self._worked < _GRACE
            and time.perf_counter() - self._rang_at < _MOST_GRACE
        )
