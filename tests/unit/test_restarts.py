"""A search begins again where new scheduling points are found, but not for ever."""

from __future__ import annotations

import pytest

from bohrbug.exploration import explorer
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.exploration.verdicts import CaveatKind
from bohrbug.platforms.threads.platform import explorer_of
from tests.programs.together import together


def test_points_that_are_found_too_late_are_a_caveat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "RESTARTS", 1)
    exploring = explorer_of(
        lambda: together(print, print), "a test", ExploreOptions(), Surroundings(None)
    )
    exploring.restart()
    assert not exploring.caveats.notes
    exploring.restart()
    exploring.restart()
    assert [caveat.kind for caveat in exploring.caveats.notes] == [CaveatKind.GIVEN_UP]
