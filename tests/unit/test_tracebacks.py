"""What is printed of an exception: as Python does, without frames of this tool."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import threading
import traceback
import weakref
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.runtime.threads.tracebacks import formatted, frames_of_traceback


def plain() -> None:
    raise ValueError("first\nsecond")


def with_a_note() -> None:
    error = KeyError("key")
    error.add_note("what was looked for")
    raise error


def with_a_cause() -> None:
    try:
        plain()
    except ValueError as error:
        raise RuntimeError from error


def with_a_context() -> None:
    try:
        plain()
    except ValueError:
        raise RuntimeError("again")


def without_its_context() -> None:
    try:
        plain()
    except ValueError:
        raise RuntimeError from None


def in_a_group() -> None:
    raise ExceptionGroup("several", [ValueError(1), KeyError(2)])


def misspelt() -> None:
    list.apend  # type: ignore[attr-defined]


def by_the_parser() -> None:
    compile("1 +", "<some>", "exec")


def deep(levels: int = 30) -> None:
    if not levels:
        plain()
    deep(levels - 1)


def raised_by(function: Callable[[], None]) -> Exception:
    try:
        function()
    except Exception as error:
        return error
    pytest.fail("it raises nothing")


@pytest.mark.parametrize(
    "function",
    [
        plain,
        with_a_note,
        with_a_cause,
        with_a_context,
        without_its_context,
        in_a_group,
        misspelt,
        by_the_parser,
        deep,
    ],
)
def test_it_is_what_python_prints_each_time(function: Callable[[], None]) -> None:
    for _ in range(3):
        error = raised_by(function)
        assert formatted(error) == "".join(traceback.format_exception(error))


def test_the_same_place_with_another_message() -> None:
    def check(value: int) -> None:
        raise ValueError(f"only {value}")

    texts = [formatted(raised_by(lambda value=value: check(value))) for value in (1, 2)]
    assert texts[1] == texts[0].replace("only 1", "only 2")


def test_the_innermost_frame_is_the_last() -> None:
    frames = frames_of_traceback(raised_by(lambda: deep(2)).__traceback__)
    assert [frame.site.function for frame in frames][-4:] == ["deep", "deep", "deep", "plain"]


# -- cycles ------------------------------------------------------------------------------------


class Refused(Exception):
    """What a future has."""


def refuse() -> None:
    raise Refused


async def refuse_later() -> None:
    raise Refused


def ask_a_worker(timeout: float | None) -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(refuse)
        try:
            future.result(timeout)
        finally:
            del future


def ask_the_loop_of_another_thread(timeout: float | None) -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    future = asyncio.run_coroutine_threadsafe(refuse_later(), loop)
    try:
        future.result(timeout)
    finally:
        del future
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.parametrize("ask", [ask_a_worker, ask_the_loop_of_another_thread])
@pytest.mark.parametrize("timeout", [None, 100.0])
def test_an_exception_that_a_future_has_given_dies_at_once(
    ask: Callable[[float | None], None], timeout: float | None
) -> None:
    """It has frames of ours in its traceback, which must not lead back to it."""

    def test() -> None:
        gc.disable()
        try:
            try:
                ask(timeout)
            except Refused as error:
                given = weakref.ref(error)
            assert given() is None
        finally:
            gc.enable()

    result = bohrbug.explore(test, timeouts="late", executions=30)
    assert result.verdict.kind is not VerdictKind.FAILED
