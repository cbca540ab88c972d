"""A small database of failing schedules, so that a later run tries them first."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from bohrbug.exploration.database import DatabaseError, connect
from bohrbug.exploration.remembered import Remembered
from bohrbug.exploration.result import Failure
from bohrbug.model.serialise import plan_from_json, plan_to_json
from bohrbug.paths import DIRECTORY

VERSION = 1
APPLICATION = 0x42_6F_68_6D
"""``Bohm``."""

FILE = DIRECTORY / "memory.sqlite"

MOST = 10
"""Schedules that are remembered of one test, the newest."""

SCHEMA = """
CREATE TABLE schedules (
    test TEXT NOT NULL,
    digest TEXT NOT NULL,
    plan TEXT NOT NULL,
    points TEXT NOT NULL,
    message TEXT NOT NULL,
    found REAL NOT NULL,
    PRIMARY KEY (test, digest)
) WITHOUT ROWID;
"""

_wall = time.time


class Memory:
    """Failing schedules of tests, in a file that several processes may use at once.

    Which tests it remembers is read once: for all others, which are most, it is not opened again.
    It is not held open between tests; a file that can't be used is as good as an empty one, and
    :attr:`trouble` says why.

    Parameters:
        path: the file; made when there is something to remember.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble: str | None = None

    @cached_property
    def _tests(self) -> set[str]:
        """The tests of which something may be remembered."""
        if not self.path.is_file():
            return set()
        return {test for (test,) in self._do("SELECT DISTINCT test FROM schedules", [()])}

    def recall(self, test: str) -> list[Remembered]:
        """What is remembered of a test, the newest first."""
        if test not in self._tests:
            return []
        rows = self._do(
            "SELECT test, digest, plan, points, message, found FROM schedules "
            "WHERE test = ? ORDER BY found DESC",
            [(test,)],
        )
        found = []
        for name, digest, plan, points, message, when in rows:
            try:
                places = tuple(
                    (file, code, line, at) for file, code, line, at in json.loads(points)
                )
                schedule = plan_from_json(json.loads(plan))
            except (TypeError, ValueError):
                # Of another version; found again if it is still there.
                self.forget(test, [digest])
                continue
            found.append(Remembered(name, digest, schedule, places, message, when))
        return found

    def remember(self, test: str, failures: Iterable[Failure]) -> None:
        """Remember the schedules of failures, and forget the oldest of too many."""
        rows = []
        for failure in failures:
            plan = json.dumps(plan_to_json(failure.plan), sort_keys=True)
            digest = hashlib.sha256(plan.encode()).hexdigest()[:16]
            points = json.dumps([list(point) for point in failure.points])
            message = failure.outcome.message or failure.outcome.kind.value
            rows.append((test, digest, plan, points, message.splitlines()[0], _wall()))
        if rows:
            self._tests.add(test)
            self._do("REPLACE INTO schedules VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._do(
                "DELETE FROM schedules WHERE test = ? AND digest NOT IN (SELECT digest FROM "
                "schedules WHERE test = ? ORDER BY found DESC LIMIT ?)",
                [(test, test, MOST)],
            )

    def forget(self, test: str, digests: Iterable[str] | None = None) -> None:
        """Forget schedules of a test; all of them if none are named."""
        if test not in self._tests:
            return
        if digests is None:
            self._do("DELETE FROM schedules WHERE test = ?", [(test,)])
        else:
            rows = [(test, digest) for digest in digests]
            self._do("DELETE FROM schedules WHERE test = ? AND digest = ?", rows)

    def _do(self, statement: str, rows: Iterable[tuple[object, ...]]) -> list[Any]:
        """One transaction: a statement, once for each of the rows; what it gave."""
        given: list[Any] = []
        try:
            connection = connect(self.path, APPLICATION, VERSION, SCHEMA)
            try:
                connection.execute("BEGIN" if statement.startswith("SELECT") else "BEGIN IMMEDIATE")
                for row in rows:
                    given += connection.execute(statement, row).fetchall()
                connection.execute("COMMIT")
            finally:
                connection.close()
        except (DatabaseError, sqlite3.Error) as error:
            self.trouble = f"failing schedules are not remembered: {error}"
        return given
