"""A program that does something else than its log, and goes on: the rest follows the log."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bohrbug
from bohrbug.runtime.channels.codec import encode
from bohrbug.runtime.channels.events import (
    ChannelId,
    Event,
    Kind,
    Log,
    MessageId,
    Outcome,
    Status,
)
from bohrbug.runtime.channels.reading import CodedLog, read_log
from bohrbug.runtime.channels.resynchronising import Claims, LeftEvents, Sort, messages_of
from tests.unit.message_programs import pause

pytestmark = pytest.mark.usefixtures("channels_in_place")

SENDERS, EACH = 3, 12
Heard = list[tuple[int, object]]


def program(make: Callable[[], "queue.Queue[tuple[int, object] | None]"], edit: str) -> Heard:
    """Several tasks send to several others; what these hear, one after another.

    Parameters:
        make: makes the channel of what is sent.
        edit: how the program differs from that which was recorded.
    """
    work = make()
    heard: queue.Queue[tuple[int, object]] = queue.Queue()
    beside: queue.Queue[int] = queue.Queue()

    def send(name: int) -> None:
        for number in range(EACH):
            pause(0.001)
            work.put((name, number))
            if name == 1 and number == EACH // 2:
                if edit == "more":
                    work.put((name, "more"))
                if edit == "less":
                    return
                if edit == "beside":
                    beside.put(number)
                    beside.get()

    def receive() -> None:
        if edit == "look":
            work.qsize()
        while (got := work.get(timeout=60) if edit == "timed" else work.get()) is not None:
            heard.put(got)

    senders = [threading.Thread(target=send, args=(name,)) for name in range(SENDERS)]
    receivers = [threading.Thread(target=receive) for _ in range(2)]
    for thread in senders + receivers:
        thread.start()
    for thread in senders:
        thread.join()
    for _ in receivers:
        work.put(None)
    for thread in receivers:
        thread.join()
    if edit == "never":
        threading.Thread(target=heard.put, args=((-1, 0),)).start()
    return [heard.get() for _ in range(heard.qsize())]


def in_common(one: list[int], other: list[int]) -> int:
    """The length of the longest common subsequence."""
    lengths = [0] * (len(other) + 1)
    for name in one:
        before = 0
        for index, its in enumerate(other, 1):
            before, lengths[index] = (
                lengths[index],
                before + 1 if name == its else max(lengths[index], lengths[index - 1]),
            )
    return lengths[-1]


MAKE: dict[str, Callable[[], object]] = {
    "unbounded": queue.Queue,
    "bounded": lambda: queue.Queue(2),
    "simple": lambda: queue.SimpleQueue(),  # as it is once the interposers are in place
}


@pytest.mark.parametrize("make", sorted(MAKE))
@pytest.mark.parametrize("edit", ["", "more", "less", "beside", "look", "timed"])
def test_the_rest_follows_the_log(tmp_path: Path, make: str, edit: str) -> None:
    log, other = tmp_path / "log", tmp_path / "other"
    with bohrbug.record(log):
        recorded = program(MAKE[make], "")  # type: ignore[arg-type]
    with bohrbug.replay_messages(
        log, keep_going=True, patience=5.0, record_alternate=other
    ) as replay:
        replayed = program(MAKE[make], edit)  # type: ignore[arg-type]
    assert (replay.desynchronisation is None) is (edit == ""), replay.desynchronisation
    assert (replay.differences == 0) is (edit == "")
    # Whose messages, in which order: of one sender they are shifted by one that is new.
    names = [[name for name, _ in heard] for heard in (recorded, replayed)]
    shared = sum((Counter(names[0]) & Counter(names[1])).values())
    assert in_common(*names) >= 0.8 * shared
    if edit in ("", "beside", "look", "timed"):
        assert replayed == recorded
    # What happened can be replayed in its turn, and is what the edited program does.
    with bohrbug.replay_messages(other) as again:
        assert program(MAKE[make], edit) == replayed  # type: ignore[arg-type]
    assert again.desynchronisation is None


def positionless(log: Log) -> dict[str, list[Event]]:
    """The events of a log without what a replay leaves free: whose turn it is to send."""
    return {
        task: [event._replace(outcome=event.outcome._replace(position=None)) for event in events]
        for task, events in log.tasks.items()
    }


def test_without_a_difference_the_alternate_is_the_log(tmp_path: Path) -> None:
    log, other = tmp_path / "log", tmp_path / "other"
    with bohrbug.record(log):
        program(lambda: queue.Queue(3), "")
    with bohrbug.replay_messages(log, record_alternate=other):
        program(lambda: queue.Queue(3), "")
    recorded, replayed = read_log(log), read_log(other)
    assert positionless(recorded) == positionless(replayed)
    assert recorded.ended == replayed.ended
    assert replayed.outcome == {"passed": True}


def test_a_strict_replay_says_at_once_that_a_message_can_not_come(tmp_path: Path) -> None:
    def main(times: int) -> object:
        channel: queue.Queue[int] = queue.Queue()
        thread = threading.Thread(target=lambda: [channel.put(n) for n in range(times)])
        thread.start()
        got = [channel.get() for _ in range(2)]
        thread.join()
        return got

    with bohrbug.record(tmp_path / "log"):
        main(2)
    begin = time.monotonic()
    with (
        pytest.raises(bohrbug.DesynchronisationError, match="came to its end"),
        bohrbug.replay_messages(tmp_path / "log", patience=600.0),
    ):
        main(1)
    # Hours of patience are not what it takes.
    assert time.monotonic() - begin < 300


def test_a_task_that_goes_on_past_its_recorded_end_differs(tmp_path: Path) -> None:
    def main(times: int) -> None:
        channel: queue.Queue[int] = queue.Queue()
        thread = threading.Thread(target=lambda: [channel.put(n) for n in range(times)])
        thread.start()
        thread.join()

    with bohrbug.record(tmp_path / "log"):
        main(1)
    with bohrbug.replay_messages(tmp_path / "log", keep_going=True, patience=600.0) as replay:
        main(3)
    assert replay.desynchronisation is not None
    assert replay.desynchronisation.expected == "nothing more: the task ends here"
    assert replay.differences == 1


@pytest.mark.parametrize("followed", [True, False])
def test_event_loops(tmp_path: Path, followed: bool) -> None:
    """One more timer, message and call of a thread; the tasks go on in the recorded order."""

    async def main(edited: bool) -> list[object]:
        channel: asyncio.Queue[object] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        async def act(name: int) -> None:
            for number in range(4):
                if edited and (name, number) == (1, 1):
                    await asyncio.sleep(0.001)
                    await channel.put("new")
                    await loop.run_in_executor(None, pause)
                await asyncio.sleep(0.001)
                await channel.put((name, number))

        tasks = [asyncio.create_task(act(name)) for name in range(3)]
        got = [await channel.get() for _ in range(12 + edited)]
        await asyncio.gather(*tasks)
        return got

    log, other = tmp_path / "log", tmp_path / "other"
    with bohrbug.record(log):
        recorded = asyncio.run(main(edited=False))
    if not followed:
        found = read_log(log)
        found.tasks = {task: events for task, events in found.tasks.items() if ".0." not in task}
        log.write_bytes(encode(found))
    with bohrbug.replay_messages(
        log, keep_going=True, patience=2.0, record_alternate=other
    ) as replay:
        replayed = asyncio.run(main(edited=True))
    assert replay.desynchronisation is not None
    assert "new" in replayed
    assert sorted(x for x in replayed if x != "new") == sorted(recorded)
    if followed:
        with bohrbug.replay_messages(other) as again:
            assert asyncio.run(main(edited=True)) == replayed
        assert again.desynchronisation is None


CHANNELS = [ChannelId("0", 0), ChannelId("0", 1)]
events = st.builds(
    lambda kind, channel, number: Event(
        kind,
        channel,
        "queue.Queue",
        Outcome(Status.SENT)
        if kind.sends
        else Outcome(Status.RECEIVED, MessageId("0.1", number))
        if number
        else Outcome(Status.EMPTY),
    ),
    st.sampled_from([Kind.SEND, Kind.TRY_SEND, Kind.RECV, Kind.TRY_RECV]),
    st.sampled_from(CHANNELS),
    st.integers(0, 5),
)


@given(st.lists(events))
def test_who_does_all_that_is_left_gets_all_in_order(left: list[Event]) -> None:
    rest = LeftEvents(left)
    for event in left:
        outcome, passed = rest.take(event.kind, event.channel, event.flavour, may_fail=True)
        assert (outcome, passed) == (event.outcome, [])
    assert list(rest.take_all()) == []


@given(st.lists(events), st.lists(events))
def test_what_is_left_is_taken_by_channel_and_sort(left: list[Event], done: list[Event]) -> None:
    rest = LeftEvents(left)
    there: dict[object, list[Event]] = {}
    for event in left:
        there.setdefault((event.channel, Sort.of(event.kind)), []).append(event)
    for event in done:
        may_fail = event.kind in (Kind.TRY_RECV, Kind.TRY_SEND)
        outcome, passed = rest.take(event.kind, event.channel, event.flavour, may_fail=may_fail)
        mine = there.get((event.channel, Sort.of(event.kind)), [])
        assert [one.outcome.status for one in passed] == [Status.EMPTY] * len(passed)
        assert not (may_fail and passed)
        assert passed == mine[: len(passed)]
        del mine[: len(passed)]
        assert outcome == (mine.pop(0).outcome if mine else None)
    after = list(rest.take_all())
    assert Counter(after) == Counter(event for each in there.values() for event in each)


@given(st.lists(events), st.sets(st.sampled_from(CHANNELS), max_size=1))
def test_messages_are_claimed_until_they_are_released(
    left: list[Event], released: set[ChannelId]
) -> None:
    claims = Claims(CodedLog(encode(Log({"0.2": left}))))
    received = list(messages_of(left))
    assert all(claims.hold(*one) for one in received)
    assert not claims.hold(CHANNELS[0], ("0.1", 9))
    for channel in released:
        claims.release_all(channel)
        assert not claims.hold_any(channel)
    assert all(claims.hold(*one) is (one[0] not in released) for one in received)
    for one in received:
        claims.release(*one)
        assert not claims.hold(*one)
