"""``Connection.backup`` under control: it waits as a task, and others come in between its steps."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.model.operation import QUERY, STATEMENT
from tests.programs.together import together

# From Python 3.13 on, connections that are left open say so when they die.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")


@pytest.fixture(autouse=True)
def _connections_die_here() -> Iterator[None]:
    yield
    gc.collect()


def _explore(test: object) -> bohrbug.Result:
    return bohrbug.explore(test, strategy="dpor", executions=200, minimise=False, causes=0)  # type: ignore[arg-type]


def test_it_waits_until_what_it_reads_is_not_locked(tmp_path: Path) -> None:
    path = tmp_path / "source.db"

    def test() -> None:
        path.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as made:
            made.execute("create table t (a)")
        counts: list[int] = []

        def write() -> None:
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("begin exclusive")
                connection.execute("insert into t values (1)")
                connection.execute("insert into t values (2)")
                connection.execute("commit")

        def back_up() -> None:
            with (
                contextlib.closing(sqlite3.connect(path)) as source,
                contextlib.closing(sqlite3.connect(":memory:")) as target,
            ):
                source.backup(target)
                counts.extend(target.execute("select count(*) from t").fetchone())

        together(write, back_up)
        assert counts in ([0], [2])

    result = _explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.executions > 2


def test_it_waits_until_what_it_writes_is_not_locked(tmp_path: Path) -> None:
    path = tmp_path / "target.db"
    seen: set[int] = set()

    def test() -> None:
        path.unlink(missing_ok=True)
        source, target, writing = (
            sqlite3.connect(name, isolation_level=None, check_same_thread=False)
            for name in (":memory:", path, path)
        )
        source.execute("create table t (a)")

        def write() -> None:
            writing.execute("begin exclusive")
            writing.execute("commit")

        def back_up() -> None:
            source.backup(target, progress=lambda status, *_: seen.add(status))

        together(write, back_up)
        assert target.execute("select name from sqlite_master").fetchall() == [("t",)]
        for connection in (source, target, writing):
            connection.close()

    result = _explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert seen == {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_DONE}


def test_others_come_in_between_its_steps() -> None:
    def test() -> None:
        source = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        source.execute("create table t (a)")
        source.executemany("insert into t values (?)", [("x" * 3_000,)] * 4)
        left: list[int] = []
        changed: list[int] = []

        def back_up() -> None:
            with contextlib.closing(sqlite3.connect(":memory:")) as target:
                source.backup(
                    target,
                    pages=1,
                    progress=lambda *status: left.append(status[1]),
                )

        def change() -> None:
            source.execute("delete from t")
            changed.append(len(left))

        together(back_up, change)
        assert changed[0] in (0, len(left))

    result = _explore(test)
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


def test_who_looks_at_what_it_writes_sees_that_before_or_behind_it() -> None:
    seen: set[int] = set()

    def test() -> None:
        source, target = (
            sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            for _ in range(2)
        )
        for connection in (source, target):
            connection.execute("create table t (a)")
        source.execute("insert into t values (1)")

        def look() -> None:
            # While there are rows to be fetched, it can't be written.
            seen.add(target.execute("select count(*) from t").fetchall()[0][0])

        def back_up() -> None:
            with contextlib.suppress(sqlite3.OperationalError):
                source.backup(target)

        together(back_up, look)

    result = _explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert seen == {0, 1}


def test_what_is_written_is_used_before_and_behind_what_is_read() -> None:
    """Who comes in between the first two has not seen anything of it yet."""

    def test() -> None:
        source, target = (sqlite3.connect(":memory:", check_same_thread=False) for _ in range(2))
        together(lambda: source.backup(target), lambda: None)
        raise AssertionError

    (failure,) = _explore(test).failures
    used = [
        (operation.kind, operation.resource)
        for operation in failure.trace.operations
        if operation.kind in (QUERY, STATEMENT)
    ]
    (before, written), (read_as, read), behind = used
    assert (before, read_as, behind) == (STATEMENT, QUERY, (STATEMENT, written))
    assert read != written


def test_what_is_read_is_used_again_behind_a_wait(tmp_path: Path) -> None:
    """Others may have changed it meanwhile."""
    path = tmp_path / "target.db"

    def test() -> None:
        path.unlink(missing_ok=True)
        source, target, writing = (
            sqlite3.connect(name, isolation_level=None, check_same_thread=False)
            for name in (":memory:", path, path)
        )
        writing.execute("begin exclusive")
        seen: list[int] = []
        together(
            lambda: source.backup(target, progress=lambda status, *_: seen.append(status)),
            lambda: writing.execute("commit"),
        )
        for connection in (source, target, writing):
            connection.close()
        assert sqlite3.SQLITE_BUSY not in seen

    (failure,) = _explore(test).failures
    trace = failure.trace
    by_backup = [
        operation.kind
        for operation, task in zip(trace.operations, trace.choices, strict=True)
        if task == "0.1" and operation.kind in (QUERY, STATEMENT)
    ]
    once = [STATEMENT, QUERY]
    assert by_backup == [*once, STATEMENT, *once, STATEMENT]


def test_a_connection_of_another_thread_is_refused() -> None:
    def test() -> None:
        source = sqlite3.connect(":memory:")
        errors: list[str] = []

        def back_up() -> None:
            with contextlib.closing(sqlite3.connect(":memory:")) as target:
                try:
                    source.backup(target)
                except sqlite3.ProgrammingError as error:
                    errors.append(str(error))

        together(back_up)
        assert len(errors) == 1

    assert _explore(test).verdict.kind is VerdictKind.HOLDS


def test_without_control_it_is_the_real_one() -> None:
    source, target = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    source.execute("create table t (a)")
    source.backup(target)
    assert target.execute("select count(*) from t").fetchone() == (0,)
    with pytest.raises(TypeError):
        source.backup(None)  # type: ignore[arg-type]
