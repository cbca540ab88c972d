"""A fragment, seen from the copy that executes it: where it ends, and what it reports then."""

from __future__ import annotations

import marshal
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from bohrbug.live.copies import Copy, tell
from bohrbug.live.figures import Failing
from bohrbug.live.harm import NO_PRESSURE, End, Pressure, Row, pressure_of
from bohrbug.model.conditions import FunctionKey, PlaceKey, place_key
from bohrbug.model.outcome import Outcome
from bohrbug.model.plan import Choice
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.live_runtime import LiveRuntime
from bohrbug.runtime.threads.monitoring import RaceDetector

_CRASHES = frozenset(
    number
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")
    if (number := getattr(signal, name, None)) is not None
)


@dataclass(frozen=True, slots=True)
class Report:
    """What a fragment did.

    Parameters:
        end: how it ended.
        failing: how it failed, if it did.
        choices: what it chose.
        pressure: see :class:`~bohrbug.live.harm.Pressure`.
        found: accesses that should be scheduling points.
        called: functions that the program has not called yet.
        stepped: of one that looked, the accesses that were scheduling points in it: where these
            are some, the program makes the same steps.
    """

    end: End
    failing: Failing = ("", "")
    choices: tuple[Choice, ...] = ()
    pressure: Pressure = NO_PRESSURE
    found: frozenset[PlaceKey] = frozenset()
    called: frozenset[FunctionKey] = frozenset()
    stepped: frozenset[PlaceKey] = frozenset()

    def encoded(self) -> bytes:
        """It for a pipe."""
        pressure = self.pressure
        margins = (pressure.waiting, pressure.held, pressure.fullest)
        pairs: Any = tuple(pressure.pairs)
        seen = tuple(self.found), tuple(self.called), tuple(self.stepped)
        data = (self.end.value, self.failing, self.choices, pairs, margins, seen)
        return marshal.dumps(data)

    @staticmethod
    def decoded(data: bytes) -> Report:
        """What :meth:`encoded` gave."""
        end, failing, choices, pairs, margins, seen = marshal.loads(data)
        pressure = Pressure(frozenset(pairs), *margins)
        return Report(End(end), failing, choices, pressure, *map(frozenset, seen))


def report_of(copy: Copy, was_late: bool) -> Report:
    """What became of a fragment, whether or not it could tell.

    Parameters:
        copy: has ended.
        was_late: it was ended, as it took too long.
    """
    data = copy.report
    if data is not None:
        try:
            return Report.decoded(data)
        except (EOFError, ValueError, TypeError):
            # It was ended while it wrote.
            return Report(End.LONG if was_late else End.LOST)
    if copy.was_stopped:
        # In code in C, which went on as if the call had been carried out.
        return Report(End.OUTSIDE)
    if was_late:
        return Report(End.LONG)
    if copy.died_of in _CRASHES:
        return Report(End.CRASHED, (signal.Signals(copy.died_of).name, ""))
    return Report(End.LOST)


def failing_of(outcome: Outcome) -> Failing:
    """What tells a failure from others."""
    return (outcome.exception or outcome.kind.value, outcome.task or "")


def name_of(place: Any) -> object:
    """A place in pairs: a copy has the same objects at the same addresses."""
    return (id(place[0]), place[1]) if type(place) is tuple else id(place)


class Fragment:
    """The one that this process executes.

    Parameters:
        execution: is copied.
        runtime: executes it.
        descriptor: where to report.
        window: steps that it may do.
        detector: looks for data races in it, or ``None``.
    """

    def __init__(
        self,
        execution: Execution,
        runtime: LiveRuntime,
        descriptor: int,
        window: int,
        detector: RaceDetector | None,
    ) -> None:
        self._execution = execution
        self._runtime = runtime
        self._descriptor = descriptor
        self._detector = detector
        self._first = execution.steps
        self._tasks = len(execution.alive)
        self.last = self._first + window

    def over(self, end: End, failing: Failing = ("", "")) -> NoReturn:
        """Report, and end this process."""
        execution = self._execution
        rows = execution.rows[self._first :]
        detector = self._detector
        tell(
            self._descriptor,
            Report(
                end,
                failing,
                tuple(row[0] for row in rows),
                pressure_of(rows, max(self._tasks, len(execution.alive)), name_of),
                frozenset() if detector is None else self._runtime.found(detector),
                self._runtime.called() if self._runtime.discovers else frozenset(),
                frozenset() if detector is None else self._stepped(rows),
            ).encoded(),
        )

    def _stepped(self, rows: Sequence[Row]) -> frozenset[PlaceKey]:
        """The accesses at which steps were made, or were about to be."""
        operations = [row[2] for row in rows]
        operations += [task.pending for task in self._execution.alive]
        return frozenset(
            place_key(operation.place)
            for operation in operations
            if operation is not None
            and operation.kind.is_data
            and isinstance(operation.place, tuple)
        )
