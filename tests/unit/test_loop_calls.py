"""What ``call_soon`` of a loop does in one go is what asyncio, or the program, has for it."""

from __future__ import annotations

import asyncio
import contextvars
from asyncio import base_events, events
from typing import Any

import pytest

import bohrbug

LEVEL = contextvars.ContextVar("LEVEL", default=0)


def explored(test: Any) -> None:
    result = bohrbug.explore(test, strategy="random", executions=5, causes=0)
    assert not result.failures, result.failures


def runs(main: Any) -> Any:
    return lambda: asyncio.run(main())


async def step() -> None:
    await asyncio.sleep(0)


@pytest.fixture(scope="module", autouse=True)
def known() -> None:
    """What asyncio has by itself was looked at before a test replaces it."""
    explored(runs(step))


def test_methods_that_a_program_replaces_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    original = base_events.BaseEventLoop._call_soon

    def call_soon(self: Any, callback: Any, args: Any, context: Any) -> Any:
        called.append("soon")
        return original(self, callback, args, context)

    monkeypatch.setattr(base_events.BaseEventLoop, "_call_soon", call_soon)

    async def main() -> None:
        called.clear()
        await asyncio.gather(step(), step())
        assert len(called) >= 6, called

    explored(runs(main))


def test_methods_of_one_loop_are_called() -> None:
    async def main() -> None:
        loop: Any = asyncio.get_running_loop()
        checked: list[bool] = []
        loop._check_closed = lambda: checked.append(True)
        await step()
        assert checked

    explored(runs(main))


def test_another_class_of_handles_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    class Handle(events.Handle):
        """One of the program's."""

    monkeypatch.setattr(events, "Handle", Handle)

    async def main() -> None:
        handle = asyncio.get_running_loop().call_soon(len, "")
        assert type(handle) is Handle
        other = asyncio.get_running_loop().call_soon(print)
        other.cancel()
        await step()

    explored(runs(main))


def test_handles_are_as_asyncio_makes_them() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        seen: list[Any] = []

        def look(*given: int) -> None:
            seen.append((given, LEVEL.get()))

        LEVEL.set(1)
        handle: Any = loop.call_soon(look, 1, 2)
        context = contextvars.copy_context()
        context.run(LEVEL.set, 2)
        other: Any = loop.call_soon(look, context=context)
        LEVEL.set(3)
        assert (handle._callback, handle._args, handle._loop) == (look, (1, 2), loop)
        assert not handle.cancelled()
        assert other._context is context
        assert "look" in repr(handle)
        await step()
        assert seen == [((1, 2), 1), ((), 2)]

    explored(runs(main))


def test_what_is_wrong_is_refused() -> None:
    async def main() -> None:
        loop: Any = asyncio.get_running_loop()
        with pytest.raises(TypeError):
            loop.call_soon()
        with pytest.raises(TypeError):
            loop.call_soon(step, nonsense=1)
        told: list[str] = []
        loop.set_exception_handler(lambda _, context: told.append(context["message"]))
        loop.call_soon(int, "no number")
        loop.call_soon(lambda: 1 / 0)
        await step()
        await step()
        assert len(told) == 2, told

    explored(runs(main))


def test_a_loop_in_debug_mode_says_who_has_called() -> None:
    async def main() -> None:
        handle: Any = asyncio.get_running_loop().call_soon(lambda: None)
        assert handle._source_traceback[-1].name == "main"
        await step()

    explored(lambda: asyncio.run(main(), debug=True))


def test_a_closed_loop_takes_no_calls() -> None:
    async def main() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    def test() -> None:
        loop = asyncio.run(main())
        with pytest.raises(RuntimeError, match="closed"):
            loop.call_soon(print)

    explored(test)
