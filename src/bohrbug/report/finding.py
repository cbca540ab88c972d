"""What is said of a failure beside its schedule: where, how it was found, where else it happens."""

from __future__ import annotations

from bohrbug.exploration.result import MOST_SURVEYED, Failure, Interpreter
from bohrbug.model.operation import Site
from bohrbug.model.outcome import Access, Outcome, Race
from bohrbug.model.site import site_of
from bohrbug.model.standstill import is_long
from bohrbug.paths import display_path, is_library_file
from bohrbug.report.explanation import ends_waits_early
from bohrbug.report.frames import program_frames, telling_frame
from bohrbug.report.naming import Names
from bohrbug.report.stories import TaskSteps
from bohrbug.report.wording import plural, seconds_in_words

_MOST_PLACES = 4
"""Of a sentence."""


def where_in_words(outcome: Outcome, names: Names) -> str:
    """Where it happened, and in which task: ``at bank.py:22 in main, task 0 (MainThread)``."""
    where: list[str] = []
    telling = telling_frame(outcome.stack)
    if telling is not None:
        where.append(f"at {_place_in_words(telling.site)}")
        innermost = program_frames(outcome.stack)[-1]
        if innermost is not telling and not outcome.grouped:
            function = innermost.site.function.rpartition("<locals>.")[2]
            where.append(f"raised at {names.place(innermost.site)} in {function}")
    if outcome.task is not None:
        where.append(f"task {names.task(outcome.task)}")
    return "; ".join(part for part in (", ".join(where), _grouped_in_words(outcome)) if part)


_MOST_GROUPED = 3
"""Exceptions of a group of which the head of a report says where they were raised."""


def _grouped_in_words(outcome: Outcome) -> str:
    """Where the exceptions in a group were raised: ``ValueError at x.py:5 in work``."""
    words = [
        f"{each.exception} at {_place_in_words(frame.site)}"
        for each in outcome.grouped
        if (frame := telling_frame(each.stack)) is not None
    ]
    more = [f"{len(words) - _MOST_GROUPED} more"] if len(words) > _MOST_GROUPED else []
    return ", ".join(words[:_MOST_GROUPED] + more)


def _place_in_words(site: Site) -> str:
    function = site.function.rpartition("<locals>.")[2]
    if not site.line and site.function != "?":
        # Without debugging information the file is a module and an offset in it.
        return f"{function} of {display_path(site.filename.rpartition('+')[0])}"
    line = f":{site.line}" if site.line else ""
    return f"{display_path(site.filename)}{line} in {function}"


def telling_races(failure: Failure) -> list[Race]:
    """Races over an await that explain a failure which orderings don't explain, or not all of it.

    Only where the value read was out of date when it was used does a race say why an execution
    has failed, as it did under every schedule, or under more than meet some orderings. Where these
    are of turns of an event loop, it says what happens in the turns; executions that pass don't
    have it then.
    """
    cause = failure.cause
    if cause is not None and cause.explains_all and not cause.is_of_turns:
        return []
    return [race for race in failure.trace.races if race.stale is not None]


def suspected_races(failure: Failure) -> list[Race]:
    """Data races on variables of the program, in a schedule of which nothing else says the cause.

    Those of libraries are there in executions that pass, too.
    """
    is_told = failure.cause is not None or len(failure.essential) <= MOST_SURVEYED
    if is_told or failure.outcome.race is not None:
        return []
    return [
        race
        for race in failure.trace.races
        if race.stale is None
        and not any(_is_in_library(each) for each in (race.first, race.second))
    ]


def _is_in_library(access: Access) -> bool:
    site = site_of(access.operation.place)
    return site is None or is_library_file(site.filename)


_WAYS = {"remembered": "a remembered schedule"}
"""What is no strategy, and how it is called where it says by what a failure was found."""


