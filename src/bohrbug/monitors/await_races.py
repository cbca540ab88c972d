"""Races over an await: a task writes what it has from a read before it, and undoes a write.

Tasks of one event loop run one at a time, so that they have no data races.  But what a task has
read may be old once it has awaited.  If another task has written the variable in between, and the
write that follows rests on the old value, the two did not happen one after the other: an
*atomicity violation* (Lu, Tucek, Qin and Zhou, *AVIO*, ASPLOS 2006, where such an unserialisable
interleaving is a read, a write by another, a write).

Only what has happened in an execution is told.  A lock that both hold leaves no room for the
write in between, whatever kind of lock it is, so that locks need not be known here.  Left out is
what must come in this order in every execution: a write that the task has itself asked for since
the read, and has waited for.  So is, behind a test, the write of who has woken the task up since:
it waited for the answer to become another one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bohrbug.model.operation import READ, WRITE, Operation, TaskId
from bohrbug.model.outcome import Access, Frame, Race, RacePattern, StaleRead
from bohrbug.model.site import site_of
from bohrbug.monitors.access_source import access_source
from bohrbug.monitors.await_source import is_loop_test, rests_on
from bohrbug.monitors.race_classes import writes_the_same
from bohrbug.runtime.threads.loops.access_log import AccessLog, LoopStep, Touch
from bohrbug.runtime.threads.stacks import is_own, site_in

RestsOn = Callable[[Touch, Touch], RacePattern | None]
"""Whether a write rests on an earlier read of the same task, and how."""

IsHarmless = Callable[[Touch, Touch, Touch], bool]
"""Whether a read, a write in between and the write that rests on the read do no harm."""

MOST_READS = 40
"""Reads before a write that are looked at, the latest ones."""

MOST_WRITES = 200
"""Writes of one variable that are looked at, the earliest ones."""


@dataclass(frozen=True, slots=True)
class StaleWrite:
    """A race over an await.

    Parameters:
        read: what the write rests on.
        between: a write by another task after it.
        write: that of the task that has read.
        pattern: how it rests on the read.
        awaited: the step of the task by which it went on after the read.
    """

    read: Touch
    between: Touch
    write: Touch
    pattern: RacePattern
    awaited: LoopStep


def does_no_harm(read: Touch, other: Touch, write: Touch) -> bool:
    """Whether both write the same constant to end a loop, as those do that ask it to stop."""
    first, second = access_source(other.place, True), access_source(write.place, True)
    return (
        first is not None
        and second is not None
        and writes_the_same(first, second)
        and is_loop_test(write, read)
    )


def stale_writes(
    touches: Sequence[Touch],
    rests: RestsOn = rests_on,
    is_harmless: IsHarmless = does_no_harm,
) -> list[StaleWrite]:
    """The races over an await in what the tasks of event loops have accessed.

    Parameters:
        touches: in the order in which they were made.
        rests: tells whether a write rests on a read.
        is_harmless: whether read, write in between, and write are harmless all the same.

    Returns:
        One for each three places, with the first time it was seen.
    """
    found: dict[tuple[int, int, int], StaleWrite] = {}
    groups = _written_by_several(touches)
    if not groups:
        return []
    ends = {touch.step.task: touch.step.number for touch in touches}
    for of_owner in groups:
        seen: dict[TaskId, list[Touch]] = defaultdict(list)
        writes: list[Touch] = []
        for touch in of_owner:
            own = seen[touch.step.task]
            if touch.is_write and len(writes) < MOST_WRITES:
                race = _look(touch, own, writes, ends, rests, is_harmless)
                if race is not None:
                    places = id(race.read.place), id(race.between.place), id(touch.place)
                    found.setdefault(places, race)
            own.append(touch)
            if touch.is_write:
                writes.append(touch)
    return list(found.values())


def _written_by_several(touches: Sequence[Touch]) -> list[list[Touch]]:
    """What was accessed of each object that several tasks have written; variables may overlap.

    Of thousands of objects these are few.
    """
    writers: dict[int, TaskId] = {}
    several: set[int] = set()
    for touch in touches:
        if touch.is_write:
            owner, task = id(touch.variable.owner), touch.step.task
            if writers.setdefault(owner, task) != task:
                several.add(owner)
    groups: dict[int, list[Touch]] = defaultdict(list)
    if several:
        for touch in touches:
            if id(touch.variable.owner) in several:
                groups[id(touch.variable.owner)].append(touch)
    return [*groups.values()]


def _overlap(one: Touch, other: Touch) -> bool:
    """Whether two accesses to one object are to the same variable, or one is to the whole."""
    a, b = one.variable, other.variable
    if a is b:
        return True
    return (a.key is None and b.is_item) or (b.key is None and a.is_item)


def _look(
    write: Touch,
    own: list[Touch],
    writes: list[Touch],
    ends: dict[TaskId, int],
    rests: RestsOn,
    is_harmless: IsHarmless,
) -> StaleWrite | None:
    """A race that a write completes.

    Parameters:
        write: the write.
        own: what its task has accessed before, of the same object.
        writes: what all tasks have written before, of it.
        ends: the last step of each task.
        rests, is_harmless: see :func:`stale_writes`.
    """
    step = write.step
    reads = [each for each in own[-MOST_READS:] if not each.is_write and _overlap(each, write)]
    if not reads:
        return None
    # Comparing steps is cheap, and leaves few of many writes.
    earliest = reads[0].step.number
    others = [
        each
        for each in writes
        if each.step.number > earliest
        and each.step.task != step.task
        and each.step.host == step.host
        and _overlap(each, write)
    ]
    if not others:
        return None
    decided: set[RacePattern] = set()
    for read in reversed(reads):
        pattern = rests(write, read)
        # A later read of the kind has taken its place.
        if pattern is None or pattern in decided:
            continue
        decided.add(pattern)
        if read.step is step:
            if pattern is RacePattern.LOST_UPDATE:
                continue
            # It was tested again.
            break
        if pattern is RacePattern.CHECK_THEN_ACT and _has_acted(own, read, write):
            break
        for other in reversed(others):
            if other.step.number <= read.step.number:
                break
            if _overlap(other, read) and not (
                _is_part(read.step, other.step, step, ends)
                or (pattern is RacePattern.CHECK_THEN_ACT and step.is_after(other.step))
                or is_harmless(read, other, write)
            ):
                return StaleWrite(read, other, write, pattern, _awaited(own, read, write))
    return None


def _has_acted(own: list[Touch], read: Touch, write: Touch) -> bool:
    """Whether the task has written between a test and a write: then that was the act."""
    after = own[own.index(read) + 1 :]
    return any(each.is_write and _overlap(each, write) for each in after)


def _is_part(read: LoopStep, other: LoopStep, write: LoopStep, ends: dict[TaskId, int]) -> bool:
    """Whether another task's step in between belongs to what the task does: it must be there."""
    if not other.is_after(read):
        return False
    return write.is_after(other) or ends[other.task] < write.number


