"""``select`` as it is, and the frame of what stands for its polling objects on either side."""

from __future__ import annotations

import select
import selectors
from typing import Any, Self

READ, WRITE = 1, 4
"""``POLLIN`` and ``POLLOUT``, which not every system has; those of epoll are the same."""

real_select = select.select
real_poll: Any = getattr(select, "poll", None)
real_epoll: Any = getattr(select, "epoll", None)


class Poller:
    """Stands for a polling object; knows what is registered there, and in which order.

    Parameters:
        real: the object in C.
    """

    def __init__(self, real: Any) -> None:
        self._real = real
        self._registered: dict[int, int] = {}

    def register(self, fd: Any, *args: Any, **kwargs: Any) -> None:
        """As of the real one."""
        self._real.register(fd, *args, **kwargs)
        (mask,) = (*args, *kwargs.values()) or (READ | WRITE,)
        self._registered[number_of(fd)] = mask

    def modify(self, fd: Any, eventmask: int) -> None:
        """As of the real one."""
        self._real.modify(fd, eventmask)
        self._registered[number_of(fd)] = eventmask

    def unregister(self, fd: Any) -> None:
        """As of the real one."""
        self._registered.pop(number_of(fd), None)
        self._real.unregister(fd)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __enter__(self) -> Self:
        self._real.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._real.__exit__(*error)


def number_of(file: Any) -> int:
    """The file descriptor of a file, or of a number itself."""
    return file if isinstance(file, int) else int(file.fileno())


def seconds(timeout: float | None, in_a_second: int = 1) -> float | None:
    """How long a polling object waits at most; ``None`` for no limit.

    Parameters:
        timeout: what it is given; negative for no limit.
        in_a_second: how many of its units are a second.
    """
    return None if timeout is None or timeout < 0 else timeout / in_a_second


def ready_in(selector: Any) -> list[tuple[Any, int]]:
    """What ``selector.select(0)`` returns, for selectors of the standard library.

    Loops are asked for it at each of their steps.  So where the kernel can be asked directly, it
    is, and past all that stands for the functions on the way.

    Parameters:
        selector: any of :mod:`selectors`.
    """
    poller: Any = getattr(selector, "_selector", None)
    real = poller._real if isinstance(poller, Poller) else poller
    if real_epoll is None or type(real) is not real_epoll:
        return list(selector.select(0))
    keys = selector._fd_to_key
    found = []
    for descriptor, events in real.poll(0, max(len(keys), 1)):
        key = keys.get(descriptor)
        if key is not None:
            # Errors and hang-ups are both.
            kinds = selectors.EVENT_WRITE if events & ~READ else 0
            if events & ~WRITE:
                kinds |= selectors.EVENT_READ
            found.append((key, kinds & key.events))
    return found
