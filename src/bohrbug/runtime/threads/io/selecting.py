"""``select``, ``poll``, ``epoll`` and ``selectors`` under control."""

from __future__ import annotations

import select
import selectors
from collections.abc import Callable, Iterable
from sys import _getframe
from typing import Any

from bohrbug.model.operation import INSPECT, POLL, SET, Kind
from bohrbug.runtime.interposed import classes_with
from bohrbug.runtime.pollers import (
    Poller,
    number_of,
    real_epoll,
    real_poll,
    real_select,
    seconds,
)
from bohrbug.runtime.threads.arrivals import Watched
from bohrbug.runtime.threads.children import settle_children
from bohrbug.runtime.threads.control import controlled, unseen
from bohrbug.runtime.threads.io.channels import Reach, channel_of, furthest
from bohrbug.runtime.threads.io.event_loops import NOT_VARIED, looked_for_work
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.io.waiting import (
    READABLE,
    WRITABLE,
    is_ready,
    wait_until,
    watched_by,
)
from bohrbug.runtime.threads.recording import effect
from bohrbug.runtime.threads.rewrite.callables import tell_consumed
from bohrbug.runtime.threads.synchronizers import place_of


def _await_several(
    frame: Any,
    look: Callable[[], Any],
    descriptors: Callable[[], list[int]],
    touched: Callable[[Any], Iterable[int]],
    timeout: float | None,
    watched: Callable[[], Watched],
) -> Any:
    """Wait until one of several file descriptors is ready.

    Parameters:
        frame: of the caller.
        look: polls them without waiting; true when one is ready.
        descriptors: all of them.
        touched: from what ``look`` gives, the ones that are ready.
        timeout: virtual seconds, or ``None``.
        watched: for what of them.

    Returns:
        What ``look`` gives at the end.
    """
    execution = controlled()
    assert execution is not None

    def can_return() -> bool:
        settle_children()
        try:
            return bool(look())
        except (OSError, ValueError):
            # Another task has closed something.  That is an error of the task that waits, whose
            # own look raises it, and not of the one for which the scheduler looks.
            return True

    place = place_of(frame)
    wanted = descriptors()
    if len(wanted) == 1:
        state = channel_of(execution, wanted[0], place)
    else:
        state = execution.resources.state_named(
            f"{execution.current.id}:select", "several files", "select"
        )
    if timeout is not None and timeout <= 0:
        if not execution.current.inside:
            execution.perform(POLL, state, place)
        settle_children()
        found = look()
        if not found:
            execution.observe(state, place)
    else:
        wait_until(
            execution,
            state,
            place,
            can_return,
            timeout,
            lambda: furthest(execution, wanted) if wanted else Reach.LOCAL,
            may_end_early=True,
            watched=watched if wanted else None,
            kind=POLL,
            waits_on=lambda: wanted,
        )
        found = look()
    if found:
        execution.current.looks.clear()
        for descriptor in touched(found):
            # What the other side did before it made this ready, it did before us.
            effect(execution, channel_of(execution, descriptor, place), False)
    return found


@patches.function(select, "select")
def _select(rlist: Any, wlist: Any, xlist: Any, timeout: Any = None, /) -> Any:
    """Stands for ``select.select``."""
    execution = controlled()
    if execution is None or execution.current.inside:
        return real_select(rlist, wlist, xlist, timeout)
    if timeout is not None and timeout < 0:
        return real_select(rlist, wlist, xlist, timeout)
    for files in (rlist, wlist, xlist):
        tell_consumed(files, "select.select", in_any_order=True)
    lists = (list(rlist), list(wlist), list(xlist))
    try:
        # Once, and here: ``fileno`` may be code of the program, which takes locks.
        numbers = [[number_of(file) for file in files] for files in lists]
    except (AttributeError, TypeError, ValueError):
        # It is the real one that says what is wrong with them.
        return real_select(*lists, 0)

    def look() -> Any:
        found = real_select(numbers[0], numbers[1], numbers[2], 0)
        return found if any(found) else ()

    try:
        found = _await_several(
            _getframe(2),
            look,
            lambda: [number for each in numbers for number in each],
            lambda found: [number for each in found for number in each],
            timeout,
            lambda: [
                (number, mask)
                for each, mask in zip(numbers, (READABLE, WRITABLE, select.POLLPRI), strict=True)
                for number in each
            ],
        )
    except OSError:
        # One was closed in between; natively that may have come first.
        real_select(*lists, 0)
        raise
    if not found:
        return [], [], []
    return tuple(
        [file for file, number in zip(files, each, strict=True) if number in ready]
        for files, each, ready in zip(lists, numbers, found, strict=True)
    )


_SHARED = "polling object used by several tasks"