def _awaited(own: list[Touch], read: Touch, write: Touch) -> LoopStep:
    after = own[own.index(read) + 1 :]
    return next((each.step for each in after if each.step is not read.step), write.step)


# -- for people ----------------------------------------------------------------------------


def races_over_awaits(log: AccessLog) -> list[Race]:
    """The races over an await of one execution, for reports.

    Parameters:
        log: what the tasks of its event loops have accessed.
    """
    return [_race(each) for each in stale_writes(log.touches)]


def _race(found: StaleWrite) -> Race:
    variable = found.write.variable
    awaited = found.awaited.awaited
    stale = StaleRead(
        _access(found.read),
        None if awaited is None else site_of(awaited),
        found.read.step.name,
        found.between.step.name,
    )
    return Race(
        variable.resource_id,
        variable.label,
        _access(found.between),
        _access(found.write),
        pattern=found.pattern,
        stale=stale,
    )


def _access(touch: Touch) -> Access:
    operation = Operation(
        WRITE if touch.is_write else READ, touch.variable.resource_id, touch.place
    )
    stack = [
        Frame(site_in(code, offset))
        for _, code, offset in touch.around[:-1]
        if not is_own(code.co_filename)
    ]
    innermost = site_of(touch.place)
    assert innermost is not None
    return Access(touch.step.task, operation, (*stack, Frame(innermost)), step=touch.at)
