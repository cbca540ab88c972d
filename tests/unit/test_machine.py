"""Results as JSON, for other programs."""

from __future__ import annotations

from math import inf, log

from bohrbug.cli.machine import estimate_to_json
from bohrbug.search.estimates import Estimate


def test_estimates_are_told_without_what_rounding_has_left() -> None:
    estimate = Estimate("schedules", log(3), log(2.0811278559), inf, 2, "Chao 1984")
    assert estimate.size != 3
    data = estimate_to_json(estimate)
    assert data is not None
    assert (data["size"], data["low"], data["high"]) == (3.0, 2.08113, None)
    assert data["log10_size"] == 0.477121


def test_numbers_that_are_very_large_are_told_as_logarithms() -> None:
    data = estimate_to_json(Estimate("schedules", log(10) * 1_000, 0.0, inf, 2, "counted"))
    assert data is not None
    assert data["size"] is None
    assert data["log10_size"] == 1000.0
