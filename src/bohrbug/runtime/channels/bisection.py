"""Which exchange of messages decides between pass and fail, by replaying hybrid orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from bohrbug.runtime.channels.events import Event, Log, Step
from bohrbug.runtime.channels.orders import causal_order, exchanges, hybrid


class Verdict(Enum):
    """How the replay of a log ended."""

    PASSED = "passed"
    FAILED = "failed"


Try = Callable[[Log], Verdict]


class NotDecidedError(ValueError):
    """The order of messages does not decide between the two runs; the message says why."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The one exchange of messages that decides.

    Parameters:
        step: the event of the failing run; with it the program fails.
        instead: what its task does there if the rest is as in the passing run, and the
            program passes; ``None`` if it does nothing more.
        replays: how many there were.
        before: how many events of the failing run come before it in causal order.
    """

    step: Step
    instead: Event | None
    replays: int
    before: int


def decide(
    passing: Log,
    failing: Log,
    attempt: Try,
    confirmations: int = 3,
    progress: Callable[[str], None] = lambda words: None,
) -> Decision:
    """Find it by bisection over the events of the failing run.

    A hybrid log follows the failing run for its first events and then the passing one.  With none
    it passes, with all it fails; in between there is a place where one more event makes it fail.

    Parameters:
        passing: log of a run that passed.
        failing: log of a run that failed.
        attempt: replays a log, going on after desynchronisations, and says how it ended.
        confirmations: how often both sides of the place are replayed.
        progress: told what goes on.

    Raises:
        NotDecidedError: a replay of the passing log does not pass, one of the failing log does
            not fail, or the place does not give the same twice.
    """
    order = causal_order(failing)
    cuts = [0, *(place + 1 for place in exchanges(order))]
    if cuts[-1] != len(order):
        cuts.append(len(order))
    replays = 0

    def outcome(log: Log) -> Verdict:
        nonlocal replays
        replays += 1
        return attempt(log)

    progress("replaying both runs")
    if outcome(passing) is not Verdict.PASSED:
        raise NotDecidedError("a replay of the passing run does not pass")
    if outcome(failing) is not Verdict.FAILED:
        raise NotDecidedError(
            "a replay of the failing run does not fail: it was not the order of messages, or not "
            "that alone, that made it fail"
        )
    low, high = 0, len(cuts) - 1
    while high - low > 1:
        middle = (low + high) // 2
        progress(f"{high - low} exchanges left")
        if outcome(hybrid(passing, failing, order, cuts[middle])) is Verdict.PASSED:
            low = middle
        else:
            high = middle
    passes = hybrid(passing, failing, order, cuts[low])
    fails = hybrid(passing, failing, order, cuts[high])
    progress("confirming")
    for _ in range(confirmations):
        if outcome(passes) is not Verdict.PASSED or outcome(fails) is not Verdict.FAILED:
            raise NotDecidedError(
                f"the place was narrowed down to event {cuts[high]} of {len(order)}, but replays "
                "of it do not end the same way each time"
            )
    step = order[cuts[high] - 1]
    events = passes.tasks.get(step.task, [])
    instead = events[step.number] if step.number < len(events) else None
    return Decision(step, instead, replays, cuts[high] - 1)
