"""Numbers of descriptors that are given out again: another file, and what uses a closed one."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import bohrbug
from bohrbug import Result, VerdictKind
from bohrbug.runtime.threads.rewrite.descriptors import STALE
from tests.programs.together import together

pytestmark = pytest.mark.skipif(os.name == "nt", reason="descriptors have other numbers there")


def explored(test: Callable[[], object], races: str = "fail") -> Result:
    return bohrbug.explore(test, races=races, causes=0, seconds=None)


@pytest.mark.parametrize("same", [True, False], ids=["one file", "two files"])
@pytest.mark.parametrize("how", ["numbers", "streams"])
def test_files_of_their_own_do_not_race_under_one_number(
    tmp_path: Path, how: str, same: bool
) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"text")

    def by_number(name: str) -> None:
        descriptor = os.open(tmp_path / name, os.O_RDONLY)
        os.read(descriptor, 1)
        os.close(descriptor)

    def by_stream(name: str) -> None:
        with open(tmp_path / name, "rb") as stream:
            stream.read(1)

    work = by_number if how == "numbers" else by_stream
    result = explored(lambda: together(lambda: work("a"), lambda: work("a" if same else "b")))
    assert result.verdict.kind is VerdictKind.HOLDS, result.races


def test_sockets_of_their_own_do_not_race_under_one_number() -> None:
    def talk() -> None:
        one, other = socket.socketpair()
        one.settimeout(5)
        one.send(b"x")
        assert other.recv(1) == b"x"
        one.close()
        other.close()

    result = explored(lambda: together(talk, talk))
    assert not result.failures, result.races


def test_a_detached_socket_keeps_its_descriptor() -> None:
    def one_uses_what_the_other_has_detached() -> None:
        one, other = socket.socketpair()
        number = one.fileno()

        def detach() -> None:
            one.settimeout(5)
            one.detach()

        together(detach, lambda: os.set_blocking(number, True))
        os.close(number)
        other.close()

    assert explored(one_uses_what_the_other_has_detached).failures


def test_one_descriptor_that_two_use_is_raced_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")

    def read_by_turns() -> None:
        descriptor = os.open(tmp_path / "file", os.O_RDONLY)
        together(lambda: os.read(descriptor, 1), lambda: os.read(descriptor, 1))
        os.close(descriptor)

    assert explored(read_by_turns).failures


def closed_twice(*, opens_first: bool) -> None:
    """The second ``close`` may hit what the other task has opened."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    errors: list[OSError] = []

    def close() -> None:
        os.close(descriptor)
        try:
            os.close(descriptor)
        except OSError:
            pass

    def use_another() -> None:
        another = os.open(os.devnull, os.O_WRONLY)
        try:
            os.write(another, b"x")
            os.close(another)
        except OSError as error:
            errors.append(error)

    together(*((use_another, close) if opens_first else (close, use_another)))
    assert not errors


def test_a_descriptor_that_is_closed_twice_may_be_that_of_another_task() -> None:
    assert explored(lambda: closed_twice(opens_first=False), "report").failures


def test_nothing_is_promised_where_a_closed_descriptor_is_used() -> None:
    """The bug is not found if the other task comes first, but then nothing is said to hold."""
    result = explored(lambda: closed_twice(opens_first=True), "report")
    if not result.failures:
        assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
        assert any(STALE in caveat for caveat in result.verdict.caveats)


def test_who_is_alone_may_use_a_closed_descriptor(tmp_path: Path) -> None:
    def alone() -> None:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.close(descriptor)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.close(descriptor)
        together(lambda: None, lambda: None)

    result = explored(alone)
    assert result.verdict.kind is VerdictKind.HOLDS
