"""A small database of how long tests took, so that a later session shares out its time better."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bohrbug.exploration.database import DatabaseError, connect
from bohrbug.paths import DIRECTORY

VERSION = 1
APPLICATION = 0x42_6F_68_64
"""``Bohd``."""

FILE = DIRECTORY / "durations.sqlite"

SCHEMA = """
CREATE TABLE durations (
    test TEXT PRIMARY KEY,
    seconds REAL NOT NULL,
    ended INTEGER NOT NULL
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Lasted:
    """How long a test took in a session.

    Parameters:
        seconds: of real time, with all that belongs to it.
        ended: by itself; else its time was up, and it can use as much as it gets.
    """

    seconds: float
    ended: bool


class Durations:
    """How long tests took, in a file that several processes may use at once.

    A file that can't be used is as good as an empty one, and :attr:`trouble` says why.

    Parameters:
        path: the file; made when there is something to keep.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.trouble = ""

    def read(self) -> dict[str, Lasted]:
        """What is known of all tests."""
        if not self._path.is_file():
            return {}
        try:
            connection = connect(self._path, APPLICATION, VERSION, SCHEMA, replaces_older=True)
            try:
                rows = connection.execute("SELECT test, seconds, ended FROM durations").fetchall()
            finally:
                connection.close()
        except (DatabaseError, sqlite3.Error) as error:
            self.trouble = f"durations of tests are not used: {error}"
            return {}
        return {test: Lasted(float(seconds), bool(ended)) for test, seconds, ended in rows}

    def write(self, lasted: Mapping[str, Lasted]) -> None:
        """Keep how long some tests took, in place of what was known of them."""
        if not lasted:
            return
        rows = [(test, each.seconds, int(each.ended)) for test, each in lasted.items()]
        try:
            connection = connect(self._path, APPLICATION, VERSION, SCHEMA, replaces_older=True)
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("REPLACE INTO durations VALUES (?, ?, ?)", rows)
                connection.execute("COMMIT")
            finally:
                connection.close()
        except (DatabaseError, sqlite3.Error) as error:
            self.trouble = f"durations of tests are not kept: {error}"
