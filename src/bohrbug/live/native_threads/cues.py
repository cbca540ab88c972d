"""What happens at a cue point: just before a real thread does something that others may notice.

Cue points are what rewritten functions tell (accesses to data, or, by the rules of the GIL, the
places where a build with it can switch threads), and calls of synchronisation.  Between windows
nothing is told to anybody.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from random import Random
from types import CodeType

from bohrbug.live.native_threads.delays import Delay, Log, caller, stack_of, thread_name
from bohrbug.live.native_threads.durations import (
    GONE_SECONDS,
    GRACE,
    LONGEST_DELAY,
    SLICE,
)
from bohrbug.live.native_threads.priorities import Priorities
from bohrbug.live.native_threads.traps import (
    Access,
    Part,
    Race,
    Sharing,
    Side,
    Trap,
    merged,
)
from bohrbug.runtime.threads.rewrite.classes import is_ours
from bohrbug.runtime.threads.rewrite.place import Place

MOST_PLACES = 20_000
"""Places that are known; more, and it begins anew."""


@dataclass(slots=True)
class Window:
    """A stretch of time in which threads are delayed.

    Parameters:
        ends: when, in seconds.
        priorities: threads give way by these; without them a trap is set.
        targets: the only places where it is set; none: any that is worth one.
        skipped: how many of these it passes over.
        pause: how long the trap lasts, in seconds.
        sprung: called when it is set.
        over: called when there is nothing left to do; closes it.

    Attributes:
        cues: how many cue points there were.
        trap: while its thread pauses.
    """

    ends: float
    priorities: Priorities | None = None
    targets: Collection[object] = ()
    skipped: int = 0
    pause: float = 0.0
    sprung: Callable[[], object] = lambda: None
    over: Callable[[], object] = lambda: None
    cues: int = 0
    trap: Trap | None = None
    _claimed: _thread.LockType = field(default_factory=_thread.allocate_lock)

    @property
    def is_set(self) -> bool:
        """Whether its trap is, or was, set."""
        return self._claimed.locked()

    def claim(self) -> bool:
        """Whether it is the calling thread that sets the trap: there is one."""
        return self._claimed.acquire(blocking=False)


@dataclass(slots=True)
class Thread:
    """What is known of a thread.

    Attributes:
        seen: when it was last at a cue point, in seconds.
        is_within: it is in code of ours.
        waits: it is being delayed.
        is_blocked: others gave way to it in vain since it was seen.
        sprung: the trap it was in, until it has made its access.
    """

    seen: float = 0.0
    is_within: bool = False
    waits: bool = False
    is_blocked: bool = False
    sprung: Trap | None = None


@dataclass(slots=True)
class Counts:
    """What windows have come to."""

    windows: int = 0
    traps: int = 0
    gave_way: int = 0
    seconds_delayed: float = 0.0
    races: list[Race] = field(default_factory=list)


class Cues:
    """The sink of rewritten code, and what synchronisation tells.

    Parameters:
        now: the time, in seconds.
        sleep: lets the calling thread wait for so many seconds, while others run.
        ident: the number of the calling thread.
        note: called with the last delays whenever there is one more.
    """

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        ident: Callable[[], int] = _thread.get_ident,
        note: Callable[[list[Delay]], object] | None = None,
    ) -> None:
        self._now, self._sleep, self._ident = now, sleep, ident
        self._window: Window | None = None
        self._threads: dict[int, Thread] = {}
        self._sharing = Sharing()
        # Those that are worth a trap, and whose code they are in.
        self._places: dict[object, CodeType] = {}
        self.log = Log(note)
        self.counts = Counts()

    # -- windows ---------------------------------------------------------------------------

    def open(self, window: Window) -> None:
        """Delay threads from now on."""
        self.counts.windows += 1
        self._window = window

    def close(self) -> None:
        """Delay nobody any more; who waits already does so to the end."""
        self._window = None

    def draw_targets(self, draw: Random, most: int) -> dict[object, CodeType]:
        """Places that are worth a trap, each as likely as any other, with their code.

        How often a place is reached does not matter: bugs hide where programs rarely are.

        Parameters:
            draw: where random numbers come from.
            most: how many are drawn; fewer if there are no more.
        """
        places = list(self._places.items())
        return dict(draw.sample(places, min(most, len(places))))

    # -- what is told ----------------------------------------------------------------------

    def attribute(self, owner: object, name: str, is_write: bool, place: Place) -> None:
        """See :class:`~bohrbug.runtime.threads.rewrite.tell.AccessSink`."""
        if self._window is not None:
            self._at(place, place[0], Access(owner, Part.ATTRIBUTE, name, is_write))

    def item(self, owner: object, key: object, is_write: bool, place: Place) -> None:
        """See :class:`~bohrbug.runtime.threads.rewrite.tell.AccessSink`."""
        if self._window is not None:
            self._at(place, place[0], Access(owner, Part.ITEM, key, is_write))

    def whole(self, owner: object, is_write: bool, place: Place) -> None:
        """See :class:`~bohrbug.runtime.threads.rewrite.tell.AccessSink`."""
        # Stand-ins of ours, such as those for the lives of objects, are no objects of the program.
        if self._window is not None and not is_ours(type(owner)):
            self._at(place, place[0], Access(owner, Part.WHOLE, None, is_write))

    def join(self, place: Place) -> bool:  # noqa: ARG002
        """No accesses are one step here: each is a cue point by itself."""
        return False

    def announced(self) -> None:
        """Never called, as there are no such steps."""

    def part(self) -> None:
        """Never called, either."""

    def breaker(self) -> None:
        """A build with the GIL could switch threads here."""
        if self._window is not None:
            self._at_call()

    def synchronise(self) -> None:
        """The thread is about to call something that synchronises."""
        if self._window is not None:
            self._at_call()

    def _at_call(self) -> None:
        frame = caller()
        if frame is not None:
            self._at((id(frame.f_code), frame.f_lasti), frame.f_code, None)

    # -- what is done ----------------------------------------------------------------------

    def _at(self, place: object, code: CodeType, access: Access | None) -> None:
        number = self._ident()
        thread = self._threads.get(number)
        if thread is None:
            thread = self._threads[number] = Thread()
        if thread.is_within:
            # A finalizer or a handler of signals.
            return
        window = self._window
        if window is None:
            return
        thread.is_within = True
        try:
            self._settle(thread)
            thread.seen = now = self._now()
            thread.is_blocked = False
            window.cues += 1
            trap = window.trap
            targets = window.targets
            if targets and trap is None and place not in targets and now < window.ends:
                return
            if trap is not None and access is not None and trap.catch(number, access):
                trap.caught(Side(thread_name(number), access.verb, stack_of(caller())))
            is_shared = access is None or self._sharing.note(number, access)
            if now >= window.ends:
                if window.trap is None:
                    window.over()
                return
            if window.priorities is not None:
                self._give_way(window, window.priorities, number, thread)
            elif (
                is_shared
                and not window.is_set
                and self._is_wanted(window, place, code)
                and window.claim()
            ):
                self._set_trap(window, number, thread, access)
        finally:
            thread.is_within = False

    def _settle(self, thread: Thread) -> None:
        """A thread that was in a trap has made its access by now."""
        trap, thread.sprung = thread.sprung, None
        race = None if trap is None else trap.made()
        if race is not None:
            self.counts.races = merged(self.counts.races, race)

    def settle_all(self) -> None:
        """The run is over: what was caught counts, whether or not its thread was seen since."""
        for thread in list(self._threads.values()):
            self._settle(thread)

    def _is_wanted(self, window: Window, place: object, code: CodeType) -> bool:
        """Whether the trap of a window is to be set at a place that is worth one."""
        if window.targets:
            return place in window.targets
        if place not in self._places:
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            self._places[place] = code
        window.skipped -= 1
        return window.skipped < 0

    def _set_trap(self, window: Window, number: int, thread: Thread, access: Access | None) -> None:
        self.counts.traps += 1
        window.sprung()
        name, stack = thread_name(number), stack_of(caller())
        why = "paused"
        if access is not None:
            thread.sprung = window.trap = Trap(number, access, Side(name, access.verb, stack))
            why = f"paused, about to {access.verb} {access.name}"
        delay = Delay(name, why, stack[0], self._now())
        try:
            self._wait(thread, delay, window.pause)
        finally:
            window.trap = None
            if thread.sprung is not None:
                thread.sprung.end()
            window.over()

    def _give_way(
        self, window: Window, priorities: Priorities, number: int, thread: Thread
    ) -> None:
        priorities.reach(number)
        if not priorities.gives_way(number, self._running(number)):
            return
        self.counts.gave_way += 1
        delay = Delay(
            thread_name(number), "gave way by priority", stack_of(caller(), 1)[0], self._now()
        )
        until = min(delay.began + LONGEST_DELAY, window.ends)
        now = delay.began
        try:
            thread.waits = True
            self.log.add(delay)
            while now < until and priorities.gives_way(number, self._running(number)):
                self._sleep(SLICE)
                now = self._now()
                self._find_blocked(number, max(delay.began, now - GRACE))
        finally:
            self._end(thread, delay)

    def _find_blocked(self, number: int, since: float) -> None:
        """Threads that were not seen although they could have run."""
        if self._now() - since >= GRACE:
            for other, thread in tuple(self._threads.items()):
                if other != number and not thread.waits and thread.seen < since:
                    thread.is_blocked = True

    def _wait(self, thread: Thread, delay: Delay, seconds: float) -> None:
        try:
            thread.waits = True
            self.log.add(delay)
            self._sleep(seconds)
        finally:
            self._end(thread, delay)

    def _end(self, thread: Thread, delay: Delay) -> None:
        thread.waits = False
        thread.seen = delay.ended = self._now()
        self.counts.seconds_delayed += delay.ended - delay.began

    def _running(self, number: int) -> list[int]:
        """The other threads that seem to run."""
        since = self._now() - GONE_SECONDS
        return [
            other
            for other, thread in tuple(self._threads.items())
            if other != number and not (thread.waits or thread.is_blocked) and thread.seen >= since
        ]
