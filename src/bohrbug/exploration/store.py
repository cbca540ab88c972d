"""Explorations kept in SQLite files, so that they can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bohrbug import __version__
from bohrbug.exploration.database import DatabaseBusyError, DatabaseError, connect, remove
from bohrbug.exploration.figures import tuples
from bohrbug.exploration.findings import Findings
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import (
    failure_from_json,
    failure_to_json,
    options_from_json,
    options_to_json,
    stem_of,
)
from bohrbug.exploration.result import Failure
from bohrbug.exploration.saving import InUseError, Loaded, ResumeError, Saved
from bohrbug.model.outcome import Race
from bohrbug.model.serialise import trace_from_json, trace_to_json
from bohrbug.model.trace import Trace
from bohrbug.paths import DIRECTORY

VERSION = 4
APPLICATION = 0x42_6F_68_72
"""``Bohr``."""

SUFFIX = ".exploration"

SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (path TEXT PRIMARY KEY, sha256 TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE state (number INTEGER PRIMARY KEY CHECK (number = 1), content BLOB NOT NULL);
CREATE TABLE failures (number INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE races (number INTEGER PRIMARY KEY, content BLOB NOT NULL);
"""

SAVE_EVERY = 1.0
"""Seconds between two times that the state is saved, at least."""

SHARE = 0.02
"""The part of the time that saving may take; beyond it is done less often."""

CHANGEABLE = ("seconds", "workers", "epoch", "uptime")
"""Options that may differ when an exploration is resumed."""

VOLATILE = ("epoch", "uptime")
"""Parts of a target that differ each time that the same test is explored."""

_now = time.perf_counter
_wall = time.time


@dataclass(frozen=True, slots=True)
class Subject:
    """What an exploration is of.

    Parameters:
        target: as in a reproduction file.
        test: the name of the test.
        options: of the exploration.
        files: files that belong to the test, whatever runs: such as the script.
    """

    target: dict[str, Any]
    test: str
    options: ExploreOptions
    files: tuple[str, ...] = ()

    def path(self, directory: Path = DIRECTORY) -> Path:
        """Where the exploration is kept: the same test and options give the same file."""
        options = options_to_json(self.options)
        for name in CHANGEABLE:
            options.pop(name)
        target = {name: value for name, value in self.target.items() if name not in VOLATILE}
        content = json.dumps([target, options], sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:8]
        return directory / f"{stem_of(self.test)}-{digest}{SUFFIX}"


def digest_of(path: str) -> str:
    """The digest of a file, or ``missing``."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return "missing"


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file says of the exploration in it.

    Parameters:
        path: of the file.
        subject: what is explored.
        executions: made so far.
        failures: found so far.
        saved: when it was last saved, in seconds since 1970.
    """

    path: Path
    subject: Subject
    executions: int
    failures: int
    saved: float


def _as_written_here(path: str) -> str:
    """A path as a person in the current folder would write it."""
    folder = os.getcwd() + os.sep
    return path.removeprefix(folder)


