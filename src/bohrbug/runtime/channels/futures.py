"""``concurrent.futures``: the selects ``wait`` and ``as_completed``, and looks at futures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import _base
from typing import Any

from bohrbug.runtime.channels.events import Kind, Status, tree_key
from bohrbug.runtime.channels.replayed_stream import ReplayingStream, in_vain
from bohrbug.runtime.channels.session import current, main_stream
from bohrbug.runtime.channels.streams import Stream
from bohrbug.runtime.interposed import MESSAGES, wrapped_alike
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

WAIT = "concurrent.futures.wait"
AS_COMPLETED = "concurrent.futures.as_completed"
FUTURE = "concurrent.futures.Future"

_Future: Any = _base.Future
_init = _Future.__init__
_wait, _as_completed = _base.wait, _base.as_completed
_SLICE = 0.1


@patches.method(_Future, "__init__")
def _make_future(self: Any) -> None:
    _init(self)
    stream = main_stream()
    if stream is not None:
        self._bohrbug_id = stream.next_channel()


def in_order(futures: Iterable[Any]) -> list[Any]:
    """Futures in an order that is the same in each run: as given, or as they were made."""
    given = list(dict.fromkeys(futures))
    if isinstance(futures, list | tuple):
        return given
    return sorted(given, key=_rank)


def _rank(future: Any) -> tuple[Any, ...]:
    made = getattr(future, "_bohrbug_id", None)
    return (1,) if made is None else (0, tree_key(made.creator), made.number)


def _done(future: Any) -> bool:
    return future._state in (_base.CANCELLED, _base.CANCELLED_AND_NOTIFIED, _base.FINISHED)


def _wait_until_done(stream: Stream, future: Any, flavour: str) -> None:
    assert isinstance(stream, ReplayingStream)
    waited = 0.0
    while not _done(future) and not stream.is_free:
        with future._condition:
            if not _done(future):
                future._condition.wait(_SLICE)
        if not _done(future):
            waited += _SLICE
            stream.replay.check(stream, waited, f"{flavour}: a future that completes")


@patches.method(_base, "wait")
def _wait_for(fs: Any, timeout: float | None = None, return_when: str = "ALL_COMPLETED") -> Any:
    stream = current()
    if stream is None:
        return _wait(fs, timeout, return_when)
    futures = in_order(fs)
    outcome = stream.expect(Kind.SELECT, None, WAIT, fruitless=in_vain(timeout))
    if outcome is not None and max(outcome.values, default=-1) < len(futures):
        chosen = {futures[index] for index in outcome.values}
        for future in chosen:
            _wait_until_done(stream, future, WAIT)
        if not stream.replaying or all(_done(future) for future in chosen):
            return _base.DoneAndNotDoneFutures(chosen, set(futures) - chosen)
    result = _wait(futures, timeout, return_when)
    indices = tuple(i for i, future in enumerate(futures) if future in result.done)
    stream.note(Kind.SELECT, None, Status.READY if indices else Status.TIMED_OUT, indices, WAIT)
    return result


@patches.method(_base, "as_completed")
def _in_order_of_completion(fs: Any, timeout: float | None = None) -> Iterator[Any]:
    stream = current()
    if stream is None:
        yield from _as_completed(fs, timeout)
        return
    futures = in_order(fs)
    left = dict(enumerate(futures))
    native: Iterator[Any] | None = None
    while left:
        if native is None:
            outcome = stream.expect(Kind.SELECT, None, AS_COMPLETED)
            if outcome is not None and outcome.status is Status.TIMED_OUT:
                raise TimeoutError(f"{len(left)} (of {len(futures)}) futures unfinished")
            if outcome is not None and outcome.values[0] in left:
                index = outcome.values[0]
                _wait_until_done(stream, left[index], AS_COMPLETED)
                if _done(left[index]):
                    yield left.pop(index)
                    continue
            native = _as_completed(list(left.values()), timeout)
        try:
            future = next(native)
        except TimeoutError:
            stream.note(Kind.SELECT, None, Status.TIMED_OUT, (), AS_COMPLETED)
            raise
        index = next(i for i, one in left.items() if one is future)
        del left[index]
        stream.note(Kind.SELECT, None, Status.READY, (index,), AS_COMPLETED)
        yield future
        del future


def _patch_timed(name: str) -> None:
    real = getattr(_Future, name)

    @patches.method(_Future, name)
    def timed(self: Any, timeout: float | None = None) -> Any:
        stream = None if timeout is None else current()
        if stream is None:
            # Whenever it comes, it is the same result.
            return real(self, timeout)
        outcome = stream.expect(Kind.TIMED_RECV, None, FUTURE)
        if outcome is not None:
            if outcome.status is Status.TIMED_OUT:
                raise TimeoutError
            _wait_until_done(stream, self, FUTURE)
            return real(self, None if _done(self) else timeout)
        try:
            result = real(self, timeout)
        except TimeoutError:
            # It may be the result of the future.
            status = Status.VALUE if _done(self) else Status.TIMED_OUT
            stream.note(Kind.TIMED_RECV, None, status, (), FUTURE)
            raise
        except BaseException:
            stream.note(Kind.TIMED_RECV, None, Status.VALUE, (), FUTURE)
            raise
        stream.note(Kind.TIMED_RECV, None, Status.VALUE, (), FUTURE)
        return result


def _patch_look(name: str) -> None:
    real = getattr(_Future, name)

    @patches.method(_Future, name)
    def look(self: Any) -> Any:
        stream = current()
        if stream is None:
            return real(self)
        outcome = stream.expect(Kind.LOOK, None, f"{FUTURE}.{name}")
        if outcome is not None:
            if outcome.values[0] and name == "done":
                _wait_until_done(stream, self, FUTURE)
            return bool(outcome.values[0])
        value = real(self)
        stream.note(Kind.LOOK, None, Status.VALUE, (int(value),), f"{FUTURE}.{name}")
        return value


for _name, _kind in wrapped_alike("concurrent.futures._base:Future", MESSAGES):
    (_patch_timed if _kind == "result" else _patch_look)(_name)
