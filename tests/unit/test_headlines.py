"""The line that a report begins with."""

from __future__ import annotations

import bohrbug
from bohrbug.monitors.outcomes import MOST_CHARACTERS
from bohrbug.report.text import failure_text


def test_what_an_exception_says_at_length_is_cut_short_in_the_headline() -> None:
    def fails() -> None:
        raise ValueError(str([1] * 1_000))

    failure = bohrbug.explore(fails, executions=1, causes=0).failures[0]
    assert failure.outcome.message.endswith("… (3,000 characters)")
    assert len(failure.outcome.message) < MOST_CHARACTERS + 50
    # It is in the traceback, whole.
    assert failure_text(failure).count("1, 1") > 400


def test_what_it_says_in_few_words_is_the_headline() -> None:
    def fails() -> None:
        raise ValueError("a" * (MOST_CHARACTERS - 20))

    failure = bohrbug.explore(fails, executions=1, causes=0).failures[0]
    assert failure.outcome.message == "ValueError: " + "a" * (MOST_CHARACTERS - 20)
