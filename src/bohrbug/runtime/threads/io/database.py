"""A database that connections lock, and how a connection waits for it as a task.

SQLite itself waits for locks in C, where no other task can run and release them.  So connections
that are made under control never wait there: whoever finds the database locked waits as a
task until another one has used it, and gets the error that SQLite gives after the
connection's timeout only when no task can run.
"""

from __future__ import annotations

import os
import re
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeGuard
from weakref import WeakValueDictionary

from bohrbug.model.operation import QUERY, STATEMENT, Kind
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.rows import Rows
from bohrbug.runtime.threads.outside import LONGEST_PAUSE
from bohrbug.runtime.threads.quiet_sets import QuietValues
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.rewrite.callables import tell_used
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import TimeoutPolicy

_real_monotonic = time.monotonic
_real_fsdecode = os.fsdecode
_real_fsencode = os.fsencode
_real_readlink = os.readlink
_real_stat = os.stat
_split, _join = os.path.split, os.path.join

_BUSY = 5
"""``SQLITE_BUSY``, without the extended codes, for which SQLite does not wait either."""

DEFAULT_TIMEOUT = 5.0
"""Seconds that ``sqlite3.connect`` waits if it is not told how long."""

_BEGIN = re.compile(r"\s*begin\b", re.IGNORECASE)
_SELECT = re.compile(r"\s*select\b", re.IGNORECASE)
_ASK_TIMEOUT = re.compile(r"\s*pragma\s+busy_timeout\s*;?\s*$", re.IGNORECASE)
_SET_TIMEOUT = re.compile(r"\s*pragma\s+busy_timeout\s*[=(]\s*(\d+)", re.IGNORECASE)


class Database:
    """What several connections lock: a file, or the memory of one connection.

    Parameters:
        name: how reports call it.
    """

    __slots__ = ("__weakref__", "blobs", "name", "uses")

    def __init__(self, name: str) -> None:
        self.name = name
        # Those that were opened in it: other names for what is there.
        self.blobs: list[weakref.ref[Any]] = []
        # How often it was used: who waits tries again when this has changed.
        self.uses = 0

    def tell_blobs(self, is_write: bool) -> None:
        """What is there is about to be read or changed."""
        for blob in [found for reference in self.blobs if (found := reference()) is not None]:
            tell_used("sqlite3.Cursor.execute", blob, is_write)

    def state(self, execution: Execution, place: Any) -> ResourceState:
        """The resource that statements act on."""
        state = execution.resources.known(self)
        if state is None:
            state = execution.resources.register(
                self, execution.current, "database", None if self.name else place
            )
            if self.name:
                # The file is the same one to who connects after all others have closed it.
                execution.resources.keep(self)
                state.given_label = f"database {self.name}"
        return state


_databases: WeakValueDictionary[tuple[str, str], Database] = QuietValues()


def database_of(name: Any) -> Database:
    """The database that ``connect`` is given the name of."""
    text = _real_fsdecode(name)
    if not text or (":memory:" in text and "cache=shared" not in text):
        return Database("")
    path, is_file = _path_in(text)
    folder, base = _where_it_is(path) if is_file else ("in memory", path)
    found = _databases.get((folder, base))
    if found is None:
        found = _databases[folder, base] = Database(base.rpartition("/")[2])
    return found


_URI = re.compile(r"file:(?://[^/?#]*)?(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?", re.DOTALL)
_IN_MEMORY = re.compile(r"(?:^|&)(?:mode=memory|vfs=memdb)(?:&|$)")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


def _path_in(text: str) -> tuple[str, bool]:
    """The path of a database, by its name or a URI, and whether it is a file.

    As SQLite reads them: what follows the path says how to open it, and not which file it is.
    """
    match = _URI.match(text)
    if match is None:
        return text, True
    raw = _real_fsencode(match["path"])
    path = _real_fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), raw))
    return path, path != ":memory:" and not _IN_MEMORY.search(match["query"] or "")


_MOST_LINKS = 40
"""Symbolic links that lead to one file: as many as Linux follows."""


