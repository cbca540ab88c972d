"""What limits the verdict on a test, as an exploration comes to know it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bohrbug.exploration.figures import Signature
from bohrbug.exploration.verdicts import Caveat, CaveatKind
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.paths import line_in_notes


@dataclass(slots=True)
class Caveats:
    """The caveats of one exploration.

    Attributes:
        notes: sentences for the verdict.
        uncontrolled: what ran outside our control, and how often.
        diverged: executions that could not follow their plan.
        hung: why the exploration ends, after an execution that hung; or "".
        given_up: why a part of the search was given up; or "".
        unended: messages of executions that hung, and whose plans are to be executed once
            more, because more can be seen of them now.
    """

    notes: list[Caveat] = field(default_factory=list)
    uncontrolled: dict[str, int] = field(default_factory=dict)
    diverged: int = 0
    hung: str = ""
    given_up: str = ""
    unended: dict[Plan, str] = field(default_factory=dict)

    def note_divergence(self, count: int, words: str) -> None:
        """Executions did not follow their plan; only the first of all is described."""
        if not self.diverged:
            self.notes.append(Caveat(words, CaveatKind.DIVERGENCE))
        self.diverged += count

    def note_difference(self, words: str) -> None:
        """The test did something else when it was executed again under the same schedule."""
        self.notes.append(Caveat(words, CaveatKind.DIVERGENCE))

    def note_uncontrolled(self, counts: Mapping[str, int]) -> None:
        """Something ran outside our control."""
        for what, count in counts.items():
            self.uncontrolled[what] = self.uncontrolled.get(what, 0) + count

    def note_hang(self, message: str) -> None:
        """An execution hung, here or in a worker: the exploration ends."""
        self.hung = message
        self.notes.append(Caveat(message, CaveatKind.HANG))

    def note_unended(self, plan: Plan, message: str) -> None:
        """An execution hung, but the next one of its plan sees more: it may show why."""
        self.unended[plan] = message

    def note_end(self, plan: Plan) -> None:
        """An execution did not hang."""
        if self.unended:
            self.unended.pop(plan, None)

    def note_what_never_ended(self) -> None:
        """Nothing more will be executed: what hung, and was not executed again, has no end."""
        if self.unended and not self.hung:
            self.note_hang(next(iter(self.unended.values())))

    def note_given_up(self, message: str) -> None:
        """Workers have died, and a part of the search was given up."""
        self.given_up = message
        self.notes.append(Caveat(message, CaveatKind.GIVEN_UP))

    def note_search_that_is_too_old(self, restarts: int) -> None:
        """There are new scheduling points once more, but the search does not start again.

        Parameters:
            restarts: how often it has started again.
        """
        words = (
            f"scheduling points were still found after the search had started again {restarts:,} "
            "times: earlier executions did not have all of them"
        )
        if words not in self.notes:
            self.notes.append(Caveat(words, CaveatKind.GIVEN_UP))

    def note_unrepeatable(self, message: str, fails_when_repeated: bool) -> None:
        """A failure was seen that means nothing, as the test can't be executed again and again.

        Parameters:
            message: says so.
            fails_when_repeated: it has only been executed once more, by the same schedule.
        """
        self.hung = message
        kind = CaveatKind.HANG if fails_when_repeated else CaveatKind.UNCONFIRMED
        self.notes.append(Caveat(message, kind))

    def note_lasting(self, message: str) -> None:
        """The test can't be executed again because of what a failure, which is one, leaves behind.

        Parameters:
            message: what :meth:`note_unrepeatable` was told before that was known.
        """
        self.hung = ""
        words = (
            "the failure leaves something behind with which the test always fails: it was "
            "confirmed in new processes, and nothing was executed after it"
        )
        self.notes = [note for note in self.notes if note.gist != message]
        self.notes.append(Caveat(words, CaveatKind.HANG))

    def note_unconfirmed(self, signatures: Iterable[Signature]) -> None:
        """Failures were seen, and their replays did not fail.

        Parameters:
            signatures: of their outcomes.
        """
        for signature in signatures:
            kind = signature[0]
            words = f"a failure was seen but not confirmed by replay ({_what_failed(signature)})"
            self.notes.append(Caveat(words, CaveatKind.UNCONFIRMED))
            if kind is OutcomeKind.LIVELOCK:
                self.hung = self.hung or f"an execution did not end, but its replay did: {words}"

    def note_untimely(self, outcome: Outcome, is_by_far: bool) -> None:
        """A failure that needs a timeout or a sleep to end early, which no longer happens.

        Parameters:
            outcome: of the failure.
            is_by_far: those that end only a little early still do.
        """
        what = outcome.message or outcome.kind.value
        early = "more than a second early" if is_by_far else "while other tasks could still run"
        words = (
            f"the test fails if a timeout or a sleep ends {early} ({what}); explored without that "
            "from then on"
        )
        self.notes.append(Caveat(words, CaveatKind.UNTIMELY))


def _what_failed(signature: Signature) -> str:
    """A failure of which no more is known: an exception by its name, and where it was raised.

    One that no replay shows again has no report, and "exception" alone helps nobody to find it.
    """
    kind, *details = signature
    if kind in (OutcomeKind.ASSERTION, OutcomeKind.EXCEPTION) and details and details[0]:
        exception, place = details
        if isinstance(place, tuple):
            filename, line = place
            return f"{exception} at {line_in_notes(filename, line)}"
        return str(exception)
    return str(getattr(kind, "value", kind))
