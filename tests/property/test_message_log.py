"""Message logs: what is written is read again, whole or as far as it goes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bohrbug.runtime.channels.codec import (
    ABOUT,
    MAGIC,
    Encoder,
    LogError,
    encode,
    header,
    json_block,
)
from bohrbug.runtime.channels.events import (
    ChannelId,
    Event,
    Kind,
    Log,
    MessageId,
    Outcome,
    Status,
)
from bohrbug.runtime.channels.reading import CodedLog, decode

SENDS = (Kind.SEND, Kind.TRY_SEND, Kind.TIMED_SEND)
RECEIVES = (Kind.RECV, Kind.TRY_RECV, Kind.TIMED_RECV)
TASKS = st.sampled_from(["0", "0.1", "0.2", "0.2.1", "0.10", "1"])
CHANNELS = st.builds(ChannelId, TASKS, st.integers(0, 300))
FLAVOURS = st.sampled_from(["queue.Queue", "socket", "a flavour with ünïcode"])
NUMBERS = st.integers(0, 2**40)


@st.composite
def outcomes(draw, kind):
    if kind in RECEIVES and draw(st.booleans()):
        sender = draw(st.none() | TASKS)
        values = draw(st.lists(st.integers(0, 300), max_size=2).map(tuple))
        return Outcome(Status.RECEIVED, MessageId(sender, draw(NUMBERS)), None, values)
    if kind in SENDS and draw(st.booleans()):
        return Outcome(Status.SENT, None, draw(st.none() | NUMBERS))
    status = draw(st.sampled_from([s for s in Status if s not in (Status.RECEIVED, Status.SENT)]))
    values = st.lists(st.integers(-5, 2**33), max_size=4).map(tuple)
    return Outcome(status, None, None, draw(values))


@st.composite
def events(draw):
    kind = draw(st.sampled_from(Kind))
    return Event(
        kind,
        draw(st.none() | CHANNELS),
        draw(FLAVOURS),
        draw(outcomes(kind)),
        draw(st.sampled_from([0, 1, 2**32 - 1])),
    )


LOGS = st.builds(
    Log,
    tasks=st.dictionaries(TASKS, st.lists(events(), max_size=6), max_size=3),
    about=st.just({"command": ["a", "b"]}),
    outcome=st.sampled_from([{}, {"passed": True, "status": 0}]),
    processes=st.just({"0": "python x.py"}),
)


@settings(deadline=None)
@given(LOGS)
def test_a_log_is_read_as_it_was_written(log: Log) -> None:
    log.ended = set(log.tasks)
    assert decode(encode(log)) == log


@settings(max_examples=15, deadline=None)
@given(LOGS)
def test_a_log_cut_off_anywhere_gives_its_beginning(log: Log) -> None:
    data = encode(log)
    whole = decode(data)
    for length in range(len(header()), len(data)):
        part = decode(data[:length])
        for task, found in part.tasks.items():
            there = [event._replace(digest=0) for event in whole.tasks[task]]
            assert [event._replace(digest=0) for event in found] == there[: len(found)]
        assert part.damage is None or "cut off" in part.damage


@settings(deadline=None)
@given(st.lists(events(), max_size=40), st.integers(1, 7))
def test_blocks_of_a_task_follow_on_each_other(listed: list[Event], size: int) -> None:
    encoder = Encoder("0")
    blocks = [encoder.block(listed[at : at + size], at) for at in range(0, len(listed), size)]
    log = decode(header() + b"".join(blocks))
    assert log.tasks.get("0", []) == listed


@settings(deadline=None)
@given(LOGS, st.data())
def test_damage_is_found_or_harmless_but_never_raises(log: Log, data: st.DataObject) -> None:
    coded = bytearray(encode(log))
    at = data.draw(st.integers(len(header()), len(coded) - 1))
    coded[at] ^= data.draw(st.integers(1, 255))
    found = decode(bytes(coded))
    if found.damage is None:
        assert found == log


def test_a_steady_exchange_takes_little_more_than_a_byte_an_event() -> None:
    channel = ChannelId("0", 0)
    listed = []
    for number in range(5_000):
        message = MessageId("0.1", number)
        outcome = Outcome(Status.RECEIVED, message)
        listed.append(Event(Kind.RECV, channel, "queue.Queue", outcome))
        listed.append(Event(Kind.SEND, channel, "queue.Queue", Outcome(Status.SENT)))
    assert len(encode(Log({"0": listed}))) < 10_200


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no message log"),
        (b"{}", "no message log"),
        (MAGIC, "ends before"),
        (MAGIC + b"\x63", "version 99"),
    ],
)
def test_what_is_no_log_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(LogError, match=words):
        CodedLog(data)


def test_blocks_after_a_gap_are_not_taken_for_whole() -> None:
    encoder = Encoder("0")
    event = Event(Kind.LOOK, None, "x", Outcome(Status.VALUE, None, None, (1,)))
    encoder.block([event])
    second = encoder.block([event], 1)
    log = decode(header() + json_block(ABOUT, {}) + second)
    assert log.tasks == {"0": []}
    assert "event 0 should follow" in str(log.damage)
