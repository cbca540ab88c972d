"""``executemany``: others may come in between two rows, and between a row and its being stored."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import pytest

import bohrbug
from bohrbug import VerdictKind
from tests.programs.guarding import Guard
from tests.programs.together import together


def verdict_of(program: Callable[[], None]) -> VerdictKind:
    result = bohrbug.explore(program, strategy="dpor", executions=400, minimise=False, causes=0)
    assert not result.verdict.caveats
    return result.verdict.kind


def shared() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("CREATE TABLE t(x)")
    return connection


def never_stale(guard: Guard, rows_of: Callable[[list[int]], Iterable[object]]) -> None:
    setting = [1]
    with contextlib.closing(shared()) as connection:

        def work() -> None:
            with guard:
                connection.executemany("INSERT INTO t VALUES (?)", rows_of(setting))

        def change() -> None:
            with guard:
                setting[0] = 2
                connection.execute("DELETE FROM t")

        together(work, change)
        assert (1,) not in connection.execute("SELECT x FROM t").fetchall()


def _yielded(setting: list[int]) -> Iterable[object]:
    yield (setting[0],)


ROWS: dict[str, Callable[[list[int]], Iterable[object]]] = {
    "generator": _yielded,
    "map": lambda setting: map(lambda index: (setting[index],), [0]),  # noqa: C417
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_may_be_stale_when_it_is_stored(name: str) -> None:
    assert verdict_of(lambda: never_stale(contextlib.nullcontext(), ROWS[name])) is (
        VerdictKind.FAILED
    )
    assert verdict_of(lambda: never_stale(threading.Lock(), ROWS[name])) is VerdictKind.HOLDS


def row_of_a_list(guard: Guard) -> None:
    row = [0]
    with contextlib.closing(shared()) as connection:

        def work() -> None:
            with guard:
                connection.executemany("INSERT INTO t VALUES (?)", iter([row]))

        def change() -> None:
            with guard:
                row[0] = 1
                row[0] = 2

        together(work, change)
        assert (1,) not in connection.execute("SELECT x FROM t").fetchall()


def test_what_lies_in_a_row_is_read() -> None:
    assert verdict_of(lambda: row_of_a_list(contextlib.nullcontext())) is VerdictKind.FAILED
    assert verdict_of(lambda: row_of_a_list(threading.Lock())) is VerdictKind.HOLDS


def all_or_nothing(guard: Guard) -> None:
    seen = []
    with contextlib.closing(shared()) as connection:

        def work() -> None:
            with guard:
                connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])

        def look() -> None:
            with guard:
                seen.extend(connection.execute("SELECT count(*) FROM t"))

        together(work, look)
    assert seen[0][0] in (0, 2)


def test_on_the_same_connection_others_see_some_of_the_rows() -> None:
    assert verdict_of(lambda: all_or_nothing(contextlib.nullcontext())) is VerdictKind.FAILED
    assert verdict_of(lambda: all_or_nothing(threading.Lock())) is VerdictKind.HOLDS


def in_a_file(path: Path, isolation: Literal["DEFERRED"] | None) -> set[int]:
    """How many rows there were for one who looks, and in the end."""
    counts: set[int] = set()

    def connected() -> contextlib.closing[sqlite3.Connection]:
        connection = sqlite3.connect(path, isolation_level=isolation)
        connection.execute("PRAGMA synchronous = off")
        return contextlib.closing(connection)

    with connected() as first:
        first.executescript("DROP TABLE IF EXISTS t; CREATE TABLE t(x)")

    def work() -> None:
        with connected() as connection, connection:
            rows = ((number,) for number in range(2))
            connection.executemany("INSERT INTO t VALUES (?)", rows)

    def look() -> None:
        with connected() as connection:
            counts.update(*connection.execute("SELECT count(*) FROM t"))

    together(work, look)
    look()
    return counts


def test_in_a_transaction_others_see_all_rows_or_none(tmp_path: Path) -> None:
    def program() -> None:
        assert in_a_file(tmp_path / "database", "DEFERRED") in ({0, 2}, {2})

    assert verdict_of(program) is VerdictKind.HOLDS


def test_without_a_transaction_others_see_some_of_the_rows(tmp_path: Path) -> None:
    def program() -> None:
        assert in_a_file(tmp_path / "database", None) in ({0, 2}, {2})

    assert verdict_of(program) is VerdictKind.FAILED


def test_no_row_is_lost_while_the_database_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "database"

    def program() -> None:
        with contextlib.closing(sqlite3.connect(path)) as first:
            first.executescript("DROP TABLE IF EXISTS t; CREATE TABLE t(x)")

            def work() -> None:
                with contextlib.closing(sqlite3.connect(path)) as connection, connection:
                    rows = ((number,) for number in range(2))
                    connection.executemany("INSERT INTO t VALUES (?)", rows)

            together(work, work)
            assert first.execute("SELECT count(*) FROM t").fetchall() == [(4,)]

    result = bohrbug.explore(program, executions=20, minimise=False, causes=0)
    assert result.verdict.kind is not VerdictKind.FAILED