class ExplorationStore:
    """Keeps one exploration in one file; see :class:`~bohrbug.exploration.saving.Keeper`.

    The file is made when there is something to save: a short exploration needs none.
    While it is open no other process can use it.

    Parameters:
        subject: what is explored.
        path: the file.
        resume: go on with what is in the file; otherwise it is made anew.
    """

    def __init__(self, subject: Subject, path: Path, resume: bool = False) -> None:
        self._subject = subject
        self.path = path
        self._resume = resume
        self._connection: sqlite3.Connection | None = None
        self._due = _now() + SAVE_EVERY
        self._sources: set[str] = set()
        self._known: dict[str, int] = {}
        self.trouble = ""
        """Why nothing can be kept: an exploration is worth making all the same."""

    # -- reading -------------------------------------------------------------------------

    def load(self) -> Loaded | None:
        """See :class:`~bohrbug.exploration.saving.Keeper`."""
        if not self._resume:
            return None
        if not self.path.is_file():
            raise ResumeError(
                f"{self.path}: there is no such exploration; bohrbug explorations lists them"
            )
        connection = self._open()
        about = _about(connection)
        self._check(connection, about)
        try:
            row = connection.execute("SELECT content FROM state").fetchone()
            loaded = Loaded(
                None if row is None else Saved.from_json(_unpacked(row[0])),
                list(_failures(connection)),
                dict(_races(connection)),
            )
        except (KeyError, TypeError, ValueError, zlib.error) as error:
            raise ResumeError(f"{self.path} is damaged: {type(error).__name__}: {error}") from error
        self._due = _now() + SAVE_EVERY
        return loaded

    def _check(self, connection: sqlite3.Connection, about: Mapping[str, str]) -> None:
        """That nothing has changed on which the exploration depends.

        Raises:
            ResumeError: something has; the message says what.
        """
        now = self._about()
        differences = [
            f"{name} was {about.get(name)} and is {now[name]}"
            for name in ("python", "bohrbug")
            if about.get(name) != now[name]
        ]
        then = json.loads(about["options"])
        for name, value in options_to_json(self._subject.options).items():
            if name not in CHANGEABLE and then.get(name) != value:
                flag = name.replace("_", "-")
                differences.append(f"the option {flag} was {then.get(name)} and is {value}")
        if json.loads(about["target"]) != json.loads(now["target"]):
            differences.append(f"it is of another test: {about['test']}")
        for path, digest in connection.execute("SELECT path, sha256 FROM sources ORDER BY path"):
            path = _restored(path)
            self._sources.add(path)
            if digest_of(path) != digest:
                differences.append(f"{_as_written_here(path)} has changed")
        if differences:
            raise ResumeError(
                f"{self.path} can't be resumed, because schedules mean something else now: "
                + "; ".join(differences)
                + ". Explore again from the start"
            )

    # -- writing -------------------------------------------------------------------------

    def is_due(self) -> bool:
        """See :class:`~bohrbug.exploration.saving.Keeper`."""
        return not self.trouble and _now() >= self._due

    def save(self, saved: Saved, findings: Findings, sources: Sequence[str]) -> None:
        """See :class:`~bohrbug.exploration.saving.Keeper`."""
        if not self._can_be_written():
            return
        begin = _now()
        content = _packed(saved.to_json())
        with self._transaction() as connection:
            connection.execute("REPLACE INTO state VALUES (1, ?)", (content,))
            connection.execute(
                "REPLACE INTO about VALUES ('executions', ?), ('saved', ?)",
                (str(saved.executions), repr(_wall())),
            )
            for path in {*sources, *self._subject.files} - self._sources:
                self._sources.add(path)
                row = _stored(path), digest_of(path)
                connection.execute("REPLACE INTO sources VALUES (?, ?)", row)
            self._write_findings(connection, findings)
        end = _now()
        self._due = end + max(SAVE_EVERY, (end - begin) / SHARE)

    def save_findings(self, findings: Findings) -> None:
        """See :class:`~bohrbug.exploration.saving.Keeper`: the disk has it when this returns."""
        if not self._can_be_written():
            return
        with self._transaction() as connection:
            self._write_findings(connection, findings)
        # What was found belongs to a state in which it was found: that follows soon.
        self._due = min(self._due, _now())

    def _write_findings(self, connection: sqlite3.Connection, findings: Findings) -> None:
        connection.execute("DELETE FROM failures")
        for failure, is_untimely in findings.kept():
            content = {**_failure_to_json(failure), "untimely": is_untimely}
            connection.execute("INSERT INTO failures (content) VALUES (?)", (_packed(content),))
        connection.execute("DELETE FROM races")
        if findings.races:
            races = [list(findings.races), trace_to_json(Trace(races=[*findings.races.values()]))]
            connection.execute("INSERT INTO races (content) VALUES (?)", (_packed(races),))

    def close(self) -> None:
        """See :class:`~bohrbug.exploration.saving.Keeper`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def discard(self) -> None:
        """See :class:`~bohrbug.exploration.saving.Keeper`."""
        self.close()
        if not self.trouble and self.path.parent.is_dir():
            # Of the same program another process may keep an exploration there by now.
            with suppress(DatabaseError):
                _make_way(self.path)

    def _can_be_written(self) -> bool:
        """Whether there is a file or a place for one; notes the trouble if there is none."""
        if self._connection is None and not self._resume and not self.trouble:
            self.trouble = _trouble_with(self.path.parent)
            if not self.trouble:
                try:
                    self._open()
                except InUseError as error:
                    self.trouble = str(error)
        return not self.trouble

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                if not self._resume:
                    _make_way(self.path)
                connection = connect(self.path, APPLICATION, VERSION, SCHEMA)
                # From the first look on the file is ours, until it is closed or we die.
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("BEGIN EXCLUSIVE")
                for name, value in self._about().items():
                    connection.execute(
                        "INSERT OR IGNORE INTO about VALUES (?, ?)", (name, _stored(value))
                    )
                connection.execute("COMMIT")
            except DatabaseBusyError as error:
                raise InUseError(str(error)) from error
            except DatabaseError as error:
                raise ResumeError(str(error)) from error
            except sqlite3.OperationalError as error:
                raise InUseError(f"{self.path} is in use by another process ({error})") from error
            self._connection = connection
        return self._connection

    def _transaction(self) -> _Transaction:
        return _Transaction(self._open())

    def _about(self) -> dict[str, str]:
        subject = self._subject
        return {
            "target": json.dumps(subject.target, sort_keys=True),
            "test": subject.test,
            "options": json.dumps(options_to_json(subject.options), sort_keys=True),
            "files": json.dumps(list(subject.files)),
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "bohrbug": __version__,
        }


def _stored(text: str) -> str | bytes:
    """A text as SQLite takes it: a file name need not be one, and is bytes then."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return os.fsencode(text)
    return text


