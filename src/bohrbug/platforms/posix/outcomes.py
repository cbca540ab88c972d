"""How an execution of a native program ended, as an outcome."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bohrbug.model.outcome import ASKED, PASSED, Outcome, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.monitors.outcomes import step_limit_outcome, stuck_outcome, unfinished_outcome
from bohrbug.platforms.posix.checking import outcome_of_check
from bohrbug.runtime.posix import enumerations, layout
from bohrbug.runtime.posix.ended import Ended, Printed
from bohrbug.runtime.posix.recorded import Reading
from bohrbug.runtime.posix.symbols import is_system_file

_SUMMARY = re.compile(rb"^SUMMARY: (\w+Sanitizer: .*)$", re.MULTILINE)
"""What sanitizers print last, before they end a program."""


@dataclass(slots=True)
class Expectation:
    """What a passing execution looks like.

    Parameters:
        code: the exit code; ``None``: that of the first execution that passes, or 0 once one has
            ended so.
        same_output: standard output is that of the first execution that passes.
        check: a command, run after each execution that ended by itself; it must exit with 0.
        stdout: what that execution printed.
        learned, code_is_learned: whether an execution has shown what is expected.
        was_refuted: whether one that had passed has turned out to be a failure.
        check_seconds: of real time that the check may take; 0 for no limit.
    """

    code: int | None = None
    same_output: bool = False
    check: Sequence[str] = ()
    stdout: bytes | None = None
    check_seconds: float = 0.0
    learned: bool = field(default=False)
    code_is_learned: bool = field(default=False)
    was_refuted: bool = field(default=False)

    def learn(self, ended: Ended, printed: Printed) -> None:
        """Take over what an execution did that passed, where nothing else was asked for."""
        if self.learned:
            return
        self.learned = True
        if self.code is None:
            self.code = ended.code
            self.code_is_learned = True
        if self.stdout is None:
            self.stdout = printed.stdout

    def is_refuted_by(self, code: int) -> bool:
        """Whether what passed before was a failure: a program that can end with 0 is to do so."""
        return self.code_is_learned and bool(self.code) and code == 0

    def begin_again(self) -> None:
        """Forget what was learned, but that the program is to end with 0."""
        self.code, self.stdout, self.learned = 0, None, False
        self.was_refuted = True


class NativeExplainer:
    """Outcomes of executions on the POSIX runtime.

    Parameters:
        expectation: what a passing execution looks like.
    """

    def __init__(self, expectation: Expectation) -> None:
        self.expectation = expectation
        # The execution by which something was learned.
        self._learned_from: Plan | None = None
        self._doubted: list[Plan] = []

    def take_doubted(self) -> list[Plan]:
        """Plans of executions that passed, but would fail by what is known now; each once."""
        doubted, self._doubted = self._doubted, []
        return doubted

    def __call__(self, reading: Reading, trace: Trace, ended: Ended, printed: Printed) -> Outcome:
        """The outcome of one execution."""
        if self._is_right_death(reading, ended):
            number = reading.signal if reading.signal else signal.SIGABRT
            trace.uncontrolled.note(
                f"a child process dies of {signal_name(number)} in the first execution, too, so it "
                "counts as right"
            )
            return self._judge(trace, ended, printed)
        if ended.interrupted:
            return Outcome(OutcomeKind.INTERRUPTED, "interrupted by the user")
        if ended.hung:
            return self._hang(reading, ended)
        match reading.ending:
            case enumerations.ASKED:
                return ASKED
            case enumerations.DEADLOCK:
                return stuck_outcome(reading.blocked(), False, ())
            case enumerations.STEP_LIMIT:
                return step_limit_outcome(trace, False)
            case enumerations.COMES_FURTHER:
                return unfinished_outcome(trace, False, "a task counts, say, or a time has passed")
            case enumerations.MISUSE:
                kind = reading.ending_misuse
                return self._at_ending(reading, OutcomeKind.MISUSE, reading.message, kind)
            case enumerations.ASSERTION:
                return self._at_ending(reading, OutcomeKind.ASSERTION, reading.message, "assert")
            case enumerations.STUCK_OUTSIDE:
                return Outcome(OutcomeKind.HANG, reading.message, blocked=tuple(reading.blocked()))
            case enumerations.TOO_BIG:
                return Outcome(OutcomeKind.STEP_LIMIT, reading.message)
        if ended.code < 0 or reading.ending == enumerations.CRASH:
            return self._crash(reading, ended)
        return self._judge(trace, ended, printed)

    def _is_right_death(self, reading: Reading, ended: Ended) -> bool:
        """Whether a child process has died in the first execution, on purpose.

        As in the test of an assertion: the program has succeeded all the same.
        """
        expected = self.expectation
        return (
            not expected.learned
            and reading.ending in (enumerations.CRASH, enumerations.ASSERTION)
            and self._process(reading) != 0
            and not (ended.hung or ended.interrupted)
            and ended.code == (expected.code or 0)
        )

    def _judge(self, trace: Trace, ended: Ended, printed: Printed) -> Outcome:
        expected = self.expectation
        if expected.is_refuted_by(ended.code):
            expected.begin_again()
            if self._learned_from is not None:
                self._doubted.append(self._learned_from)
        outcome = self._ended_by_itself(ended, printed)
        if outcome.kind is OutcomeKind.PASSED and not expected.learned:
            expected.learn(ended, printed)
            self._learned_from = Plan(tuple(trace.choices))
        return outcome

    def _task(self, reading: Reading) -> str | None:
        task = reading.ending_task
        return reading.ids[task] if task < len(reading.ids) else None

    def _process(self, reading: Reading) -> int:
        task = reading.ending_task
        return reading.tasks[task].process if task < len(reading.tasks) else 0

    def _at_ending(
        self, reading: Reading, kind: OutcomeKind, message: str, exception: str
    ) -> Outcome:
        stack = reading.stack(reading.ending_stack, self._process(reading), reading.ending_site)
        number = reading.ending_resource
        if number != layout.NONE and not number & layout.TASK_BIT and kind is OutcomeKind.MISUSE:
            resource = reading.describe(number)
            # Of a function the message tells the name.
            if resource.type == enumerations.MEMORY:
                message += self._freed(reading, number)
            elif resource.type != enumerations.FUNCTION:
                place = resource.created
                at = f"{resource.type} {Path(place.filename).name}:{place.line}" if place else ""
                message = (
                    f"{message} ({at or resource.label}{self._taken(reading, number, message)})"
                )
        if kind is OutcomeKind.MISUSE and all(is_system_file(f.site.filename) for f in stack):
            # Where threads end says nothing of the program.
            stack = ()
        return Outcome(kind, message, self._task(reading), exception, stack)

    def _freed(self, reading: Reading, number: int) -> str:
        record = reading.resources[number]
        who = record.owner.task
        by = f" by task {reading.ids[who]}" if who < len(reading.ids) else ""
        place = reading.describe(number).created
        at = f" at {Path(place.filename).name}:{place.line}" if place and place.line else ""
        return f" (freed{by}{at})" if by or at else ""

    def _taken(self, reading: Reading, number: int, told: str) -> str:
        owner = reading.resources[number].owner
        if owner.task >= len(reading.ids):
            return ""
        who = f"task {reading.ids[owner.task]}"
        by = "" if owner.task == reading.ending_task or who in told else f" by {who}"
        site = reading.site(owner.site, reading.tasks[owner.task].process)
        at = f" at {Path(site.filename).name}:{site.line}" if site and site.line else ""
        return f", taken{by}{at}" if by or at else ""

    def _crash(self, reading: Reading, ended: Ended) -> Outcome:
        number = reading.signal if reading.ending == enumerations.CRASH else -ended.code
        name = signal_name(number)
        message = f"died of {name}"
        is_noted = reading.ending == enumerations.CRASH
        is_known = is_noted and reading.fault_address != layout.UNKNOWN_ADDRESS
        if number in (signal.SIGSEGV, signal.SIGBUS) and is_known:
            message += f" at address {reading.fault_address:#x}"
        return self._at_ending(reading, OutcomeKind.CRASH, message, name)

    def _hang(self, reading: Reading, ended: Ended) -> Outcome:
        running = reading.running
        who = "the program"
        if running < len(reading.ids):
            who = _known_as(reading, running)
        if ended.stopped:
            return Outcome(
                OutcomeKind.HANG,
                f"{who} has been stopped by a signal, such as SIGSTOP, and can't go on when it is "
                "its turn: processes that stop each other can't be explored",
            )
        return Outcome(
            OutcomeKind.HANG,
            f"{who} has run for {ended.seconds:g} s without reaching a scheduling point: it spins "
            "or computes without a call that Bohrbug knows, or is blocked inside one",
        )

    def _ended_by_itself(self, ended: Ended, printed: Printed) -> Outcome:
        expected = self.expectation
        said = _SUMMARY.search(printed.stderr)
        if expected.code is None and ended.code and said is not None:
            return self._wrong_code(ended.code, "", said)
        if expected.code is not None and ended.code != expected.code:
            # That a program which should end with 0 does not do so by itself is easily overlooked.
            learned = expected.code and expected.code_is_learned
            source = ", that of the first execution" if learned else ""
            return self._wrong_code(ended.code, f" instead of {expected.code}{source}", said)
        if (
            expected.same_output
            and expected.stdout is not None
            and printed.stdout != expected.stdout
        ):
            return Outcome(
                OutcomeKind.ASSERTION,
                "the output differs from that of the first execution",
                exception="output",
            )
        if expected.check:
            return outcome_of_check(expected.check, expected.check_seconds)
        return PASSED

    def _wrong_code(self, code: int, instead: str, said: re.Match[bytes] | None) -> Outcome:
        message = f"exit code {code}{instead}"
        if said is not None:
            message = f"{said[1].decode('utf-8', 'replace')} ({message})"
        return Outcome(OutcomeKind.EXCEPTION, message, exception=f"exit code {code}")


def _known_as(reading: Reading, task: int) -> str:
    """A task for people: its name, and where its last scheduling point was."""
    number = reading.ids[task]
    info = reading.infos()[number]
    names = ", ".join(filter(None, (info.name, info.target)))
    text = f"task {number} ({names})" if names else f"task {number}"
    site = reading.site(reading.tasks[task].site, reading.tasks[task].process)
    if site is None:
        return text
    where = f"{Path(site.filename).name}:{site.line}" if site.line else site.function
    return f"{text}, last seen at {where}," if where != "?" else text


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
