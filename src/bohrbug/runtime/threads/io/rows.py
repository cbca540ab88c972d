"""The rows of an ``executemany``: between two of them others may use the database.

SQLite executes the statement once for each row. Where rows come from functions, these run in
between; and while it executes one, the interpreter lock is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bohrbug.runtime.threads.rewrite.callables import tell_consumed

_COMPUTING_NOTHING = (list, tuple)


class Rows:
    """What ``sqlite3`` is given in the place of the rows.

    Parameters:
        rows: what the program gave.
        come_between: called where others may run.
        is_shared: whether others can tell apart that some rows were executed and that all were.
    """

    def __init__(self, rows: Any, come_between: Callable[[], None], is_shared: bool) -> None:
        self._rows = rows
        self._come_between = come_between
        self._is_shared = is_shared
        self._each: Iterator[Any] | None = None
        self._is_again = False

    def __iter__(self) -> Iterator[Any]:
        if self._each is None:
            self._each = self._in_turn()
        return self._each

    def again(self) -> None:
        """The last row was not executed, as the database was locked: go on with that."""
        self._is_again = True

    def _in_turn(self) -> Iterator[Any]:
        # What a function has computed may be stale by the time that it is stored; behind the first
        # row the database is locked, unless others use the connection, or see each row at once.
        comes_between = type(self._rows) not in _COMPUTING_NOTHING
        for row in self._rows:
            if comes_between:
                self._come_between()
            comes_between = self._is_shared
            if type(row) is not tuple:
                tell_consumed(row, "sqlite3.Cursor.executemany")
            self._is_again = True
            while self._is_again:
                self._is_again = False
                yield row