def _where_it_is(path: str) -> tuple[str, str]:
    """What names the folder of a file, which need not be there yet, and its name in that folder.

    As ``os.path.realpath``, which calls what the program may have replaced.
    """
    for _ in range(_MOST_LINKS):
        folder, base = _split(path)
        try:
            path = _join(folder, _real_readlink(path))
        except OSError:
            # It is no link, or not there.
            break
    try:
        status = _real_stat(folder or ".")
    except OSError:
        return folder, base
    return f"{status.st_dev} {status.st_ino}", base


_SHARED = "connection to a database used by several tasks"
_CLOSED = "connection to a database closed while there are other tasks"
_CLOSING = frozenset({_SHARED, _CLOSED})


class Waiting:
    """How one connection waits for locks.

    Parameters:
        database: that it is connected to.
        timeout: seconds that it waits for a lock.
        owner: ident of the thread that alone may use it, or ``None``.
        module: ``sqlite3``.
    """

    __slots__ = ("_database", "_has_begun", "_is_real", "_module", "_owner", "_timeout", "_user")

    def __init__(self, database: Database, timeout: float, owner: int | None, module: Any) -> None:
        self._database = database
        self._timeout = timeout
        self._owner = owner
        self._module = module
        # Whether a transaction has done anything yet.
        self._has_begun = False
        # Whether SQLite itself waits, as it does while nobody is in control.
        self._is_real = False
        self._user: int | None = None

    def look(self, frame: Any) -> None:
        """The code that runs in ``frame`` asks how far the connection is."""
        execution = controlled()
        if execution is not None and not execution.current.inside and not execution.is_alone():
            place = place_of(frame)
            execution.perform(QUERY, self._database.state(execution, place), place)

    def look_whether_open(self, frame: Any) -> None:
        """The same where it only matters whether another task closes the connection."""
        execution = controlled()
        if self._is_used_beside_others(execution) and execution.namespaces >= _CLOSING:
            self.look(frame)

    def close(self, connection: Any, call: Callable[[], Any], frame: Any) -> None:
        """Close the connection; parameters as of :meth:`end`."""
        execution = controlled()
        if self._is_used_beside_others(execution):
            # From the next execution on.
            execution.namespaces.add(_CLOSED)
        self.end(connection, call, frame)

    def _is_used_beside_others(self, execution: Execution | None) -> TypeGuard[Execution]:
        """The task uses the connection; whether others may do so meanwhile."""
        if self._owner is not None or execution is None or execution.current.inside:
            return False
        self._is_shared(execution)
        return not execution.is_alone()

    def opened(self, blob: Any) -> None:
        """A blob was opened."""
        blobs = self._database.blobs
        blobs[:] = [known for known in blobs if known() is not None]
        blobs.append(weakref.ref(blob))

    @property
    def database(self) -> Database:
        """What the connection is connected to."""
        return self._database

    def can_read(self, connection: Any) -> bool:
        """Whether nobody locks what is in the database, where only that is asked."""
        cursor = self._module.Cursor(connection)
        try:
            cursor.execute("SELECT 1 FROM sqlite_master").fetchall()
        except self._module.OperationalError:
            return False
        finally:
            cursor.close()
        return True

    def use(self, connection: Any, kind: Kind, call: Callable[[], Any], frame: Any) -> Any:
        """Use what is in the database without a statement, for the code that runs in ``frame``.

        Parameters:
            connection: by which.
            kind: whether it may be changed.
            call: what does it.
        """
        return self._perform(connection, kind, call, (), frame)

    def end(self, connection: Any, call: Callable[[], Any], frame: Any) -> None:
        """End a transaction, on behalf of the code that runs in ``frame``.

        Parameters:
            connection: whose transaction.
            call: what does it.
        """
        self._perform(connection, STATEMENT, call, (), frame)
        self._has_begun = False

    def execute(
        self, connection: Any, call: Callable[..., Any], args: tuple[Any, ...], frame: Any
    ) -> Any:
        """Execute statements, on behalf of the code that runs in ``frame``.

        Parameters:
            connection: which executes them.
            call: what does it.
            args: for it, the text of the statements first.
        """
        text = args[0] if args and isinstance(args[0], str) else ""
        if _ASK_TIMEOUT.match(text):
            # SQLite itself is to know no timeout but while it is asked for it.
            self._let_sqlite_wait(connection, True)
            return call(*args)
        if self._owner is None:
            execution = controlled()
            if execution is not None and not execution.current.inside:
                self._is_shared(execution)
        kind = QUERY if _SELECT.match(text) else STATEMENT
        # Who reads already may be waited for by who writes: there SQLite does not wait.
        result = self._perform(connection, kind, call, args, frame, not self._has_begun)
        self._has_begun = connection.in_transaction and not _BEGIN.match(text)
        match = _SET_TIMEOUT.match(text)
        if match is not None:
            self._timeout = int(match[1]) / 1000
            self._is_real = True
            self._let_sqlite_wait(connection, controlled() is None)
        return result

    def execute_many(
        self, connection: Any, call: Callable[..., Any], args: tuple[Any, ...], frame: Any
    ) -> Any:
        """The same of one statement and several rows; parameters as of :meth:`execute`."""
        execution = controlled()
        if execution is None or len(args) != 2 or execution.current.inside:
            return self.execute(connection, call, args, frame)
        place = place_of(frame)

        def come_between() -> None:
            execution.perform(STATEMENT, self._database.state(execution, place), place)

        look = vars(self._module.Connection)
        is_shared = self._is_shared(execution) or (
            look["isolation_level"].__get__(connection) is None
            and not look["in_transaction"].__get__(connection)
        )
        rows = Rows(args[1], come_between, is_shared)
        return self.execute(connection, call, (args[0], rows), frame)

    def _is_shared(self, execution: Execution) -> bool:
        """Whether several tasks use the connection."""
        user = execution.current.index
        if self._user not in (None, user):
            # From the next execution on.
            execution.namespaces.add(_SHARED)
        self._user = user
        return _SHARED in execution.namespaces

    def note_use(self) -> None:
        """Something was done that may have released a lock."""
        self._database.uses += 1

    def _perform(
        self,
        connection: Any,
        kind: Kind,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        frame: Any,
        waits: bool = True,
    ) -> Any:
        """Do something that may find the database locked.

        Parameters:
            waits: and then wait.
        """
        execution = controlled()
        self._let_sqlite_wait(connection, execution is None)
        if execution is None:
            return call(*args)
        task = execution.current
        self.check_owner(execution)
        place = place_of(frame)
        state = self._database.state(execution, place)
        if not task.inside:
            execution.perform(kind, state, place)
        if self._database.blobs:
            self._database.tell_blobs(kind is not QUERY)
        end = execution.clock.now + self._timeout
        while True:
            try:
                result = call(*args)
            except self._module.Error as error:
                is_busy = getattr(error, "sqlite_errorcode", None) == _BUSY
                # Who tries in vain and waits on changes nothing for the others.
                if is_busy and waits and self._wait(execution, kind, state, place, end):
                    for rows in args[1:]:
                        if isinstance(rows, Rows):
                            rows.again()
                    continue
                self.note_use()
                raise
            self.note_use()
            return result

    def check_owner(self, execution: Execution) -> None:
        """Raise what ``sqlite3`` does where a task uses the connection that must not."""
        ident = execution.current.ident
        if self._owner is not None and self._owner != ident:
            raise self._module.ProgrammingError(
                "SQLite objects created in a thread can only be used in that same thread. The "
                f"object was created in thread id {self._owner} and this is thread id {ident}."
            )

    def _wait(
        self, execution: Execution, kind: Kind, state: ResourceState, place: Any, end: float
    ) -> bool:
        """Until another has used the database; false if that is not to be expected in time."""
        left = end - execution.clock.now
        if left <= 0:
            return False
        uses = self._database.uses
        has_children = execution.outside.has_children
        look = _real_monotonic() + LONGEST_PAUSE

        def may_be_free() -> bool:
            return self._database.uses != uses or (has_children and _real_monotonic() > look)

        firing = TimeoutPolicy.IN_REAL_TIME if has_children else TimeoutPolicy.LATE
        return execution.perform(
            kind, state, place, may_be_free, left, external=has_children, firing=firing
        )

    def _let_sqlite_wait(self, connection: Any, wanted: bool) -> None:
        if wanted is not self._is_real:
            self._is_real = wanted
            milliseconds = int(self._timeout * 1000) if wanted else 0
            cursor = self._module.Cursor(connection)
            cursor.execute(f"PRAGMA busy_timeout = {milliseconds}")
            cursor.close()
