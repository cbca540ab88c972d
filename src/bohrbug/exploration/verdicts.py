"""The verdict: one object that says what is known; only :func:`judge` may say "holds".

A verdict that a test *holds* is a promise, so nothing but :func:`judge` can make one: the
constructor of :class:`Verdict` refuses the two kinds that promise something to all other code,
and a test searches the source for ways around that.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import Self

from bohrbug.exploration.conditions import VerdictConditions, sort_unseen
from bohrbug.exploration.options import ExploreOptions
from bohrbug.search.estimates import Estimate
from bohrbug.search.strategy import Bounding, Composite, Estimating, GivingUp, Strategy

_CERTIFICATE = object()
"""What :func:`judge` shows to the constructor; no other code has it."""


class VerdictKind(str, Enum):
    """What an exploration says about the test."""

    HOLDS = "holds"
    """All schedules were executed (within what is controlled)."""
    HOLDS_WITHIN_BOUND = "holds within a bound"
    """All schedules that cost no more than a bound were executed."""
    NO_FAILURE_FOUND = "no failure found"
    """None of the executions failed; nothing more is known."""
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    """The exploration says nothing about the test; the reason says why."""


PROMISES = frozenset({VerdictKind.HOLDS, VerdictKind.HOLDS_WITHIN_BOUND})
"""The kinds that promise something about schedules which were not executed."""


REDUCTIONS = frozenset({"dpor", "bpor"})
"""Strategies that execute one schedule of those that differ in the order of independent steps."""


UNCONFIRMED = (
    "a failure was seen, and the same schedule did not fail again: it depends on something other "
    "than the schedule, such as what earlier executions have left behind"
)
"""Why an exploration is inconclusive that has seen a failure which no replay confirms."""


class CaveatKind(str, Enum):
    """What a caveat is about."""

    DIVERGENCE = "divergence"
    """Executions could not follow their plan."""
    HANG = "hang"
    """An execution hung, or the test can't be executed again and again."""
    GIVEN_UP = "given up"
    """A part of the search was given up: workers have died, or it would not have ended."""
    UNCONFIRMED = "unconfirmed"
    """A failure was seen, and its replays did not fail, or mean nothing."""
    UNTIMELY = "untimely"
    """A failure needs a timeout or a sleep that ends early."""
    UNCONTROLLED = "uncontrolled"
    """Something ran outside our control."""
    REDUCTION = "reduction"
    """The premise of partial-order reduction does not hold."""
    UNSEEN = "unseen"
    """Data accesses could not be made visible."""


