"""Signals that a program sends to itself."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def handling(handle: Callable[..., object]) -> Iterator[None]:
    """Handle ``SIGUSR1`` meanwhile."""
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def send() -> None:
    """Send ``SIGUSR1`` to this process."""
    os.kill(os.getpid(), signal.SIGUSR1)
