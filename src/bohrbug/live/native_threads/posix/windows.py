"""Windows in which threads of a native program are delayed, opened and closed in its record."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from random import Random
from typing import Any

from bohrbug.live.budget import Budget
from bohrbug.live.native_threads import durations
from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.runtime.posix import delays_layout as layout

_NANOSECONDS = 1_000_000_000

CUE_SECONDS = 5e-8
"""What a cue point costs that an ambush passes over, roughly."""

SETTLING = 0.005
"""Seconds for which a thread that was caught in a trap may take to make its access."""

_BUSY = (layout.SETTING, layout.SET, layout.CATCHING, layout.CAUGHT)
"""Phases of a trap in which a thread is in it."""

_CAUGHT = (layout.CAUGHT, layout.SPRUNG, layout.SETTLED)


class NativeWindows:
    """Opens and closes windows, whenever it is asked to look.

    Parameters:
        record: what the program shares.
        options: of the run.
        caught: called when a trap has caught somebody, as long as the record has it.
        now: the time in seconds.
    """

    def __init__(
        self,
        record: Any,
        options: NativeThreadsOptions,
        caught: Callable[[], object],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._record, self._caught, self._now = record, caught, now
        self._draw = Random(options.seed)
        began = now()
        self.budget = Budget(options.budget, began)
        self._until = math.inf if options.seconds is None else began + options.seconds
        self._number = 0
        self._began = 0.0
        self._passed = 0
        self._length = durations.FIRST_GUESS
        self.is_under_way = False
        for name, seconds in (
            ("longest", durations.LONGEST_DELAY),
            ("slice", durations.SLICE),
            ("grace", durations.GRACE),
            ("gone", durations.GONE_SECONDS),
        ):
            setattr(record, name, _nanoseconds(seconds))

    @property
    def count(self) -> int:
        """How many were opened."""
        return self._number

    def look(self) -> float:
        """Open or close one, if it is time to; in how many seconds to look again."""
        now = self._now()
        if self.is_under_way:
            self._close_if_over(now)
        elif self.budget.next_at <= now < self._until and self._record.alive > 1:
            self._open(now)
        if self.is_under_way:
            return durations.LOOK_EVERY
        return max(self.budget.next_at - self._now(), durations.LOOK_EVERY)

    def finish(self) -> None:
        """The program has ended: what it was in the middle of counts."""
        if self.is_under_way:
            self._over(self._now())

    def share(self) -> float:
        """The percentage of the time that windows took."""
        return self.budget.share(self._now())

    def _open(self, now: float) -> None:
        record, draw = self._record, self._draw
        self._number += 1
        self._began = now
        record.seed = draw.getrandbits(64)
        record.ended = record.cues = record.changes_count = record.targets_count = 0
        record.trap.state = self._number * layout.PHASES + layout.UNSET
        record.trap.known[:] = (0, 0, 0)
        # Short ones cost less, and long ones catch more.
        shortest, longest = durations.PAUSE
        record.pause = _nanoseconds(shortest * (longest / shortest) ** draw.random())
        length = durations.LENGTH
        kind = draw.random()
        if kind < 0.4:
            record.kind = layout.BY_PRIORITIES
            self._draw_changes()
        elif kind < 0.7 and self._draw_targets():
            record.kind = layout.AMBUSH
            length = durations.LONGEST_AMBUSH
        else:
            record.kind = layout.WITH_TRAP
            record.skipped = int(2 ** draw.uniform(0, 7)) - 1
        record.ends = _nanoseconds(now + length)
        self._passed = self._passed_by_all()
        self.is_under_way = True
        record.open = self._number

    def _draw_changes(self) -> None:
        changes = self._draw.randint(0, layout.MOST_CHANGES)
        places = range(1, max(self._length, changes) + 1)
        # The first change is to the highest of the low priorities, the last to the lowest.
        for index, place in enumerate(sorted(self._draw.sample(places, changes))):
            self._record.changes[index] = place
        self._record.changes_count = changes

    def _draw_targets(self) -> bool:
        """Places that are worth a trap, each as likely as any other."""
        if not self._record.places_count:
            return False
        # By address, as which of them came first is nothing that a seed decides.
        places = sorted(place for place in self._record.places if place)
        count = min(durations.MOST_TARGETS, len(places))
        for index, place in enumerate(self._draw.sample(places, count)):
            self._record.targets[index] = place
        self._record.targets_count = count
        return count > 0

    def _passed_by_all(self) -> int:
        return sum(slot.passed for slot in self._record.slots[: self._record.slots_used])

    def _phase(self) -> int:
        number, phase = divmod(self._record.trap.state, layout.PHASES)
        return phase if number == self._number else layout.UNSET

    def _close_if_over(self, now: float) -> None:
        record = self._record
        if record.open:
            ends = record.ends / _NANOSECONDS
            if now < ends or self._phase() in _BUSY:
                return
            if self._phase() == layout.SPRUNG and now < ends + SETTLING:
                return
            record.open = 0
        # A thread may have come into the trap just now, and needs the record until it is out.
        if self._phase() not in _BUSY:
            self._over(now)

    def _over(self, now: float) -> None:
        record = self._record
        record.open = 0
        self.is_under_way = False
        ended = record.ended / _NANOSECONDS or now
        began = self._began
        phase = self._phase()
        if record.kind == layout.AMBUSH:
            # Until the trap was set nobody was delayed.
            began = ended - CUE_SECONDS * max(self._passed_by_all() - self._passed, 0)
            if phase != layout.UNSET:
                began -= ended - record.trap.sprung_at / _NANOSECONDS
            began = max(began, self._began)
        elif record.kind == layout.BY_PRIORITIES and record.cues:
            self._length = record.cues
        if phase in _CAUGHT:
            self._caught()
        self.budget.spend(began, ended)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * _NANOSECONDS)
