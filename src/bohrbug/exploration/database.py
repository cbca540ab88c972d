"""SQLite files under ``.bohrbug/``: how they are opened, and how they say what they are."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

BUSY_SECONDS = 10.0
"""How long to wait for another process that writes."""


class DatabaseError(ValueError):
    """A file can't be used; the message says why, and what to do."""


class DatabaseBusyError(DatabaseError):
    """Another process uses the file."""


def connect(
    path: Path, application: int, version: int, schema: str, *, replaces_older: bool = False
) -> sqlite3.Connection:
    """Open a file, or make it with a schema.

    Parameters:
        path: the file; its folder is made, too.
        application: the ``application_id`` by which the file says what it is.
        version: the ``user_version`` of the schema.
        schema: statements that make the tables.
        replaces_older: a file of an older version is emptied, as all in it only saves time.

    Raises:
        DatabaseBusyError: another process keeps it for itself.
        DatabaseError: it is no such file, or of another version, or can't be opened.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as error:
        raise DatabaseError(f"{path}: {error}") from error
    try:
        # In this order: another process may make the file in between.
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        found = connection.execute("PRAGMA application_id").fetchone()[0]
        if not found and not tables:
            found, kept = application, _make(connection, application, version, schema)
            with suppress(sqlite3.OperationalError):
                # SQLite does not wait for others here, one of which has made the file and does so.
                connection.execute("PRAGMA journal_mode=WAL")
        else:
            kept = _version_of(connection)
            if replaces_older and found == application and kept < version:
                kept = _make(connection, application, version, schema)
    except sqlite3.Error as error:
        connection.close()
        if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise DatabaseBusyError(f"{path} is in use by another process") from error
        raise DatabaseError(f"{path}: {error}") from error
    if found != application or kept != version:
        connection.close()
        if found != application:
            raise DatabaseError(f"{path} is another kind of file")
        raise DatabaseError(
            f"{path} has version {kept}, this Bohrbug reads version {version}: delete it"
        )
    return connection


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _make(connection: sqlite3.Connection, application: int, version: int, schema: str) -> int:
    """Make the tables, in place of older ones; the version, also if another process was faster.

    After a crash the file is whole, or as it was before.
    """
    connection.execute("BEGIN IMMEDIATE")
    if _version_of(connection) < version:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        for (name,) in tables.fetchall():
            connection.execute(f'DROP TABLE "{name}"')
        for statement in schema.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={application}")
        connection.execute(f"PRAGMA user_version={version}")
    connection.execute("COMMIT")
    return _version_of(connection)


def remove(path: Path) -> None:
    """Delete a database with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