class Caveat(str):
    """A sentence that says what limits a verdict.

    Parameters:
        text: the sentence.
        kind: what it is about.
        times: how often that happened; the sentence ends with it if it is more than once.

    Attributes:
        gist: the sentence without how often, which is the same for other tests.
    """

    kind: CaveatKind
    times: int
    gist: str

    def __new__(cls, text: str, kind: CaveatKind, times: int = 1) -> Self:
        """See the class."""
        made = super().__new__(cls, text if times == 1 else f"{text} ({times:,} times)")
        made.kind, made.times, made.gist = kind, times, text
        return made

    def __reduce__(self) -> tuple[type[Caveat], tuple[str, CaveatKind, int]]:
        return Caveat, (self.gist, self.kind, self.times)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One object that says what is known after an exploration.

    Parameters:
        kind: which verdict.
        covered: one sentence per strategy about what was covered, such as "all
            schedules with at most 2 preemptions at 41 scheduling points"; randomised ones
            say with which probability they missed something.
        caveats: what limits it: what was not controlled, executions that
            diverged, tasks that could not be stopped; empty if nothing does.
        reason: why it is this verdict, in one sentence.
        conditions: under which it was reached.
        estimate: of the size of the space, if there is one.
        diverged: executions that could not follow their plan.

    Raises:
        TypeError: a kind that promises something, not made by :func:`judge`.
    """

    kind: VerdictKind
    covered: tuple[str, ...] = field(default=(), repr=False)
    caveats: tuple[Caveat, ...] = ()
    reason: str = ""
    conditions: VerdictConditions | None = field(default=None, repr=False)
    estimate: Estimate | None = field(default=None, repr=False)
    diverged: int = 0
    certificate: InitVar[object] = None

    def __post_init__(self, certificate: object) -> None:
        if self.kind in PROMISES and certificate is not _CERTIFICATE:
            raise TypeError(
                f"a verdict {self.kind.value!r} is a promise: only"
                " bohrbug.exploration.verdicts.judge() can make it, from evidence"
            )


def has_seen_a_failure(verdict: Verdict) -> bool:
    """Whether a failure was seen that is not reported as one, because no replay confirms it."""
    return any(caveat.kind is CaveatKind.UNCONFIRMED for caveat in verdict.caveats)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a verdict is based on: what was executed, and what went wrong with it.

    Parameters:
        options: of the exploration.
        strategy: the search strategy; ``None`` if there never was a choice between tasks.
        has_searched: the strategy had its turn at all.
        executions: executions made.
        seconds: wall time, in seconds.
        no_room_for: the seconds of another execution, if there was no time left for it.
        failures: distinct failures found.
        diverged: executions that could not follow their plan.
        interrupted: the user stopped it.
        hung: the message of an execution that hung or waited for something outside, or "".
        uncontrolled: what ran outside our control, or unseen, and how often.
        skipped: functions whose data accesses could not be made visible, with the reason.
        notes: further caveats.
        unseen: what the runtime never sees, see :func:`unseen`.
        faults: see :class:`VerdictConditions`, as for ``accesses``.
        was_cut: its time was up in the middle of an execution.
        tasks: the most that an execution had; 0 if that is not known.
    """

    options: ExploreOptions
    strategy: Strategy | None = None
    has_searched: bool = False
    executions: int = 0
    seconds: float = 0.0
    no_room_for: float = 0.0
    failures: int = 0
    diverged: int = 0
    interrupted: bool = False
    hung: str = ""
    uncontrolled: dict[str, int] = field(default_factory=dict)
    skipped: tuple[tuple[str, str], ...] = ()
    notes: tuple[Caveat, ...] = ()
    unseen: str = ""
    faults: str = ""
    accesses: str = ""
    was_cut: bool = False
    tasks: int = 0


def judge(evidence: Evidence) -> Verdict:
    """The verdict that evidence allows, and no stronger one.

    Parameters:
        evidence: of one exploration.
    """
    limits = caveats(evidence)
    kind, reason = _case(evidence, limits)
    strategy = evidence.strategy if evidence.has_searched else None
    covered = () if strategy is None else sentences(strategy)
    if evidence.strategy is None and kind is VerdictKind.HOLDS:
        alone = evidence.tasks == 1
        why = "no second task was started" if alone else "the test never has a choice between tasks"
        covered = (f"one schedule: {why}",)
    return Verdict(
        kind,
        covered,
        limits,
        reason,
        VerdictConditions.of(
            evidence.options,
            evidence.faults,
            evidence.accesses,
            sort_unseen(evidence.uncontrolled).taking,
        ),
        estimate_of(strategy),
        evidence.diverged,
        certificate=_CERTIFICATE,
    )


def _case(evidence: Evidence, limits: tuple[Caveat, ...]) -> tuple[VerdictKind, str]:
    """The strongest kind that the evidence allows, and why it is this one."""
    if evidence.failures:
        return VerdictKind.FAILED, "a failure was found, and confirmed by replaying it"
    if evidence.hung:
        return VerdictKind.INCONCLUSIVE, evidence.hung
    if evidence.interrupted:
        return VerdictKind.INCONCLUSIVE, "the exploration was interrupted"
    if not evidence.executions:
        return VerdictKind.INCONCLUSIVE, "no execution was made"
    if any(limit.kind is CaveatKind.UNCONFIRMED for limit in limits):
        return VerdictKind.INCONCLUSIVE, UNCONFIRMED
    strategy = evidence.strategy
    if strategy is None:
        case = VerdictKind.HOLDS, "the test never has a choice between tasks"
    elif strategy.complete:
        case = VerdictKind.HOLDS, "every schedule was executed"
    elif (bound := bound_of(strategy)) is not None:
        case = VerdictKind.HOLDS_WITHIN_BOUND, f"every schedule with {bound} was executed"
    else:
        return VerdictKind.NO_FAILURE_FOUND, _end(evidence)
    if limits:
        return VerdictKind.NO_FAILURE_FOUND, f"{case[1]}, but there are caveats"
    return case


