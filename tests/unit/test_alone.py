"""Whether the root task is alone for good."""

from __future__ import annotations

from typing import Any

from bohrbug.model.operation import BEGIN, END, IS_ALIVE, JOIN, READ, Operation
from bohrbug.runtime.threads.alone import Ends


def row(task: str, kind: Any, resource: str) -> tuple[Any, ...]:
    return task, task, Operation(kind, resource, None), (task,), (), False


def test_who_was_joined_has_come_before() -> None:
    rows = [row("0.1", BEGIN, "0.1"), row("0.1", END, "0.1")]
    ends = Ends("0", rows)
    assert not ends.all_come_before()
    rows.append(row("0", READ, "x"))
    assert not ends.all_come_before()
    rows.append(row("0", JOIN, "0.1"))
    assert ends.all_come_before()


def test_who_was_seen_to_be_dead_has_come_before() -> None:
    ends = Ends("0", [row("0.1", END, "0.1"), row("0", IS_ALIVE, "0.1")])
    assert ends.all_come_before()


def test_a_join_that_gave_up_orders_nothing() -> None:
    ends = Ends("0", [row("0", JOIN, "0.1"), row("0.1", END, "0.1")])
    assert not ends.all_come_before()


def test_who_was_joined_by_another_comes_before_with_that_one() -> None:
    rows = [row("0.1.1", END, "0.1.1"), row("0.1", JOIN, "0.1.1"), row("0.1", END, "0.1")]
    ends = Ends("0", rows)
    assert not ends.all_come_before()
    rows.append(row("0", JOIN, "0.1"))
    assert ends.all_come_before()


def test_a_join_by_another_that_is_not_joined_orders_nothing() -> None:
    ends = Ends("0", [row("0.1", END, "0.1"), row("0.2", JOIN, "0.1"), row("0.2", END, "0.2")])
    assert not ends.all_come_before()
