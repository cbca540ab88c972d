"""What only the first execution of a test can show: what it leaves behind, later ones find.

An object that is made once, in a global of a library, is made by the first execution, whose
functions are rewritten only at its end.  So where nothing was executed before, the test is executed
once more, with its functions rewritten from the start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from bohrbug.exploration.figures import RaceKey, race_key
from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.plan import Plan
from bohrbug.monitors.race_classes import may_matter_at_first
from bohrbug.platforms.threads.platform import runtime_of
from bohrbug.runtime.protocol import Discovering

QUESTION = ".first"
"""What the names of files end with that :func:`write_question` writes."""


def write_question(file: Path, runtime: Discovering, known: Iterable[RaceKey]) -> None:
    """Write what :func:`has_other_races` needs to know of an exploration.

    Parameters:
        file: is written.
        runtime: knows which functions the test calls.
        known: the data races that were seen.
    """
    functions = sorted(runtime.known_functions())
    question = {"functions": functions, "known": [repr(key) for key in known]}
    file.write_text(json.dumps(question))


def has_other_races(file: Path, test: Callable[[], object], options: ExploreOptions) -> bool:
    """Execute a test for the first time: whether it has data races that are not known.

    Parameters:
        file: by :func:`write_question`; what variables the races are on replaces it.
        test: the test.
        options: of the exploration.
    """
    question = json.loads(file.read_text())
    with runtime_of(test, options) as runtime:
        runtime.rewrite_named({(name, of, line) for name, of, line in question["functions"]})
        executed = runtime.execute(Plan(conditions=options.conditions()), watch=True)
    known = set(question["known"])
    races = [
        race
        for race in executed.trace.races
        if repr(race_key(race)) not in known and may_matter_at_first(race)
    ]
    file.write_text(json.dumps(list(dict.fromkeys(race.label for race in races))))
    return bool(races)


def fails_undisturbed(test: Callable[[], object], options: ExploreOptions) -> bool:
    """Execute a test for the first time: whether it fails by the schedule without preemptions.

    Parameters:
        test: the test.
        options: of the exploration.
    """
    with runtime_of(test, options) as runtime:
        return runtime.execute(Plan(conditions=options.conditions())).trace.outcome.is_failure


def variables_of_other_races(file: Path) -> list[str]:
    """What variables :func:`has_other_races` has found races on."""
    variables: list[str] = json.loads(file.read_text())
    return variables
