"""SQLite files under ``.bohrbug/``: how they are opened, and how they say what they are."""

from __future__ import annotations

import sqlite3
from pathlib import Path

BUSY_SECONDS = 10.0
"""How long to wait for another process that writes."""


class DatabaseError(ValueError):
    """A file can't be used; the message says why, and what to do."""


class DatabaseBusyError(DatabaseError):
    """Another process uses the file."""


def connect(path: Path, application: int, version: int, schema: str) -> sqlite3.Connection:
    """Open a file, or make it with a schema.

    Parameters:
        path: the file; its folder is made, too.
        application: the ``application_id`` by which the file says what it is.
        version: the ``user_version`` of the schema.
        schema: statements that make the tables.

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
        found = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if not found and not tables:
            # After a crash the file is whole, or as it was before.
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{schema}\nPRAGMA application_id={application};\n"
                f"PRAGMA user_version={version};\nCOMMIT;"
            )
            return connection
        kept = connection.execute("PRAGMA user_version").fetchone()[0]
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


def remove(path: Path) -> None:
    """Delete a database with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
