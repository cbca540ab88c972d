"""A plugin of pytest that writes the data races of each exploration into a file.

PYTHONPATH=.../benchmarks/texts BOHRBUG_RACES=FILE pytest -p collecting --bohrbug
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from one_test import race_as_data

from bohrbug import Result
from bohrbug.exploration.explorer import Explorer

_explore = Explorer.explore


def explore(self: Explorer) -> Result:
    """Explore, and append a line for each race."""
    result = _explore(self)
    with Path(os.environ["BOHRBUG_RACES"]).open("a", encoding="utf-8") as file:
        for race in result.races:
            file.write(json.dumps({"test": result.test, **race_as_data(race)}) + "\n")
    return result


Explorer.explore = explore  # type: ignore[method-assign]
