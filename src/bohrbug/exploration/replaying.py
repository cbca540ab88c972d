"""What a replay gives, and where it differs if it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bohrbug.exploration.alignment_diff import AlignmentDiff
from bohrbug.exploration.result import Failure
from bohrbug.model.operation import Site
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.paths import display_path
from bohrbug.runtime.protocol import Runtime


@dataclass(frozen=True, slots=True)
class Edit:
    """What a replay found in a program that was edited since its failure was recorded.

    Parameters:
        files: those that were edited where something was recorded.
        misfits: what does not fit any more.
        failure: the recorded failure in the program of today, confirmed and minimised;
            ``None`` if it did not happen again.
        aligned: the plan of the file did not hold any more.
    """

    files: tuple[str, ...]
    misfits: AlignmentDiff
    failure: Failure | None = None
    aligned: bool = True


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay gave.

    Parameters:
        trace: the last execution.
        reproduced: how many of ``times`` failed as in the file.
        times: replays made.
        difference: where the first differing replay parts from the file, for people.
        edit: what became of the failure if the program was edited; where the plan of the file
            does not hold any more, ``trace`` and ``reproduced`` are of what could be followed.
        left: how many more were to be made when the user interrupted.
    """

    trace: Trace
    reproduced: int
    times: int
    difference: str | None
    edit: Edit | None = None
    left: int = 0

    @property
    def passes(self) -> bool:
        """Whether the test passes now under the schedule of the file."""
        if self.reproduced or self.trace.outcome.kind is not OutcomeKind.PASSED:
            # Nor does one that was interrupted, or hangs.
            return False
        return self.edit is not None or self.trace.divergence is None


def repeated(
    runtime: Runtime,
    expected: Failure,
    times: int,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> Replay:
    """Execute the plan of a failure so often, and compare.

    Parameters:
        runtime: of the test.
        expected: the failure.
        times: how often.
        is_interrupted: the user wants it to end; what was executed meanwhile counts for nothing.

    Raises:
        KeyboardInterrupt: interrupted before the first replay had ended.
    """
    reproduced = 0
    difference = None
    last: Trace | None = None
    for made in range(times):
        trace = executed(runtime, expected, expected.plan)
        if is_interrupted():
            if last is None:
                raise KeyboardInterrupt
            return Replay(last, reproduced, made, difference, left=times - made)
        last = trace
        same = trace.outcome.signature() == expected.outcome.signature()
        if same and trace.divergence is None:
            reproduced += 1
        elif difference is None:
            difference = difference_between(expected.trace, trace)
    return Replay(trace, reproduced, times, difference)


def executed(runtime: Runtime, expected: Failure, plan: Plan) -> Trace:
    """One replay; a data race that was reported as a failure has to be looked for."""
    race = expected.outcome.race
    if race is None:
        return runtime.execute(plan, learn=False).trace
    trace = runtime.execute(plan, learn=False, watch=True).trace
    if not trace.outcome.is_failure:
        for found in trace.races:
            if found.title == race.title:
                outcome = replace(expected.outcome, race=found, stack=found.second.stack)
                return trace.with_outcome(outcome)
    return trace


def difference_between(expected: Trace, found: Trace) -> str:
    """Where two executions part, in words.

    Parameters:
        expected: the execution in the file.
        found: the replay.
    """
    for index in range(min(len(expected), len(found))):
        wanted, made = expected.operations[index], found.operations[index]
        here, there = site_of(wanted.place), site_of(made.place)
        if (
            expected.tasks[index] != found.tasks[index]
            or wanted.kind is not made.kind
            or (here and there and here[:2] != there[:2])
        ):
            return (
                f"step {index} differs: expected task {expected.tasks[index]} to "
                f"{wanted.kind.name}{_at(here)}, but task {found.tasks[index]} does "
                f"{made.kind.name}{_at(there)}"
            )
    if len(expected) != len(found):
        return (
            f"the replay has {len(found)} steps, the file {len(expected)}; up to the shorter end "
            "they agree"
        )
    return (
        f"the schedule is the same, but the outcome differs: {found.outcome.kind.value} "
        f"{found.outcome.message}".rstrip()
    )


def _at(site: Site | None) -> str:
    """A place as a person in the current folder would write it: `` at shop.py:9 in Shop.buy``."""
    if site is None:
        return ""
    return f" at {site._replace(filename=display_path(site.filename))}"