class _SharedPoller(Poller):
    """What is registered there, and whether it is closed, other tasks may see."""

    _user: tuple[int, int] | None = None
    """The execution that has used it last, and the task: one of an execution before is no other."""

    def _point(self, kind: Kind, frame: Any) -> None:
        """Using it is an operation on it once several tasks have used one."""
        execution = controlled()
        if execution is None or execution.current.inside or execution.is_alone():
            return
        task = execution.current.host or execution.current
        user = execution.resources.serial, task.index
        if self._user is not None and self._user[0] == user[0] and self._user != user:
            # From the next execution on.
            execution.namespaces.add(_SHARED)
        self._user = user
        if _SHARED in execution.namespaces:
            state = execution.resources.of(self, type(self).__name__)
            execution.perform(kind, state, place_of(frame))

    def register(self, fd: Any, *args: Any, **kwargs: Any) -> None:
        """As of the real one."""
        self._point(SET, _getframe(1))
        super().register(fd, *args, **kwargs)

    def modify(self, fd: Any, eventmask: int) -> None:
        """As of the real one."""
        self._point(SET, _getframe(1))
        super().modify(fd, eventmask)

    def unregister(self, fd: Any) -> None:
        """As of the real one."""
        self._point(SET, _getframe(1))
        super().unregister(fd)


class poll(_SharedPoller):
    """Stands for the object that ``select.poll`` makes."""

    def __init__(self) -> None:
        super().__init__(real_poll())

    def poll(self, timeout: Any = None, /) -> Any:
        """As ``poll.poll``; ``timeout`` in milliseconds."""
        self._point(INSPECT, _getframe(1))
        execution = controlled()
        if execution is None or execution.current.inside:
            return self._real.poll(timeout)
        return _await_several(
            _getframe(1),
            lambda: self._real.poll(0),
            lambda: sorted(self._registered),
            lambda found: [number for number, _ in found],
            seconds(timeout, 1_000),
            lambda: list(self._registered.items()),
        )


patches.add(select, "poll", poll)


class epoll(_SharedPoller):
    """Stands for ``select.epoll``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(real_epoll(*args, **kwargs))

    @classmethod
    def fromfd(cls, fd: int, /) -> epoll:
        """As ``epoll.fromfd``; what is registered already is not known to us."""
        self = cls.__new__(cls)
        Poller.__init__(self, real_epoll.fromfd(fd))
        return self

    def close(self) -> None:
        """As ``epoll.close``."""
        self._point(SET, _getframe(1))
        self._real.close()

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> Any:
        """As ``epoll.poll``; ``timeout`` in seconds."""
        self._point(INSPECT, _getframe(1))
        execution = controlled()
        if execution is None or execution.current.inside:
            return self._real.poll(timeout, maxevents)
        # Edge-triggered events are told only once, and a look must not use them up.
        watched = self._real.fileno()

        def look() -> Any:
            return is_ready(watched, READABLE)

        _await_several(
            _getframe(1),
            look,
            lambda: sorted(self._registered),
            lambda _: (),
            seconds(timeout),
            lambda: ((watched, READABLE),),
        )
        found = self._real.poll(0, maxevents)
        place = place_of(_getframe(1))
        for number, _ in found:
            effect(execution, channel_of(execution, number, place), False)
        return found


if real_epoll is not None:
    for _constructor in ("__module__", "__doc__"):
        setattr(epoll, _constructor, getattr(real_epoll, _constructor))
    patches.add(select, "epoll", epoll)


def _wrap_selector(cls: Any) -> None:
    original = cls.__dict__["select"]

    @patches.method(cls, "select")
    def wrapper(self: Any, timeout: float | None = None) -> Any:
        execution = controlled()
        if execution is None or execution.current.inside:
            return original(self, timeout)
        task = execution.current
        is_loop = _getframe(1).f_globals.get("__name__") == "asyncio.base_events"
        if is_loop:
            # A loop that looks by itself runs turns of its own, in which nothing is chosen.
            execution.trace.uncontrolled.counts[NOT_VARIED] = 1
            looked_for_work(execution, self)
        elif isinstance(poller := getattr(self, "_selector", None), _SharedPoller):
            poller._point(INSPECT, _getframe(1))
        elif isinstance(self, selectors.SelectSelector):
            for files in (self._readers, self._writers):  # type: ignore[attr-defined]
                tell_consumed(files, "select.select", in_any_order=True)

        def look() -> Any:
            # The scheduler calls this on behalf of whoever waits.
            inside, task.inside = task.inside, 1
            try:
                if execution.current is task:
                    return original(self, 0)
                return unseen(execution, lambda: original(self, 0))
            finally:
                task.inside = inside

        found = _await_several(
            _getframe(1),
            look,
            lambda: sorted(self._fd_to_key),
            lambda found: [key.fd for key, _ in found],
            timeout,
            lambda: watched_by(self),
        )
        if is_loop:
            looked_for_work(execution, self)
        return found


for _class in classes_with(selectors, "select"):
    _wrap_selector(_class)
