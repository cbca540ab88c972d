"""Deadlocks of a native program: threads that wait for each other, or all of them for nobody.

What each waits for it has noted itself; who has a mutex is read in the memory of the program,
where the C library keeps it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bohrbug.live.native_threads.delays import site_in_words
from bohrbug.live.native_threads.harm import Harm
from bohrbug.live.native_threads.posix.reading import Reading
from bohrbug.live.native_threads.standstill import LOOK_EVERY
from bohrbug.report.wording import plural
from bohrbug.runtime.posix import delays_layout as layout
from bohrbug.runtime.posix.delayed import DelayedProgram

_OF_THE_C_LIBRARY = (1 << 31) | (1 << 32)
"""The signals 32 and 33, for which it has handlers of its own."""

_SHARED_MUTEX, _SHARED_CONDITION = 128, 1
_SEMAPHORE_SHARED_AT, _BARRIER_SHARED_AT = 8, 12

_WHAT = {
    layout.MUTEX: "a mutex",
    layout.READ_LOCK: "a reader-writer lock, to read,",
    layout.WRITE_LOCK: "a reader-writer lock, to write,",
    layout.CONDITION: "a condition variable",
    layout.SEMAPHORE: "a semaphore",
    layout.BARRIER: "a barrier",
    layout.JOIN: "the end of",
    layout.SPIN_LOCK: "a spin lock",
}
_MAY_BE_WOKEN = (layout.CONDITION, layout.SEMAPHORE, layout.BARRIER)
"""What a handler of signals might do something about."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A thread that waits without a timeout.

    Parameters:
        tid: its number in the kernel.
        number: among the threads of the program.
        routine: the address of the function that it runs, or 0.
        itself: what ``pthread_self`` gives it.
        kind: what it waits for.
        count: of its waits; another one has another number.
        object: the address of what it waits for; of a thread what ``pthread_self`` gives that.
        place: the return address of its call.
        switches: how often the kernel has woken it.
    """

    tid: int
    number: int
    routine: int
    itself: int
    kind: int
    count: int
    object: int
    place: int
    switches: int


class NativeStandstill:
    """Looks for deadlocks, now and then.

    Parameters:
        seconds: for how long no thread may have moved; 0: it never looks.
        program: the program.
        reading: names what is found.
    """

    def __init__(self, seconds: float, program: DelayedProgram, reading: Reading) -> None:
        self._seconds, self._program, self._reading = seconds, program, reading
        self._next = 0.0
        self._since: dict[Waiting, float] = {}

    def look(self, now: float) -> Harm | None:
        """Look, if it is time to; the deadlock, if there is one.

        Parameters:
            now: in seconds.
        """
        if not self._seconds or now < self._next:
            return None
        self._next = now + LOOK_EVERY
        self._since = {each: self._since.get(each, now) for each in self._waiting()}
        still = {
            each.tid: each for each, since in self._since.items() if now - since >= self._seconds
        }
        if not still:
            return None
        cycle = cycle_among({tid: self._awaited(each, still) for tid, each in still.items()})
        if cycle:
            return self._harm([still[tid] for tid in cycle], is_cycle=True)
        if set(still) >= self._tasks() and all(map(self._waits_for_nobody, still.values())):
            return self._harm(sorted(still.values(), key=lambda each: each.number), is_cycle=False)
        return None

    # -- who waits -------------------------------------------------------------------------

    def _waiting(self) -> list[Waiting]:
        record = self._program.record
        found = []
        for slot in record.slots[: record.slots_used]:
            if slot.state != layout.IN_USE or slot.wait in (layout.NO_WAIT, layout.TIMED):
                continue
            switches = self._switches(slot.tid)
            if switches is not None:
                found.append(
                    Waiting(
                        *(slot.tid, slot.number, slot.routine, slot.self),
                        *(slot.wait, slot.waits, slot.wait_object, slot.wait_place, switches),
                    )
                )
        return found

    def _switches(self, tid: int) -> int | None:
        """How often a thread went to sleep; ``None`` if it is no more."""
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{self._program.pid}/task/{tid}/status").read_text("utf-8")
            match = re.search(r"^voluntary_ctxt_switches:\t(\d+)$", status, re.MULTILINE)
            return int(match[1]) if match else None
        return None

    def _tasks(self) -> set[int]:
        """All threads that have not ended."""
        found = set()
        with contextlib.suppress(OSError):
            for folder in Path(f"/proc/{self._program.pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    # A main thread that has ended before the others is there as a zombie.
                    state = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()[0]
                    if state not in "ZX":
                        found.add(int(folder.name))
        return found

    # -- for whom --------------------------------------------------------------------------

    def _word(self, address: int) -> int | None:
        found = self._program.memory(address, 4)
        return None if found is None else int.from_bytes(found, "little", signed=True)

    def _awaited(self, waiting: Waiting, still: Mapping[int, Waiting]) -> int | None:
        """The thread that has what another one waits for, as far as that is on record."""
        record = self._program.record
        match waiting.kind:
            case layout.MUTEX:
                return self._word(waiting.object + record.owner_at)
            case layout.READ_LOCK | layout.WRITE_LOCK:
                return self._word(waiting.object + record.writer_at)
            case layout.JOIN:
                awaited = (each.tid for each in still.values() if each.itself == waiting.object)
                return next(awaited, None)
        return None

    def _waits_for_nobody(self, waiting: Waiting) -> bool:
        """Whether nobody outside could wake it."""
        record = self._program.record
        at = {
            layout.MUTEX: (record.mutex_kind_at, _SHARED_MUTEX),
            layout.READ_LOCK: (record.rwlock_shared_at, -1),
            layout.WRITE_LOCK: (record.rwlock_shared_at, -1),
            layout.CONDITION: (record.condition_shared_at, _SHARED_CONDITION),
            layout.SEMAPHORE: (_SEMAPHORE_SHARED_AT, -1),
            layout.BARRIER: (_BARRIER_SHARED_AT, -1),
        }.get(waiting.kind)
        if waiting.kind in _MAY_BE_WOKEN and self._has_handlers():
            return False
        if at is None:
            # A spin lock does not say whether it is shared.
            return waiting.kind == layout.JOIN
        offset, bits = at
        word = self._word(waiting.object + offset)
        return word is not None and not word & bits

    def _has_handlers(self) -> bool:
        """Whether the program handles any signal; one may do what somebody waits for."""
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{self._program.pid}/status").read_text("utf-8")
            match = re.search(r"^SigCgt:\t([0-9a-f]+)$", status, re.MULTILINE)
            return not match or bool(int(match[1], 16) & ~_OF_THE_C_LIBRARY)
        return True

    # -- in words --------------------------------------------------------------------------

    def _harm(self, threads: list[Waiting], is_cycle: bool) -> Harm:
        self._program.look_at_modules()
        still = {each.tid: each for each in threads}
        lines = [self._line(each, still) for each in threads]
        moved = f"nothing moved for {self._seconds:g} s"
        if is_cycle and len(threads) == 1:
            return Harm(f"deadlock: a thread waits for itself, and {moved}", lines)
        if is_cycle:
            count = plural(len(threads), "thread")
            return Harm(f"deadlock: {count} wait for each other, and {moved}", lines)
        who = f"all {len(threads)} threads wait" if len(threads) > 1 else "the only thread waits"
        return Harm(f"deadlock: {who}, nobody is left to wake one, and {moved}", lines)

    def _line(self, waiting: Waiting, still: Mapping[int, Waiting]) -> str:
        reading = self._reading
        what = _WHAT[waiting.kind]
        awaited = still.get(self._awaited(waiting, still) or 0)
        other = "" if awaited is None else reading.thread(awaited.number, awaited.routine)
        if awaited is waiting:
            other = "itself" if waiting.kind == layout.JOIN else "it"
        if waiting.kind == layout.JOIN:
            what = f"{what} {other or 'another thread'}"
        else:
            name = self._program.variable(waiting.object)
            what += f" ({name})" if name else ""
            if other:
                what += f" that {other} has" if other != "it" else " that it has itself"
        site = reading.stack([waiting.place])[0]
        who = reading.thread(waiting.number, waiting.routine)
        return f"{who} waits for {what}, at {site_in_words(site)}"


def cycle_among(awaited: Mapping[Any, Any]) -> list[Any]:
    """Threads that wait for each other in a circle; none if there is no such circle.

    Parameters:
        awaited: whom each waits for.
    """
    for start in awaited:
        path: list[Any] = []
        each: Any = start
        while each in awaited and each not in path:
            path.append(each)
            each = awaited[each]
        if each in path:
            return path[path.index(each) :]
    return []
