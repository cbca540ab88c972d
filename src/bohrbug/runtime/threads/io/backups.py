"""``Connection.backup``: it reads one database and writes another, some pages at a time.

SQLite gives way between two steps, and tries again for ever where it finds a database locked, in C.
So each step is asked how it went, and whoever found a lock waits as a task.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bohrbug.model.operation import QUERY, STATEMENT, Kind
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.database import Database
from bohrbug.runtime.threads.synchronizers import place_of

_LOCKED = (5, 6)
"""``SQLITE_BUSY`` and ``SQLITE_LOCKED``."""


def back_up(
    source: Any, target: Any, call: Callable[..., None], options: dict[str, Any], frame: Any
) -> None:
    """Copy a database to another one, on behalf of the code that runs in ``frame``.

    Parameters:
        source, target: connections.
        call: what does it.
        options: for it.
    """
    execution = controlled()
    if execution is None or execution.current.inside:
        call(target, **options)
        return
    waiting = source._waiting
    waiting.check_owner(execution)
    databases = [waiting.database]
    # One that was made before is not controlled.
    of_target = getattr(target, "_waiting", None)
    if of_target is not None:
        databases.append(of_target.database)
    steps = _Steps(execution, source, databases, options.get("progress"), place_of(frame))
    steps.begin()
    try:
        call(target, **{**options, "progress": steps.go_on, "sleep": 0.0})
    finally:
        steps.end()


class _Steps:
    """The steps of one backup.

    Parameters:
        execution: the current one.
        source: what is read.
        databases: that which is read, and, if it is controlled, that which is written.
        progress: what the program wants to be told by.
        place: of the call.
    """

    def __init__(
        self,
        execution: Execution,
        source: Any,
        databases: list[Database],
        progress: Callable[[int, int, int], object] | None,
        place: Any,
    ) -> None:
        self._execution = execution
        self._source = source
        self._databases = databases
        self._progress = progress
        self._place = place

    def begin(self) -> None:
        """The first step is about to be made: what is read is read right behind this."""
        for database in self._databases[1:]:
            self._use(database, STATEMENT)
        self._use(self._databases[0], QUERY)

    def go_on(self, status: int, remaining: int, total: int) -> None:
        """A step was made, or could not be."""
        if self._progress is not None:
            self._progress(status, remaining, total)
        if status in _LOCKED:
            self._wait()
        elif remaining:
            self.begin()

    def end(self) -> None:
        """All was written: who looks at it behind this sees it."""
        for database in self._databases:
            database.uses += 1
        for database in self._databases[1:]:
            self._use(database, STATEMENT)

    def _use(self, database: Database, kind: Kind) -> None:
        self._execution.perform(kind, database.state(self._execution, self._place), self._place)
        if database.blobs:
            database.tell_blobs(kind is not QUERY)

    def _wait(self) -> None:
        """Until somebody has used what is locked; then the step is tried again."""
        is_readable = self._source._waiting.can_read(self._source)
        database, kind = self._databases[0], QUERY
        if is_readable:
            database, kind = self._databases[-1], STATEMENT
        uses = database.uses
        self._execution.perform(
            kind,
            database.state(self._execution, self._place),
            self._place,
            lambda: database.uses != uses,
            external=self._execution.outside.has_children,
        )
        self.begin()
