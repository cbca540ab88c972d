"""The test with the same random numbers, context variables and streams in each execution."""

from __future__ import annotations

import inspect
import random
import struct
import sys
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from bohrbug.accelerator import native

_seed = random.seed
_generator: Any = getattr(random.seed, "__self__", None)


def _state_when_seeded() -> bytes | None:
    """The memory of the generator of ``random`` after seeding; ``None`` if it can't be told.

    Setting that again is the same as seeding, which takes longer than many a step of an execution.
    """
    if native is None or type(_generator) is not random.Random:
        return None
    before = _generator.getstate()
    try:
        _seed(0)
        state: bytes = native.generator_state(_generator)
        index, *words = struct.unpack(f"@i{(len(state) - struct.calcsize('@i')) // 4}I", state)
        return state if (*words, index) == _generator.getstate()[1] else None
    finally:
        _generator.setstate(before)


_state = _state_when_seeded()


def seed_alike() -> None:
    """Seed ``random`` as before every execution."""
    if _state is None:
        _seed(0)
    else:
        native.set_generator_state(_generator, _state)
        _generator.gauss_next = None


def from_a_seed(function: Callable[[], object]) -> None:
    """Execute the test from the same random numbers as each time, and put streams back after it.

    It has the context variables of whoever calls: what it sets, or can't reset as it is ended
    halfway, the next execution does not see.

    Tasks that redirect ``sys.stdout`` at the same time leave it redirected: the next execution, and
    whoever reports what was found, are not to write to what the first one has left.

    Not a method of the explorer: the runtime, which calls it, then holds no explorer and dies
    with it at once.

    Raises:
        TypeError: the test has not been executed, but given a coroutine.
    """
    seed_alike()
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        returned = copy_context().run(function)
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    if inspect.iscoroutine(returned):
        returned.close()
        raise TypeError("the test returned a coroutine, and nobody awaited it: use asyncio.run")
