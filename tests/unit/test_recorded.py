"""Columns of what an execution wrote."""

from __future__ import annotations

from bohrbug.runtime.threads.recorded import columns_of


def test_columns_are_lists_of_what_stands_in_each_place() -> None:
    assert columns_of([("a", 1), ("b", 2), ("c", 3)], 2) == (["a", "b", "c"], [1, 2, 3])


def test_no_rows_make_empty_columns() -> None:
    assert columns_of([], 3) == ([], [], [])
