"""A native program runs once, with live rounds, and what came of it."""

from __future__ import annotations

import platform
import time
from dataclasses import replace
from typing import Any

from bohrbug.exploration.figures import race_key
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Failure
from bohrbug.live.copies import CannotHoldBack
from bohrbug.live.figures import Failing, Figures
from bohrbug.live.harm import End
from bohrbug.live.options import LiveOptions
from bohrbug.live.result import LiveResult
from bohrbug.live.system_calls import MACHINES, filter_of, packed
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import settings_of
from bohrbug.platforms.posix.outcomes import Expectation, NativeExplainer, signal_name
from bohrbug.runtime.posix import enumerations, layout
from bohrbug.runtime.posix.ended import Ended
from bohrbug.runtime.posix.live_layout import MOST_FRAGMENTS, OWN_NUMBER, LiveRecord
from bohrbug.runtime.posix.running_live import LiveProgram

_NANOSECONDS = 10**9

_SPARE_STEPS = 1 << 15
"""Beside those that are kept: a run is looked after every few thousand steps."""

_MORE_STEPS = 10_000
"""That a replay may have more than the run had."""

_ENDS = tuple(End)

_FROM_OUTSIDE = frozenset((1, 2, 3, 9, 13, 15))
"""Signals by which a program is ended from outside: that is no failure of it."""


def live_native_options_of(options: ExploreOptions) -> ExploreOptions:
    """The options of the one execution that there is.

    Timeouts fire when nothing else can run: what only a sleep that ends too soon can break would
    not break in a real run.
    """
    timeouts = "early" if options.timeouts == "early" else "late"
    return replace(options, timeouts=timeouts)


class NativeLiveRun:
    """One run of a native program.

    Parameters:
        command: the program and what is expected of it.
        options: see :func:`live_native_options_of`.
        live: how rounds are made.

    Raises:
        UnsupportedError: it can't be run so.
        CannotHoldBack: fragments can't be kept from being seen here.
        ValueError: there are to be more fragments than there is room for.
    """

    def __init__(self, command: Command, options: ExploreOptions, live: LiveOptions) -> None:
        if live.fragments > MOST_FRAGMENTS:
            raise ValueError(f"fragments must be at most {MOST_FRAGMENTS} for native programs")
        self._command = command
        self._options = options
        self._live = live
        settings = replace(
            settings_of(options),
            late_timeouts=options.timeouts == "late",
            max_steps=2 * live.history + 8 * live.window + _SPARE_STEPS,
            epoch=command.epoch,
            allowed_misuses=command.allowed_misuses,
        )
        self._program = LiveProgram(command.words, settings)
        _tell(self._program.record, command, live)

    def run(self) -> LiveResult:
        """Run it to its end.

        Raises:
            UnsupportedError: it has turned out that it can't be run so.
        """
        began = time.monotonic()
        explainer = NativeExplainer(Expectation(self._command.exit_code))
        with self._program as program:
            made = program.run(Plan(conditions=self._options.conditions()))
            trace = program.read(made, explainer)
            record, seconds, steps = program.record, time.monotonic() - began, program.steps
            figures = _figures_of(record, seconds)
            ended = made.ended
            outcome = _outcome_of(trace.outcome, program, ended)
            result = LiveResult(outcome, figures, seconds, steps, code=_exit_code(ended))
            races = {race_key(race): race for race in reversed(trace.races)}
            result.races = list(reversed(races.values()))
            if outcome.is_failure:
                result.failure = _failure_of(trace, outcome, record)
                result.is_whole = not record.forgotten
                result.why_not = _why_not(program)
            return result

    def options_of_replay(self, result: LiveResult) -> ExploreOptions:
        """What a replay of a failure goes by: it may have as many steps as the run."""
        most = max(self._options.max_steps, result.steps + _MORE_STEPS)
        return replace(self._options, max_steps=most)


def _tell(record: Any, command: Command, live: LiveOptions) -> None:
    machine = MACHINES.get(platform.machine())
    if machine is None or platform.machine() != "x86_64":
        raise CannotHoldBack(
            "live rounds of native programs need a processor of the kind x86_64, this is "
            f"{platform.machine()}"
        )
    record.budget = round(live.budget * 100)
    record.window, record.history = live.window, live.history
    record.fragments, record.at_once = live.fragments, live.at_once
    record.most_rounds = live.rounds or 0
    record.nanoseconds = round((live.seconds or 0) * _NANOSECONDS)
    record.patience = round(live.patience * _NANOSECONDS)
    record.seed = live.seed % 2**64
    record.has_code = command.exit_code is not None
    record.code = command.exit_code or 0
    text = packed(filter_of(machine, OWN_NUMBER, (), waits_for_events=False))
    record.filter_length = len(text) // 8
    numbers = memoryview(text).cast("Q")
    for index, number in enumerate(numbers):
        record.filter[index] = number


def _figures_of(record: LiveRecord, seconds: float) -> Figures:
    figures = Figures(record.rounds)
    for end, count in zip(_ENDS, record.ends, strict=True):
        if count:
            figures.ends[end] = count
    figures.retired, figures.parted = record.retired, record.parted
    figures.failed_copies = record.failed_copies
    figures.longest = record.longest / _NANOSECONDS
    figures.share = 100 * record.spent / _NANOSECONDS / seconds if seconds else 0.0
    if record.unproved:
        one = _failing_of(record.suspect)
        figures.unproved = [one if record.unproved == 1 else ("a failure", "")] * record.unproved
    return figures


def _failing_of(report: Any) -> Failing:
    """How a fragment failed, as far as its copy could tell."""
    match report.ending:
        case enumerations.DEADLOCK:
            return ("a deadlock", "")
        case enumerations.MISUSE:
            return (enumerations.MISUSES[report.misuse], "")
        case enumerations.ASSERTION:
            return ("a failed assertion", "")
        case enumerations.CRASH:
            return (signal_name(report.signal), "")
    return (f"exit code {report.code}", "")


def _outcome_of(outcome: Outcome, program: LiveProgram, ended: Ended) -> Outcome:
    """The outcome, where somebody outside may have ended the program."""
    unfinished = program.segment.header.ending == enumerations.UNFINISHED
    if unfinished and ended.code < 0 and -ended.code in _FROM_OUTSIDE:
        why = f"ended by {signal_name(-ended.code)}"
        return Outcome(OutcomeKind.INTERRUPTED, why)
    return outcome


def _exit_code(ended: Ended) -> int:
    """As a shell has it."""
    return ended.code if ended.code >= 0 else 128 - ended.code


def _failure_of(trace: Trace, outcome: Outcome, record: LiveRecord) -> Failure:
    plan = trace.as_plan()
    trace = trace.with_outcome(outcome)
    trace.plan = plan
    preemptions = trace.preemptions()
    followed = record.followed
    essential = () if followed == layout.NONE else tuple(s for s in preemptions if s >= followed)
    return Failure(outcome, trace, plan, "live rounds", 0, len(preemptions), essential=essential)


def _why_not(program: LiveProgram) -> str:
    """Why a replay of the whole run may differ."""
    record, header = program.record, program.segment.header
    if record.has_children:
        return "it has started processes, which ran without control, and in a replay do not"
    if record.met_outside:
        return "it has met what is outside our control, which a replay may find otherwise"
    if header.nudges:
        return "a task that span was made to yield at a moment that real time has chosen"
    return ""