def _restored(value: str | bytes) -> str:
    return value if isinstance(value, str) else os.fsdecode(value)


class _Transaction:
    """Context manager: all of it or nothing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(self, kind: object, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def _trouble_with(folder: Path) -> str:
    """Why no file can be made in a folder, which is made if need be; empty if one can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"{folder}/: {error.strerror or error}"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder}/ can't be written to"


def _make_way(path: Path) -> None:
    """Delete what an earlier exploration has left, unless it is in use.

    Raises:
        DatabaseBusyError: it is.
        DatabaseError: it is a file of another kind.
    """
    if not path.is_file():
        return
    try:
        connection = sqlite3.connect(path, timeout=0.1, isolation_level=None)
        try:
            connection.execute("BEGIN EXCLUSIVE")
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise DatabaseBusyError(f"{path} is in use by another process") from error
    except sqlite3.DatabaseError as error:
        raise DatabaseError(f"{path} is another kind of file: delete it ({error})") from error
    remove(path)


# -- what rows hold -----------------------------------------------------------------------


def _packed(content: Any) -> bytes:
    return zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 1)


def _unpacked(content: bytes) -> Any:
    return json.loads(zlib.decompress(content))


def _failure_to_json(failure: Failure) -> dict[str, Any]:
    return {
        **failure_to_json(failure),
        "points": [list(point) for point in failure.points],
        "occurrences": failure.occurrences,
    }


def _failures(connection: sqlite3.Connection) -> Iterator[tuple[Failure, bool]]:
    for (content,) in connection.execute("SELECT content FROM failures ORDER BY number"):
        data = _unpacked(content)
        failure = failure_from_json(data)
        failure.points = tuple((file, name, line, at) for file, name, line, at in data["points"])
        failure.occurrences = data["occurrences"]
        yield failure, data["untimely"]


def _races(connection: sqlite3.Connection) -> Iterator[tuple[Any, Race]]:
    for (content,) in connection.execute("SELECT content FROM races"):
        keys, trace = _unpacked(content)
        yield from zip(map(tuples, keys), trace_from_json(trace).races, strict=True)


def _about(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT name, value FROM about")
    return {name: _restored(value) for name, value in rows}


# -- which there are ----------------------------------------------------------------------


def look(path: Path) -> Kept:
    """What a file says of the exploration in it; works only while nobody explores.

    Raises:
        ResumeError: it can't be read, is of another kind or version, or in use.
    """
    if not path.is_file():
        trouble = "it is a folder" if path.is_dir() else "there is no such file"
        raise ResumeError(f"{path}: {trouble}; those to resume: bohrbug explorations")
    if not path.stat().st_size:
        # SQLite would make a new database of it.
        raise ResumeError(f"{path} is empty: explore again from the start")
    try:
        connection = connect(path, APPLICATION, VERSION, SCHEMA)
        try:
            about = _about(connection)
            failures = connection.execute("SELECT count(*) FROM failures").fetchone()[0]
        finally:
            connection.close()
        options = options_from_json(json.loads(about["options"]))
        files = tuple(json.loads(about["files"]))
        subject = Subject(json.loads(about["target"]), about["test"], options, files)
        executions, saved = int(about.get("executions", 0)), float(about.get("saved", 0.0))
    except (DatabaseError, sqlite3.Error) as error:
        raise ResumeError(f"{path} can't be read, or is in use: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ResumeError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    return Kept(path, subject, executions, failures, saved)


def kept_in(directory: Path = DIRECTORY) -> list[Path]:
    """The files of explorations in a folder, the one written last first."""
    paths = directory.glob(f"*{SUFFIX}")
    return sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)
