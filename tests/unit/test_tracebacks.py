"""What is printed of an exception: as Python does, without frames of this tool."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

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