def _end(evidence: Evidence) -> str:
    """Why an exploration that is not complete has ended."""
    options = evidence.options
    if options.executions is not None and evidence.executions >= options.executions:
        what = "execution" if options.executions == 1 else "executions"
        return f"the budget of {options.executions:,} {what} was spent"
    if options.seconds is not None and evidence.seconds >= options.seconds:
        where = " in the middle of an execution" if evidence.was_cut else ""
        return f"the budget of {options.seconds:g} seconds was spent{where}"
    if options.seconds is not None and evidence.no_room_for:
        takes = f"which takes {evidence.no_room_for:.2g} seconds"
        return (
            f"the budget of {options.seconds:g} seconds has no room for another execution, {takes}"
        )
    return "the strategy had nothing left to execute, and does not cover every schedule"


def caveats(evidence: Evidence) -> tuple[Caveat, ...]:
    """What limits a verdict."""
    found = list(evidence.notes)
    for what, count in sort_unseen(evidence.uncontrolled).doubts:
        found.append(Caveat(what, CaveatKind.UNCONTROLLED, count))
    if evidence.diverged:
        what, whose = ("execution", "its") if evidence.diverged == 1 else ("executions", "their")
        text = f"{evidence.diverged:,} {what} could not follow {whose} plan"
        found.append(Caveat(text, CaveatKind.DIVERGENCE))
    if given_up := given_up_by(evidence.strategy):
        schedules = "schedule was" if given_up == 1 else "schedules were"
        text = f"{given_up:,} {schedules} given up because the execution diverged"
        found.append(Caveat(text, CaveatKind.DIVERGENCE))
    what = evidence.unseen or unseen(evidence.options)
    if evidence.options.strategy in REDUCTIONS and what:
        text = f"one schedule of each happens-before graph was executed, and {what}"
        found.append(Caveat(text, CaveatKind.REDUCTION))
    for function, reason in evidence.skipped:
        text = f"data accesses in {function} were not seen: {reason}"
        found.append(Caveat(text, CaveatKind.UNSEEN))
    return tuple(found)


def unseen(options: ExploreOptions) -> str:
    """What the happens-before graph lacks, so that a reduction by it proves nothing.

    The premise of partial-order reduction is CHESS's (OSDI 2008, section 4.4.2): two
    executions with the same graph are at the same state.

    Returns:
        A sentence, or "" if the premise holds.
    """
    if options.invariant is not None:
        return "an invariant looks at states between the steps, in which it differs"
    if options.level == "sync":
        return "at the level 'sync' data accesses are not in the graph"
    return ""


def sentences(strategy: Strategy) -> tuple[str, ...]:
    """What was covered, a sentence for each strategy that had its turn."""
    if isinstance(strategy, Composite):
        return strategy.covered_by_member()
    return (strategy.covered(),)


def bound_of(strategy: Strategy) -> str | None:
    """The bound within which a strategy has executed everything: ``at most 2 preemptions``."""
    return strategy.completed if isinstance(strategy, Bounding) else None


def given_up_by(strategy: Strategy | None) -> int:
    """How many schedules a strategy has given up because they diverged."""
    # A protocol takes long to look at; most tests of a suite have no strategy.
    if strategy is None:
        return 0
    return strategy.given_up if isinstance(strategy, GivingUp) else 0


def estimate_of(strategy: Strategy | None) -> Estimate | None:
    """What a strategy that estimates says of the size of the space."""
    if strategy is None:
        return None
    return strategy.estimate if isinstance(strategy, Estimating) else None
