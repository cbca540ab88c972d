"""What is put into a queue between processes, as bytes, and how it is read."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from collections import deque
from multiprocessing import Pipe
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest

from bohrbug.runtime.channels.envelopes import enclosed
from bohrbug.runtime.channels.pickling import pickled
from bohrbug.runtime.channels.process_queues import _put_counted, _read
from bohrbug.runtime.channels.shared_counts import SharedCounts


class Nested:
    """Pickled, it pickles something else."""

    def __reduce__(self) -> tuple[Any, ...]:
        return bytes, (pickled(["inner"]),)


class Failing:
    def __reduce__(self) -> tuple[Any, ...]:
        raise LookupError("not this one")


def test_it_is_what_the_pickler_of_multiprocessing_gives() -> None:
    shared = ["the same"]
    for thing in (1, [shared, shared], {"a": (None, 2.5)}, [shared], "x" * 100_000, b""):
        assert pickled(thing) == bytes(ForkingPickler.dumps(thing))


def test_an_item_may_pickle_another_one_meanwhile() -> None:
    assert pickle.loads(pickle.loads(pickled([Nested(), 3]))[0]) == ["inner"]


def test_an_error_leaves_nothing_behind() -> None:
    thing = ["long enough to be kept in the memo"]
    with pytest.raises(LookupError, match="not this one"):
        pickled([thing, Failing()])
    assert pickle.loads(pickled([thing, thing])) == [thing, thing]


@pytest.mark.skipif(os.name != "posix", reason="connections are read in another way")
@pytest.mark.parametrize("size", [0, 1, 3, 70_000, 1_000_000])
def test_messages_are_read_whole_one_after_another(size: int) -> None:
    reader, writer = Pipe(duplex=False)
    messages = [b"a" * size, b"", b"b" * (size // 2)]

    def write() -> None:
        for message in messages:
            writer.send_bytes(message)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert [_read(reader) for _ in messages] == messages
    finally:
        thread.join()
    writer.close()
    with pytest.raises(EOFError):
        _read(reader)
    reader.close()
    with pytest.raises(OSError, match="closed"):
        _read(reader)


def test_an_item_is_counted_before_it_can_be_done(tmp_path: Path) -> None:
    channel: Any = multiprocessing.get_context().JoinableQueue(4)
    held: list[bool] = []

    class Watched(deque[Any]):
        def append(self, item: Any) -> None:
            # ``task_done`` waits for this lock.
            held.append(channel._cond._lock._semlock._is_mine())
            super().append(item)

    channel._buffer = Watched()
    assert (
        _put_counted(
            channel, enclosed("0", 0, "item"), True, None, SharedCounts(tmp_path / "counts")
        )
        == 0
    )
    assert held == [True]
    assert channel.get() is not None
    channel.task_done()
    channel.join()
    channel.close()
    channel.join_thread()


@pytest.mark.skipif(os.name != "posix", reason="connections are read in another way")
def test_a_length_of_eight_bytes_is_read() -> None:
    reader, writer = Pipe(duplex=False)
    os.write(writer.fileno(), b"\xff\xff\xff\xff" + (5).to_bytes(8, "big") + b"hello")
    assert _read(reader) == b"hello"
    os.write(writer.fileno(), b"\0\0\0\x09cut")
    writer.close()
    with pytest.raises(OSError, match="end of file"):
        _read(reader)
