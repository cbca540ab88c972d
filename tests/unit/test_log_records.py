"""Log records at which a test looks: their order is explored, and handlers keep tasks apart."""

from __future__ import annotations

import contextlib
import io
import logging
import logging.config
import sys
import threading
import unittest
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from tests.programs.together import together
from tests.unit.random_schedules import values
from tests.unit.test_io import execute

LOGGER = logging.getLogger("tests.unit.test_log_records")


class ListHandler(logging.Handler):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record.getMessage())


@contextmanager
def only(handler: logging.Handler) -> Iterator[None]:
    """Log to this handler and to no other."""
    LOGGER.addHandler(handler)
    LOGGER.propagate = False
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.propagate = True


def log_in_two_tasks() -> None:
    together(lambda: LOGGER.warning("a"), lambda: LOGGER.warning("b"))


def all_results(attempt: Callable[[], int]) -> set[int]:
    """What it returns in any schedule."""
    seen: set[int] = set()
    result = bohrbug.explore(lambda: seen.add(attempt()), strategy="dpor")
    assert result.verdict.kind is VerdictKind.HOLDS
    return seen


def test_the_order_in_a_stream() -> None:
    def attempt() -> str:
        stream = io.StringIO()
        with only(logging.StreamHandler(stream)):
            log_in_two_tasks()
        return stream.getvalue()

    assert values(attempt) == {"a\nb\n", "b\na\n"}


def test_the_order_that_a_test_case_captures() -> None:
    def attempt() -> str:
        with unittest.TestCase().assertLogs(LOGGER) as captured:
            log_in_two_tasks()
        return "".join(record.getMessage() for record in captured.records)

    assert values(attempt) == {"ab", "ba"}


def test_a_handler_of_the_test() -> None:
    """Its lock keeps the tasks apart, so that there is an order and no race."""
    seen = set()

    def test() -> None:
        handler = ListHandler()
        with only(handler):
            log_in_two_tasks()
        seen.add("".join(handler.seen))

    result = bohrbug.explore(test, executions=30, races="fail")
    assert not result.failures
    assert not result.races
    assert seen == {"ab", "ba"}


