"""Messages that are brought to another process in a replay, and what does not fit its pipe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bohrbug.runtime.channels.events import ChannelId
from bohrbug.runtime.channels.exchange import Mailbox, Postman, address_of, find
from bohrbug.runtime.channels.session import Session, SessionOptions
from bohrbug.runtime.channels.streams import Channel

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")


@pytest.fixture
def channel(tmp_path: Path) -> Channel:
    session = Session(SessionOptions("record", str(tmp_path / "log"), str(tmp_path)))
    return Channel(session, ChannelId("0.1", 4), "multiprocessing.Queue")


def test_messages_come_whole_and_in_order(tmp_path: Path, channel: Channel) -> None:
    box = Mailbox(str(tmp_path / "box"))
    assert not box.wait(0)
    postman = Postman()
    for number in range(3):
        postman.post(str(tmp_path / "box"), channel, ("0.1", number), b"message %d" % number)
    assert box.wait(60)
    address = address_of(channel)
    assert box.take() == [(address, b"message %d" % number) for number in range(3)]
    assert box.take() == []
    assert not box.wait(0)


def test_what_is_too_large_is_left_and_the_pipe_tells(tmp_path: Path, channel: Channel) -> None:
    box = Mailbox(str(tmp_path / "box"))
    box.looks = 0
    Postman().post(str(tmp_path / "box"), channel, ("0.1", 7), b"x" * 100_000)
    assert box.take() == [(address_of(channel), b"")]
    assert box.looks
    assert find(channel, ("0.1", 7)) == b"x" * 100_000
    assert find(channel, ("0.1", 7)) is None


def test_what_is_left_as_the_pipe_is_full_is_looked_for(tmp_path: Path, channel: Channel) -> None:
    box = Mailbox(str(tmp_path / "box"))
    box.looks = 0
    postman = Postman()
    sent = 0
    while not list(tmp_path.glob("message-*")):
        postman.post(str(tmp_path / "box"), channel, ("0.1", sent), b"y" * 1000)
        sent += 1
    came = 0
    while posted := box.take():
        came += sum(1 for _, data in posted if data)
    assert came == sent - 1
    assert box.looks
    assert find(channel, ("0.1", sent - 1)) == b"y" * 1000


def test_what_was_left_before_the_pipe_was_there_is_looked_for(
    tmp_path: Path, channel: Channel
) -> None:
    Postman().post(str(tmp_path / "box"), channel, (None, 0), b"early")
    assert Mailbox(str(tmp_path / "box")).looks
    assert find(channel, (None, 0)) == b"early"
