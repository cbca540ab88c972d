"""Exception groups: all are raised at one line of the task group, so what is in them counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import bohrbug
from bohrbug.exploration.result import Failure
from bohrbug.model.serialise import trace_from_json, trace_to_json
from bohrbug.report.text import failure_text


def failures_of(work: Callable[[int], None]) -> list[Failure]:
    """What is found where one of two calls is made by a task of a task group."""

    async def main(chosen: int) -> None:
        async def task() -> None:
            work(chosen)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(task())

    def test() -> None:
        asyncio.run(main(bohrbug.choose(2)))

    return [*bohrbug.explore(test, executions=50, keep_going=True).failures]


def either(chosen: int) -> None:
    if chosen:
        raise ValueError("the one")
    raise KeyError("the other")


def at_two_lines(chosen: int) -> None:
    if chosen:
        raise ValueError("the one")
    raise ValueError("the other")


def nested(chosen: int) -> None:
    raise ExceptionGroup("several", [ValueError("the one"), KeyError("the other")])


def text_of(failure: Failure) -> str:
    return failure_text(failure, width=120, color=False, encoding="utf-8")


def test_groups_of_different_types_are_different_failures() -> None:
    failures = failures_of(either)
    assert sorted(failure.outcome.message for failure in failures) == [
        f"{what}, in ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)"
        for what in ("KeyError: 'the other'", "ValueError: the one")
    ]
    one, other = (failure.outcome for failure in failures)
    assert one.signature() != other.signature()
    assert not one.is_like(other)


def test_groups_with_exceptions_of_different_places_are_different_failures() -> None:
    failures = failures_of(at_two_lines)
    assert len(failures) == 2
    one, other = (failure.outcome for failure in failures)
    assert one.is_like(other)


def test_the_report_says_where_the_exceptions_in_a_group_were_raised() -> None:
    (failure,) = failures_of(nested)
    text = text_of(failure)
    head = text[: text.index("found by")]
    assert "ValueError: the one; KeyError: 'the other'" in head
    assert "ExceptionGroup at" not in head
    assert head.count(" in main") == 1
    assert "raised at" not in head, "the place in asyncio says nothing"


def test_the_place_of_the_exception_is_told() -> None:
    failures = failures_of(at_two_lines)
    for failure in failures:
        head = " ".join(text_of(failure).partition("found by")[0].split())
        line = failure.outcome.grouped[0].stack[-1].site.line
        assert f"; ValueError at tests/unit/test_exception_groups.py:{line} in at_two_lines" in head


def test_what_is_in_a_group_is_kept_in_files() -> None:
    for failure in failures_of(either):
        again = trace_from_json(json.loads(json.dumps(trace_to_json(failure.trace))))
        assert again.outcome.signature() == failure.outcome.signature()
        assert again.outcome.grouped == failure.outcome.grouped
        assert len(again.outcome.grouped) == 1