def test_a_formatter_finds_who_has_logged_behind_frames_of_logging() -> None:
    class Finder(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            frame = sys._getframe(1)
            while frame.f_globals["__name__"] == "logging" and frame.f_back is not None:
                frame = frame.f_back
            return frame.f_code.co_name

    def log_here() -> None:
        LOGGER.warning("a")

    def attempt() -> str:
        handler = logging.StreamHandler(io.StringIO())
        handler.setFormatter(Finder())
        with only(handler):
            together(log_here, log_here)
        return str(handler.stream.getvalue())

    assert values(attempt, 5) == {"log_here\nlog_here\n"}


def test_a_handler_finds_who_has_logged_behind_frames_of_the_file_of_logging() -> None:
    class PassingOn(ListHandler):
        """As loguru's documentation tells to pass records on."""

        def emit(self, record: logging.LogRecord) -> None:
            frame = sys._getframe(1)
            while frame.f_code.co_filename == logging.__file__:
                assert frame.f_back is not None
                frame = frame.f_back
            self.seen.append(frame.f_code.co_name)

    def log_here() -> None:
        LOGGER.warning("a")

    def attempt() -> str:
        handler = PassingOn()
        with only(handler):
            together(log_here, log_here)
        return " ".join(handler.seen)

    assert values(attempt, 5) == {"log_here log_here"}


def test_what_nobody_looks_at_is_no_operation() -> None:
    def test() -> None:
        with only(logging.StreamHandler(sys.stderr)):
            log_in_two_tasks()

    for trace in execute(test, (Plan(),)):
        touched = {trace.resources[operation.resource].type for operation in trace.operations}
        assert touched
        assert "StreamHandler" not in touched


def test_the_lock_of_one_handler_keeps_nobody_out_of_another() -> None:
    class Counting(logging.Handler):
        def __init__(self, counts: list[int]) -> None:
            super().__init__()
            self.counts = counts

        def emit(self, record: logging.LogRecord) -> None:
            before = self.counts[0]
            self.counts[0] = before + 1

    def attempt(handlers: int) -> int:
        counts = [0]
        logger = logging.Logger("counted")
        for _ in range(handlers):
            logger.addHandler(Counting(counts))
        together(lambda: logger.warning("a"), lambda: logger.warning("b"))
        return counts[0]

    assert all_results(lambda: attempt(1)) == {2}
    assert all_results(lambda: attempt(2)) == {3, 4}


def test_what_a_logger_lets_through_is_read() -> None:
    def attempt() -> int:
        logger = logging.Logger("read", 10)

        def change() -> None:
            logger.setLevel(20)
            logger.setLevel(30)

        levels: list[int] = []
        together(lambda: levels.append(logger.getEffectiveLevel()), change)
        return levels[0]

    assert all_results(attempt) == {10, 20, 30}


class AskingHandler(logging.Handler):
    """Calls the library again while its own lock is held."""

    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger("tests.unit.another")


def log_while_it_is_configured(handler: logging.Handler) -> None:
    log = logging.Logger("a log")
    log.addHandler(handler)
    settings = {"version": 1, "disable_existing_loggers": False}
    together(lambda: log.warning("a"), lambda: logging.config.dictConfig(settings))


@pytest.fixture
def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What configures logging forgets all handlers, those of pytest included."""
    monkeypatch.setattr(logging, "_handlers", weakref.WeakValueDictionary())
    monkeypatch.setattr(logging, "_handlerList", [])


@pytest.mark.usefixtures("no_handlers")
def test_a_handler_and_the_library_wait_for_each_other() -> None:
    result = bohrbug.explore(lambda: log_while_it_is_configured(AskingHandler()))
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.DEADLOCK]


def test_so_does_one_that_was_there_before() -> None:
    handler = AskingHandler()

    def closes() -> None:
        with logging._lock:
            handler.acquire()
            handler.release()

    with only(handler):
        result = bohrbug.explore(lambda: together(lambda: LOGGER.warning("a"), closes))
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.DEADLOCK]


@pytest.mark.parametrize("is_attached", [False, True])
def test_the_lock_of_the_library_is_quiet_without_handlers_of_the_program(
    is_attached: bool,
) -> None:
    def points(first: Callable[[], object]) -> int:
        return bohrbug.explore(lambda: together(first, lambda: None)).points

    handler = AskingHandler()
    with only(handler) if is_attached else contextlib.nullcontext():
        seen = points(lambda: logging.getLogger("b")) - points(lambda: None)
    assert seen == (2 if is_attached else 0)


def _log_to_a_stream(guard: contextlib.AbstractContextManager[Any]) -> None:
    stream = io.StringIO()
    logger = logging.Logger("stream")
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    seen: list[str] = []

    def log() -> None:
        with guard:
            logger.error("one")
            logger.error("two")

    def look() -> None:
        with guard:
            seen.append(stream.getvalue())

    together(log, look)
    assert seen != ["one\n"]


def test_who_looks_at_the_stream_of_a_handler_may_come_between_two_records() -> None:
    result = bohrbug.explore(lambda: _log_to_a_stream(contextlib.nullcontext()))
    assert result.verdict.kind is VerdictKind.FAILED
    assert result.races
    result = bohrbug.explore(lambda: _log_to_a_stream(threading.Lock()))
    assert result.verdict.kind is VerdictKind.HOLDS


def test_those_who_log_to_one_stream_do_not_race() -> None:
    def test() -> None:
        stream = io.StringIO()
        logger = logging.Logger("stream")
        logger.addHandler(logging.StreamHandler(stream))
        together(lambda: logger.error("one"), lambda: logger.error("two"))
        assert sorted(stream.getvalue().split()) == ["one", "two"]

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert not result.races
