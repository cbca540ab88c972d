"""Calls that let another task go on: it may do so before a plain store behind the call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.native.exploring import explored

Build = Callable[..., Path]

PUT = ("write", "poll", "writev", "dprintf", "eventfd", "splice", "tee", "sendfile")
STREAMS = ("fputs", "fputc", "fprintf", "fclose")
SOCKETS = ("send", "sendto", "sendmsg", "sendmmsg", "shutdown", "connect")
ROOM = ("read", "readv", "recv", "recvmsg", "fgetc")
ENDS = ("close", "dup2", "open")
SIGNALS = ("kill", "sigqueue", "pthread_kill", "pthread_cancel", "timer", "timerfd")
WAYS = (*PUT, *STREAMS, *SOCKETS, *ROOM, *ENDS, *SIGNALS, "barrier")


@pytest.mark.parametrize("way", WAYS)
def test_who_is_let_go_on_may_come_before_a_store(
    native_build: Build, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = native_build("handed_over.c")
    # A reduction finds it only if the point depends on what the other task does.
    [failure] = explored(program, way, strategy="dpor", executions=1000, causes=0).failures
    assert (failure.outcome.kind, failure.confirmed) == (OutcomeKind.CRASH, 3)


@pytest.mark.parametrize("way", ["write", "recv", "kill", "barrier"])
def test_a_store_before_the_call_is_there(native_build: Build, way: str) -> None:
    result = explored(native_build("handed_over.c"), way, "before")
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict


def test_there_is_no_such_point_where_none_is_wanted(native_build: Build) -> None:
    result = explored(native_build("handed_over.c"), "write", level="sync")
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict


def test_accesses_that_are_seen_need_no_such_point(native_build: Build) -> None:
    program = native_build("handed_over.c", "-fsanitize=thread")
    plain = explored(program, "write", "before", strategy="dpor").verdict
    assert plain.kind is not VerdictKind.FAILED
    [failure] = explored(program, "write", executions=300, causes=0).failures
    assert failure.outcome.kind is OutcomeKind.CRASH
