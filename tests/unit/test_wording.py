"""Figures in words."""

from __future__ import annotations

import pytest

from bohrbug.report.wording import rate_in_words


@pytest.mark.parametrize(
    ("rate", "words"),
    [(0.0, "0"), (0.1105, "0.11"), (3.44, "3.4"), (9.97, "10"), (1_234.5, "1,234")],
)
def test_few_executions_a_second_are_not_none(rate: float, words: str) -> None:
    assert rate_in_words(rate) == words
