"""``sqlite3`` under control: statements are operations, and a locked database is waited for."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import VerdictKind
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.installation import installation
from tests.programs.together import together
from tests.unit.random_schedules import PASSED, kinds, values

Work = Callable[[sqlite3.Connection], object]


def connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    # Nobody switches the machine off.
    connection.execute("PRAGMA synchronous = off")
    return connection


def in_threads(path: Path, *works: Work) -> int:
    """The counter in a new database, after each work was done with a connection of its own."""
    first = connected(path)
    first.executescript("DROP TABLE IF EXISTS t; CREATE TABLE t(x); INSERT INTO t VALUES (0)")

    def do(work: Work) -> None:
        connection = connected(path)
        try:
            work(connection)
        finally:
            connection.close()

    threads = [threading.Thread(target=do, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [(number,)] = first.execute("SELECT x FROM t").fetchall()
    first.close()
    return int(number)


def read_and_write(connection: sqlite3.Connection) -> None:
    (number,) = connection.execute("SELECT x FROM t").fetchone()
    connection.execute("UPDATE t SET x = ?", (number + 1,))


def read_and_write_locked(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    read_and_write(connection)
    connection.execute("COMMIT")


def read_and_write_deferred(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    read_and_write(connection)
    connection.commit()


def test_an_update_is_lost_between_two_statements(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert values(lambda: in_threads(path, read_and_write, read_and_write), 40) == {1, 2}


def test_who_finds_the_database_locked_waits(tmp_path: Path) -> None:
    """Within C, SQLite would wait for a lock that its holder could never release."""
    path = tmp_path / "file"
    works = [read_and_write_locked] * 3
    assert values(lambda: in_threads(path, *works), 40) == {3}


def test_transactions_that_wait_for_each_other(tmp_path: Path) -> None:
    """The one that cannot go on for certain gets the error that SQLite gives it."""
    path = tmp_path / "file"

    def attempt() -> tuple[int, tuple[str, ...]]:
        errors: list[str] = []

        def work(connection: sqlite3.Connection) -> None:
            try:
                read_and_write_deferred(connection)
            except sqlite3.OperationalError as error:
                errors.append(str(error))
                connection.rollback()

        return in_threads(path, work, work), tuple(errors)

    assert values(attempt, 40) == {(2, ()), (1, ("database is locked",))}


def test_a_lock_that_is_never_released(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def attempt() -> None:
        holder, other = connected(path), connected(path)
        try:
            holder.execute("BEGIN EXCLUSIVE")
            other.execute("PRAGMA busy_timeout = 100000")
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("CREATE TABLE t(x)")
        finally:
            holder.close()
            other.close()

    assert kinds(attempt, 3) == {PASSED}


def test_connections_belong_to_the_task_that_made_them() -> None:
    """All tasks share one thread of the operating system, which SQLite would not mind."""

    def attempt(check: bool) -> Any:
        with sqlite3.connect(":memory:", check_same_thread=check) as connection:
            got: list[object] = []

            def use() -> None:
                try:
                    got.append(connection.execute("SELECT 1").fetchone())
                except sqlite3.ProgrammingError as error:
                    got.append("created in a thread" in str(error))

            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
        connection.close()
        return got[0]

    assert values(lambda: attempt(True), 3) == {True}
    assert values(lambda: attempt(False), 3) == {(1,)}


def test_a_block_with_a_connection_is_a_transaction(tmp_path: Path) -> None:
    def attempt() -> int:
        connection = sqlite3.connect(tmp_path / "file")
        try:
            with connection:
                connection.executescript("DROP TABLE IF EXISTS t; CREATE TABLE t(x)")
                connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
            with pytest.raises(ZeroDivisionError), connection:
                connection.execute("INSERT INTO t VALUES (3)")
                raise ZeroDivisionError
            return len(list(connection.execute("SELECT * FROM t")))
        finally:
            connection.close()

    assert values(attempt, 3) == {2}


def test_a_class_of_connections_of_ones_own(tmp_path: Path) -> None:
    class Upper(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:  # type: ignore[override]
            return super().execute(sql.upper(), *args)

    def attempt() -> Any:
        connection = sqlite3.connect(tmp_path / "file", factory=Upper)
        assert isinstance(connection, Upper)
        try:
            return connection.execute("select 'a'").fetchone()
        finally:
            connection.close()

    assert values(attempt, 3) == {("A",)}


def test_a_connection_that_lives_on_waits_as_it_did(tmp_path: Path) -> None:
    kept: list[sqlite3.Connection] = []

    def attempt() -> None:
        kept.append(sqlite3.connect(tmp_path / "file", timeout=0.2))

    real = sqlite3.connect
    assert kinds(attempt, 1) == {PASSED}
    assert sqlite3.connect is real
    [connection] = kept
    assert connection.execute("SELECT 1").fetchone() == (1,)
    assert connection.execute("PRAGMA busy_timeout").fetchone() == (200,)
    assert type(connection).__name__ == "Connection"
    connection.close()
    assert installation._depth == 0


def test_the_timeout_of_a_connection_is_what_it_asked_for(tmp_path: Path) -> None:
    def body() -> object:
        connection = sqlite3.connect(tmp_path / "base", timeout=3)
        asked = connection.execute("PRAGMA busy_timeout").fetchone()
        connection.execute("CREATE TABLE IF NOT EXISTS t(x)")
        again = connection.cursor().execute("pragma busy_timeout;").fetchone()
        connection.close()
        return asked, again

    assert values(body) == {((3000,), (3000,))}


def test_connections_that_tasks_make_have_names_of_their_own() -> None:
    """What a task sets on its own is no other task's, and is called the same in each execution."""

    class Sum:
        def step(self, value: int) -> None: ...

        def finalize(self) -> int:
            return 0

    def use() -> None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.create_aggregate("total_of", 1, Sum)

    verdict = bohrbug.explore(lambda: together(use, use), seconds=None).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert not verdict.caveats


def numbers_of_databases(*names: str) -> int:
    """How many databases an execution tells of that connects to each name in turn."""

    def body() -> int:
        for name in names:
            connection = sqlite3.connect(name, uri=True)
            connection.execute("SELECT 1")
            connection.close()
            del connection
        execution = controlled()
        assert execution is not None
        labels = [each.describe().label for each in execution.resources._states]
        return sum(label.startswith("database ") for label in labels)

    (found,) = values(body)
    return found


def test_a_database_is_the_same_after_all_connections_were_closed(tmp_path: Path) -> None:
    path = str(tmp_path / "t.db")
    assert numbers_of_databases(path, path) == 1
    assert numbers_of_databases(path, str(tmp_path / "u.db")) == 2


def test_what_uris_ask_for_makes_no_other_database(tmp_path: Path) -> None:
    path = str(tmp_path / "t u.db")
    escaped = path.replace(" ", "%20")
    assert numbers_of_databases(path, f"file:{path}", f"file://{escaped}?mode=rw#here") == 1


def test_databases_in_memory_have_names(tmp_path: Path) -> None:
    asked = "mode=memory&cache=shared"
    assert numbers_of_databases(f"file:t?{asked}", "file:t?cache=shared&mode=memory") == 1
    assert numbers_of_databases(f"file:t?{asked}", f"file:u?{asked}", str(tmp_path / "t")) == 3