def how_found(
    failure: Failure, executions: int | None, seconds: float | None, dash: str = "·"
) -> str:
    """By which strategy, in which execution, and with how many preemptions it was found.

    Parameters:
        failure: the failure.
        executions: of the whole exploration, if it is over.
        seconds: wall time of the exploration, in seconds.
        dash: what stands between the parts.
    """
    strategy = failure.strategy
    found = f"found by {_WAYS.get(strategy, strategy)}" if strategy else "found"
    if failure.execution > 0:
        found += f" in execution {failure.execution:,}"
        if executions is not None and executions > failure.execution:
            found += f" of {executions:,}"
    if seconds is not None:
        found += f", {seconds_in_words(seconds)}"
    count = len(failure.trace.preemptions())
    if count:
        text = plural(count, "preemption")
    else:
        text = "no preemption" if len(failure.trace) else "before a second task was started"
    if failure.found_preemptions > count:
        text += f" (found with {failure.found_preemptions}, minimised)"
    parts = [found, text]
    if failure.occurrences > 1:
        parts.append(f"failed so in {failure.occurrences:,} executions")
    return f" {dash} ".join(parts)


def interpreter_note(failure: Failure, names: Names) -> str:
    """On which builds of Python a failure can happen.

    Empty if that is not known, or goes without saying, as no second task had been started.
    """
    if not len(failure.trace):
        return ""
    if failure.interpreter is Interpreter.GIL:
        return "Can happen on today's GIL builds of Python, and on free-threaded ones."
    if failure.interpreter is Interpreter.ANOTHER_SCHEDULE:
        needs = _beyond_gil(failure, names, "This schedule needs")
        return f"{needs} With the GIL another schedule ends in the same kind of failure."
    if failure.interpreter is Interpreter.THIS_SCHEDULE:
        needs = _beyond_gil(failure, names, "This schedule needs")
        return (
            f"{needs} Whether another one fails alike with the GIL was not found out within the "
            "budget; --interpreter gil (pytest: --bohrbug-interpreter=gil) looks only for such."
        )
    if failure.interpreter is not Interpreter.FREE_THREADED:
        return ""
    return _beyond_gil(failure, names, "Needs")


def not_counted(failure: Failure) -> str:
    """The heading of a failure that needs a timeout or a sleep to end before its time."""
    stall = failure.trace.longest_stall
    # One of an earlier process does not tell, nor is less than a second worth a number.
    early = f"{stall:,.0f} s early" if is_long(stall) else "early"
    return f"Not counted: it needs a timeout or a sleep that ends {early}"


def timeouts_note(failure: Failure) -> str:
    """What to do if a schedule is too unkind to timeouts; empty if none of them matters."""
    if not ends_waits_early(failure.trace, failure.essential):
        return ""
    return (
        "This schedule needs a timeout that fires early, or a sleep that ends early, as on a busy "
        "machine. If others have to stand still for that, --timeouts report (the default under "
        "pytest) only lists the failure; --timeouts late explores without such schedules."
    )


def _beyond_gil(failure: Failure, names: Names, needs: str) -> str:
    trace = failure.trace
    steps = TaskSteps(trace)
    places: dict[str, None] = {}
    for step in failure.essential:
        if step in failure.early_timeouts or not 0 < step < len(trace):
            continue
        pending = steps.next_operation(trace, trace.goes_on(step), step)
        if pending is not None:
            places[names.place(names.site(pending))] = None
    shown = [place for place in places if place]
    if not shown:
        return f"{needs} free-threaded Python: a GIL build can't switch threads where it matters."
    if len(shown) == 1:
        return f"{needs} free-threaded Python: a GIL build can't switch threads at {shown[0]}."
    *most, last = shown
    if len(shown) > _MOST_PLACES:
        most = shown[: _MOST_PLACES - 1]
        last = f"{len(shown) - len(most)} other places"
    return (
        f"{needs} free-threaded Python: a GIL build can't switch threads at all of "
        f"{', '.join(most)} and {last}."
    )


def how_often_reproduced(failure: Failure) -> str:
    """How many replays failed alike; empty if none were made."""
    if not failure.confirmed:
        return ""
    replays = plural(failure.confirmed, "replay")
    text = f"reproduced in {failure.confirmed:,} of {replays}"
    if failure.happens_afresh is False:
        text += ", but not in a process that has executed nothing before: "
        text += "it needs what earlier executions of the test leave behind"
    return text
