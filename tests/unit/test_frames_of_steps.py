"""Which frames are noted of an access by a task of an event loop."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Generator

from bohrbug.runtime.threads.loops.access_log import Around, frames_of_step


def _inner() -> Around:
    return frames_of_step(sys._getframe())


class _Frames:
    """Awaited, it gives the frames of the running step, in `found`."""

    def __init__(self, found: list[Around]) -> None:
        self._found = found

    def __await__(self) -> Generator[None, None, None]:
        self._found.append(_inner())
        yield


async def _outer(found: list[Around]) -> None:
    await _Frames(found)


def test_the_frames_of_a_step_begin_with_its_coroutine() -> None:
    found: list[Around] = []
    asyncio.run(_outer(found))
    [around] = found
    # Neither those of asyncio.run, nor what has called it.
    names = [code.co_qualname for _, code, _ in around]
    assert names[-3:] == ["_outer", "_Frames.__await__", "_inner"]
    assert {code.co_filename for _, code, _ in around[-3:]} == {__file__}
    assert around[-3][1] is _outer.__code__
    assert all(type(number) is int and offset >= 0 for number, _, offset in around)
    assert len({number for number, _, _ in around}) == len(around)


def test_what_asyncio_does_inside_is_no_business_of_the_test() -> None:
    found: list[Around] = []
    code = compile("found.append(frames_of_step(sys._getframe()))", "locks.py", "exec")
    names = {"__name__": "asyncio.locks", "found": found, "sys": sys}
    exec(code, {**names, "frames_of_step": frames_of_step})
    assert found == [()]


def test_frames_are_noted_the_same_way_without_the_accelerator() -> None:
    script = (
        "import asyncio, sys\n"
        "from bohrbug.runtime.threads.loops.access_log import frames_of_step\n"
        "async def inner():\n"
        "    return frames_of_step(sys._getframe())\n"
        "async def outer():\n"
        "    return await inner()\n"
        "found = asyncio.run(outer())\n"
        # Where the innermost stands as it calls depends on what it calls.
        "print([(code.co_name, offset) for _, code, offset in found[:-1]], len(found))\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "BOHRBUG_PURE_PYTHON": pure},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for pure in ("", "1")
    ]
    assert said[0] == said[1]
    assert "'outer'" in said[0]
