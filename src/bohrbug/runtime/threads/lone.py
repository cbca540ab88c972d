"""The first execution of a test, as long as it has one task: nothing needs to be seen of it yet.

Most tests of a suite never start a second one.  To find out which functions run, and to tell of
accesses, would take longer than such a test itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.data.sinks import AroundSink


class SinkOfLoneTask(AroundSink):
    """Stands before the sink of an execution that has one task up to now.

    Parameters:
        usual: the sink of the execution.
        on_company: called once, when a second task is about to begin, or an event loop.
    """

    def __init__(self, usual: Any, on_company: Callable[[], object]) -> None:
        super().__init__(usual)
        self.attribute, self.item, self.whole = usual.attribute, usual.item, usual.whole
        self._on_company: Callable[[], object] | None = on_company

    @property
    def enabled(self) -> bool:
        """See :class:`.WatchingSink`; a second task sets it."""
        return bool(self._usual.enabled)

    @enabled.setter
    def enabled(self, value: bool) -> None:
        if value:
            self.company_comes()
        self._usual.enabled = value

    def company_comes(self) -> None:
        """There may be several tasks from now on."""
        on_company, self._on_company = self._on_company, None
        if on_company is not None:
            on_company()
