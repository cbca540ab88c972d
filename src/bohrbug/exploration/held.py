"""A small database of verdicts: a test that held and has not changed is not explored again."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bohrbug.exploration.database import DatabaseError, connect
from bohrbug.paths import DIRECTORY

VERSION = 2
APPLICATION = 0x42_6F_68_76
"""``Bohv``."""

FILE = DIRECTORY / "held.sqlite"

WRITE_EVERY = 2.0
"""Seconds after which what is new is written: an interrupt loses none of it, being killed does."""

_now = time.perf_counter

SCHEMA = """
CREATE TABLE held (
    test TEXT PRIMARY KEY,
    conditions TEXT NOT NULL,
    files TEXT NOT NULL,
    told TEXT NOT NULL,
    explored REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE files (
    key TEXT PRIMARY KEY,
    files TEXT NOT NULL
) WITHOUT ROWID;
"""
"""Many tests depend on the same files, which are written once: ``held.files`` is a key of them."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of a test in which no failure was found.

    Parameters:
        conditions: all but files that the verdict depends on, such as options, as a digest.
        files: those that it depends on, with the digests of their contents, and the names of the
            modules that they are, or "".
        told: what was told of the exploration, as plain data.
        explored: when it ended, in seconds since the epoch.
    """

    conditions: str
    files: Mapping[str, tuple[str, str]]
    told: dict[str, Any]
    explored: float


class HeldTests:
    """Verdicts of tests, in a file that several processes may use at once.

    All that is known is read once, and what is new is written now and then, and by :meth:`flush`.
    A file that can't be used is as good as an empty one, and :attr:`trouble` says why.

    Parameters:
        path: the file; made when there is something to keep.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble: str | None = None
        self._unwritten: dict[str, Held | None] = {}
        # By their keys: as they were written, and as they were read from that.
        self._texts: dict[str, str] = {}
        self._files: dict[str, Mapping[str, tuple[str, str]]] = {}
        self._written = _now()

    @cached_property
    def _known(self) -> dict[str, tuple[str, str, str, float]]:
        if not self.path.is_file():
            return {}
        held, files = self._do(
            ("SELECT test, conditions, files, told, explored FROM held", [()]),
            ("SELECT key, files FROM files", [()]),
        ) or ((), ())
        self._texts = dict(files)
        return {row[0]: row[1:] for row in held}

    def recall(self, test: str) -> Held | None:
        """What was known of a test when this process began."""
        row = self._known.get(test)
        return None if row is None else self._read(*row)

    def _read(self, conditions: str, key: str, told: str, explored: float) -> Held | None:
        """What a row says; ``None`` if it was written by another version, by hand, or just now.

        The test is explored as if nothing was known of it, which puts another row in its place.
        """
        try:
            known = self._files.get(key)
            if known is None:
                files = json.loads(self._texts[key]).items()
                known = self._files[key] = {file: (digest, name) for file, (digest, name) in files}
            return Held(conditions, known, dict(json.loads(told)), explored)
        except (LookupError, ValueError, TypeError, AttributeError):
            return None

    def keep(self, test: str, held: Held) -> None:
        """Keep what is known of a test, in place of what was."""
        self._change(test, held)

    def forget(self, test: str) -> None:
        """Forget what is known of a test."""
        if test in self._known or test in self._unwritten:
            self._change(test, None)

    def _change(self, test: str, held: Held | None) -> None:
        self._unwritten[test] = held
        if _now() - self._written > WRITE_EVERY:
            self.flush()

    def flush(self) -> None:
        """Write what was not written yet."""
        self._written = _now()
        gone: list[tuple[object, ...]] = []
        rows: list[tuple[object, ...]] = []
        texts: dict[str, str] = {}
        keys: dict[int, str] = {}
        for test, held in self._unwritten.items():
            if held is None:
                gone.append((test,))
                continue
            key = keys.get(id(held.files))
            if key is None:
                text = json.dumps(dict(held.files), sort_keys=True)
                key = keys[id(held.files)] = hashlib.sha256(text.encode()).hexdigest()
                texts[key] = text
            told = json.dumps(held.told)
            rows.append((test, held.conditions, key, told, held.explored))
        self._unwritten.clear()
        if gone or rows:
            self._do(
                ("BEGIN IMMEDIATE", [()]),
                ("DELETE FROM held WHERE test = ?", gone),
                ("REPLACE INTO held VALUES (?, ?, ?, ?, ?)", rows),
                ("REPLACE INTO files VALUES (?, ?)", [*texts.items()]),
                ("DELETE FROM files WHERE key NOT IN (SELECT files FROM held)", [()]),
                ("COMMIT", [()]),
            )

    def _do(self, *statements: tuple[str, list[tuple[object, ...]]]) -> list[list[Any]]:
        """Statements, each with the rows that it is for; what those for one row gave.

        Nothing, if the file can't be used.
        """
        given: list[list[Any]] = []
        try:
            connection = connect(self.path, APPLICATION, VERSION, SCHEMA, replaces_older=True)
            try:
                for statement, rows in statements:
                    if len(rows) == 1:
                        given.append(connection.execute(statement, rows[0]).fetchall())
                    else:
                        connection.executemany(statement, rows)
            finally:
                connection.close()
        except (DatabaseError, sqlite3.Error) as error:
            self.trouble = f"verdicts are not kept: {error}"
            return []
        return given
