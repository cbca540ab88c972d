"""What only the first execution of a test can show: what it leaves behind, later ones find.

An object that is made once, in a global of a library, is made by the first execution, whose
functions are rewritten only at its end.  So where nothing was executed before, the test is executed
once more, with its functions rewritten from the start.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from bohrbug.exploration.figures import RaceKey, race_key
from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.outcome import Race, RacePattern
from bohrbug.model.plan import Plan
from bohrbug.monitors.race_classes import pattern_of
from bohrbug.platforms.threads.platform import runtime_of
from bohrbug.runtime.protocol import Discovering

_STANDARD = os.path.dirname(os.__file__) + os.sep

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
        if repr(race_key(race)) not in known and _may_matter(race)
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


def _may_matter(race: Race) -> bool:
    """Whether it is worth a word: not where the standard library fills a cache of its own."""
    pattern = pattern_of(race)
    if pattern.is_often_benign or pattern is RacePattern.IDEMPOTENT_WRITE:
        return False
    files = {access.operation.place[0].co_filename for access in (race.first, race.second)}
    return not all(file.startswith(_STANDARD) and "-packages" not in file for file in files)


def words_on_other_races(file: Path) -> str:
    """What variables :func:`has_other_races` has found races on, in a sentence."""
    labels = json.loads(file.read_text())
    more = " and others" if len(labels) > 3 else ""
    return (
        f"only the first execution of the test has data races on {', '.join(labels[:3])}{more}, as "
        "later ones find what it leaves behind: they were not explored; to have them explored, "
        "reset that in the test"
    )
