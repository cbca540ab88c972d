"""Settings and files that the standard library looks at."""

from __future__ import annotations

import contextlib
import logging.handlers
import os
import ssl
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import bohrbug
from bohrbug import VerdictKind

from .guarding import Guard
from .looking_twice import Looks, check_that_it_holds, check_that_it_is_found
from .together import together

_FOLDER = tempfile.TemporaryDirectory()


def _of_context(
    look: Callable[[ssl.SSLContext], object], change: Callable[[ssl.SSLContext], object]
) -> Callable[[], Looks]:
    def make() -> Looks:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        return lambda: look(context), lambda: change(context)

    return make


def _trust_nobody(context: ssl.SSLContext) -> None:
    context.verify_mode = ssl.CERT_NONE


def _give_no_tickets(context: ssl.SSLContext) -> None:
    context.options |= ssl.OP_NO_TICKET


def _check_names(context: ssl.SSLContext) -> None:
    context.check_hostname = True


def _local_hour() -> Looks:
    os.environ["TZ"] = "UTC"
    time.tzset()

    def move() -> None:
        os.environ["TZ"] = "EST5EDT"
        time.tzset()

    return lambda: time.localtime(0).tm_hour, move


def _copied_by(copy: Callable[[int, int], object]) -> Callable[[], Looks]:
    """A file is copied while another task writes into it."""

    def make() -> Looks:
        folder = Path(_FOLDER.name)
        source = folder / "source"
        source.write_text("old", encoding="utf-8")

        def look() -> str:
            reading = os.open(source, os.O_RDONLY)
            writing = os.open(folder / "target", os.O_RDWR | os.O_CREAT)
            copy(reading, writing)
            os.close(reading)
            text = os.pread(writing, 3, 0).decode()
            os.close(writing)
            return text

        def change() -> None:
            writing = os.open(source, os.O_WRONLY)
            os.write(writing, b"new")
            os.close(writing)

        return look, change

    return make


ALL = [
    _of_context(lambda context: context.verify_mode, _trust_nobody),
    _of_context(lambda context: context.options, _give_no_tickets),
    _of_context(lambda context: context.check_hostname, _check_names),
    _of_context(
        lambda context: len(context.get_ciphers()), lambda context: context.set_ciphers("AES128")
    ),
    _local_hour,
    _copied_by(lambda source, target: os.sendfile(target, source, 0, 3)),
    _copied_by(lambda source, target: os.copy_file_range(source, target, 3)),
]


@pytest.mark.parametrize("make", ALL)
def test_what_it_looks_at_is_seen(make: Callable[[], Looks]) -> None:
    check_that_it_is_found(make)


@pytest.mark.parametrize("make", ALL)
def test_with_a_lock_it_holds_without_a_condition(make: Callable[[], Looks]) -> None:
    check_that_it_holds(make)


def _rotated_twice(guard: Guard) -> None:
    """Each handler renames the log, if it is there."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        handlers = [logging.handlers.RotatingFileHandler(log, backupCount=2) for _ in range(2)]

        def rotate(handler: logging.handlers.RotatingFileHandler) -> None:
            with guard:
                handler.doRollover()

        try:
            together(*(partial(rotate, handler) for handler in handlers))
            assert os.path.exists(f"{log}.2")
        finally:
            for handler in handlers:
                handler.close()


def test_logs_that_are_rotated_are_files() -> None:
    broken = bohrbug.explore(lambda: _rotated_twice(contextlib.nullcontext()), executions=300)
    assert broken.verdict.kind is VerdictKind.FAILED
    correct = bohrbug.explore(lambda: _rotated_twice(threading.Lock()), executions=300)
    assert correct.verdict.kind is VerdictKind.HOLDS, correct.verdict
