"""Which of the callbacks that an event loop may run next have to be tried, one before the other.

Tasks that share nothing run in any order, and it makes no difference.  So where the callbacks that
may come next fall into groups that have nothing within reach in common, now or by all that follows
from them, only those of one group are a choice: what the others do can neither get in their way
nor change which of them there are (a *persistent set*: Godefroid, *Partial-order methods for the
verification of concurrent systems*, 1996).  The other groups have their turn after it.

A group may be chosen only if all of it that could come next can come at once: what stands behind a
callback of another group could else come first after that one.  Nor may it end a turn of the loop
in which others could still come.

Whoever waits for several tasks together, by ``gather`` or a ``TaskGroup``, has them all within
reach, but goes on only after the last of them.  That is so unless one of them fails, and functions
and classes are taken to stay what they are: if either turns out otherwise, the search has to begin
again without leaving anything out.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping
from contextvars import Context
from math import inf
from types import FunctionType
from typing import TYPE_CHECKING, Any

from bohrbug.runtime.threads.loops.as_asyncio import handles_signals, watches
from bohrbug.runtime.threads.loops.joins import Join
from bohrbug.runtime.threads.loops.reach import FIXED, PLAIN, OutOfBounds, Reach
from bohrbug.runtime.threads.loops.ready_queue import ReadyQueue
from bohrbug.runtime.threads.loops.references import OwnReference
from bohrbug.runtime.threads.loops.tasks import LoopEntry, loop_tasks_of
from bohrbug.runtime.threads.rewrite.classes import namespace_of

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

MOST_GROUPED = 64
"""Callbacks and timers that are told apart; where there are more, all of them are tried."""

MOST_IN_VAIN = 16
"""Looks in a row that have told nothing apart, after which an execution is not looked at again."""

MOST_USELESS = 200
"""Looks after which no execution of a test is looked at again, if none has told anything apart."""

_TOGETHER = "steps of an event loop that nothing is left out of"
"""What executions know of a test once something turned out not to be as it was taken to be."""


class Apart:
    """Tells apart what one event loop may run next, in one execution.

    Parameters:
        execution: the execution.
        loop: an event loop of asyncio.

    Attributes:
        names: attributes that the loop had as it was looked for the first time; none before, as
            long as nothing is taken for granted.
    """

    __slots__ = ("_constants", "_execution", "_in_vain", "_joins", "_loop", "_running", "names")

    def __init__(self, execution: Execution, loop: Any) -> None:
        self._execution = execution
        self._loop = loop
        self.names: frozenset[str] = frozenset()
        self._in_vain = 0
        # What was taken for granted: joins by their targets, functions and classes.
        self._joins: dict[int, _TakenJoin] = {}
        self._constants: dict[int, _TakenConstant] = {}
        # What the step that runs could get to before it began; ``None``: that is not known.
        self._running: Reach | None = None

    def needed(
        self, found: list[LoopEntry], queue: ReadyQueue[LoopEntry], early: Any
    ) -> tuple[list[LoopEntry], bool]:
        """Which of the entries that may come next have to be tried.

        Parameters:
            found: these entries.
            queue: in which they stand.
            early: the next timer, if it could be over early, before any of them.

        Returns:
            Those entries, and whether the timer has to be tried, too.
        """
        if len(found) + (early is not None) < 2 or not self._applies():
            return found, True
        if not self.names:
            self.names = frozenset(vars(self._loop))
        entries = [entry for entry in queue if not entry.cancelled]
        timers = [timer for timer in self._loop._scheduled if not timer._cancelled]
        if len(entries) + len(timers) > MOST_GROUPED:
            return found, True
        try:
            groups = _Groups(self, entries, timers)
            chosen = groups.chosen(found, queue, early)
        except OutOfBounds:
            chosen = None
        looks = self._execution.looks_apart
        looks.made += 1
        if chosen is None:
            self._in_vain += 1
            return found, True
        looks.was_useful = True
        wanted = self._execution.wanted
        if wanted is not None and all(each.task.id != wanted for each in chosen[0]):
            # It may be of a plan that was made without leaving anything out.
            origin_of = loop_tasks_of(self._execution).origin_of
            if not chosen[1] or origin_of(early).task.id != wanted:
                return found, True
        self._in_vain = 0
        loop_tasks_of(self._execution).have_choices = True
        return chosen

    def about_to_run(self, handle: Any, queue: ReadyQueue[LoopEntry]) -> None:
        """Look what a step can get to that may set a timer: while it runs, nobody can tell.

        Parameters:
            handle: of the step.
            queue: what else the loop has to run.
        """
        self._running = None
        if len(queue) + len(self._loop._scheduled) >= MOST_GROUPED or not self._applies():
            return
        if not self.names:
            self.names = frozenset(vars(self._loop))
        try:
            self._running = self.new_reach([handle], {})
        except OutOfBounds:
            self._in_vain += 1

    def in_the_way(self, candidates: list[Any], queue: ReadyQueue[LoopEntry]) -> list[Any]:
        """Which timers have to be tried before the one that the running step is about to set.

        Parameters:
            candidates: timers that may overtake it.
            queue: what else the loop has to run.
        """
        running, self._running = self._running, None
        if running is None:
            return candidates
        timers = [timer for timer in self._loop._scheduled if not timer._cancelled]
        looks = self._execution.looks_apart
        looks.made += 1
        try:
            group = _Groups(
                self, [each for each in queue if not each.cancelled], timers, running
            ).of_running()
        except OutOfBounds:
            group = None
        # By their identities: the program decides whether they are equal, by what they are given.
        of_group = {id(timer) for timer in (timers if group is None else group)}
        needed = [timer for timer in candidates if id(timer) in of_group]
        if len(needed) == len(candidates):
            self._in_vain += 1
            return candidates
        looks.was_useful = True
        wanted, origin_of = self._execution.wanted, loop_tasks_of(self._execution).origin_of
        if any(
            id(each) not in of_group and origin_of(each).task.id == wanted for each in candidates
        ):
            # It is of a plan that was made without leaving anything out.
            return candidates
        self._in_vain = 0
        return needed

    def end(self) -> None:
        """The loop stops: nothing more is told apart in this run of it."""
        self.check()
        self.names = frozenset()
        self._joins.clear()
        self._constants.clear()

    def new_reach(self, roots: Iterable[Any], known_joins: dict[int, Join]) -> Reach:
        """What can be got to from some objects.

        Parameters:
            roots: these objects.
            known_joins: see :func:`.joined_by`.

        Raises:
            OutOfBounds: that may be anything.
        """
        reach = Reach(self._loop, self._execution.original, known_joins)
        reach.add(roots)
        return reach

    @property
    def may_fire_early(self) -> bool:
        """Whether timers may be over before their time."""
        return self._execution.may_fire_early()

    def take(self, reaches: Iterable[Reach]) -> None:
        """Take for granted what was left out of account."""
        for reach in reaches:
            for join in reach.joins:
                if not join.is_tolerant and id(join.target) not in self._joins:
                    self._joins[id(join.target)] = _TakenJoin(join)
            for identity, constant in reach.constants.items():
                if identity not in self._constants:
                    self._constants[identity] = _TakenConstant(constant)

    def _applies(self) -> bool:
        """Whether nothing but what the loop has could get in the way of what it runs."""
        execution, loop = self._execution, self._loop
        looks = execution.looks_apart
        return (
            self._in_vain < MOST_IN_VAIN
            and (looks.was_useful or looks.made < MOST_USELESS)
            and _TOGETHER not in execution.namespaces
            and len(execution.alive) == 1
            and not execution.settings.cancel
            and not execution.outside.has_children
            and not execution.settings.gc
            and not execution.checks.has_invariant
            and not handles_signals(loop)
            and loop._task_factory is None
            and loop._exception_handler is None
            and not loop._debug
            and not loop._asyncgens
            and not watches(loop)
        )

    def check(self) -> None:
        """Between two steps: whether what was taken for granted is still so."""
        if not self.names:
            # Nothing was, up to now.
            return
        # Whatever the program adds to the loop is everybody's.
        if not self.names.issuperset(vars(self._loop)) or any(
            not taken.is_kept() for taken in self._constants.values()
        ):
            self._break()
        for identity, taken in [*self._joins.items()]:
            if taken.has_failed():
                self._break()
            if taken.is_over():
                del self._joins[identity]

    def _break(self) -> None:
        """What was taken for granted is not so."""
        self._execution.namespaces.add(_TOGETHER)


class _TakenJoin:
    """A join of which none is taken to fail, without keeping anything of it alive."""

    __slots__ = ("_children",)

    def __init__(self, join: Join) -> None:
        self._children = [OwnReference(child) for child in join.children]

    def has_failed(self) -> bool:
        """Whether one of them has."""
        return any(
            child.done() and (child.cancelled() or child._exception is not None)
            for reference in self._children
            if (child := reference()) is not None
        )

    def is_over(self) -> bool:
        """Whether all have ended."""
        return all(
            child.done() for reference in self._children if (child := reference()) is not None
        )


class _TakenConstant:
    """A function or a class that is taken to stay as it is.

    What it has is compared by its identity, so nothing else may come to be where that was.
    """

    __slots__ = ("_functions", "_kept", "_lost", "_reference", "_state")

    def __init__(self, constant: Any) -> None:
        self._reference = OwnReference(constant)
        self._state = _state_of(constant)
        values = _namespace_of(constant).values()
        # Whatever else it has is within reach of all that get to it.
        self._kept = [value for value in values if _is_plain(value)]
        self._lost: list[Any] = []
        self._functions = [
            OwnReference(function, self._lost.append)
            for function in map(_function_of, values)
            if function is not None
        ]

    def is_kept(self) -> bool:
        """Whether it has."""
        constant = self._reference()
        return constant is None or (not self._lost and _state_of(constant) == self._state)


def _namespace_of(constant: Any) -> Mapping[str, Any]:
    names: Mapping[str, Any] = (
        constant.__dict__ if type(constant) is FunctionType else namespace_of(constant)
    )
    return names


def _state_of(constant: Any) -> object:
    names = _namespace_of(constant)
    return {name: id(value) for name, value in names.items() if name not in _MADE_LATER}


def _is_plain(value: Any) -> bool:
    """Whether it makes no difference to any program that a value stays alive."""
    if type(value) in FIXED:
        return all(map(_is_plain, gc.get_referents(value)))
    return type(value) in PLAIN and type(value) is not Context


def _function_of(value: Any) -> FunctionType | None:
    """The function that a class or a function has by a name, be it by a descriptor."""
    kind = type(value)
    if kind is staticmethod or kind is classmethod:
        value = value.__func__
    elif kind is property:
        value = value.fget
    return value if type(value) is FunctionType else None


_MADE_LATER = frozenset({"__annotations__", "__annotations_cache__", "__abstractmethods__"})


class _Groups:
    """What a loop has to run, in groups with something within reach in common.

    Parameters:
        apart: asks.
        entries: of the loop's queue.
        timers: that are not over.
        running: what the step that runs could get to, if there is one.
    """

    def __init__(
        self,
        apart: Apart,
        entries: list[LoopEntry],
        timers: list[Any],
        running: Reach | None = None,
    ) -> None:
        self._apart = apart
        self._entries = entries
        self._timers = timers
        handles = [entry.handle for entry in entries] + timers
        self._known_joins: dict[int, Join] = {}
        self._reaches = [apart.new_reach([handle], self._known_joins) for handle in handles]
        if running is not None:
            self._reaches.append(running)
        self._behind: dict[int, Reach] = {}

    def chosen(
        self, found: list[LoopEntry], queue: ReadyQueue[LoopEntry], early: Any
    ) -> tuple[list[LoopEntry], bool] | None:
        """Of the first group that is free to go on: what may come next of it.

        Parameters:
            found: what may come next of all groups.
            queue: in which the entries stand.
            early: the next timer, if it could be over early.
        """
        tried: set[int] = set()
        numbers = {id(entry): number for number, entry in enumerate(self._entries)}
        for entry in found:
            number = numbers[id(entry)]
            if number in tried:
                continue
            group = self._group_of(number)
            if group is None:
                return None
            members, reaches = group
            tried |= members
            own = [each for each in self._entries if numbers[id(each)] in members]
            first = [each for each in found if numbers[id(each)] in members]
            has_early = any(self._timer(each) is early for each in members) and early is not None
            if len(first) + has_early == len(found) + (early is not None):
                continue
            others = [each for each in self._entries if numbers[id(each)] not in members]
            if (
                all(each in first for each in queue.next_ones_among(own))
                and all(queue.leaves_open(each, others) for each in first)
                and self._may_be_first(members, has_early)
                and self._stays_apart(members, reaches)
            ):
                return first, has_early
        return None

    def of_running(self) -> list[Any] | None:
        """The timers of the group of the step that runs; ``None``: it does not stay apart."""
        group = self._group_of(len(self._reaches) - 1)
        if group is None or not self._stays_apart(*group):
            return None
        return [timer for number in group[0] if (timer := self._timer(number)) is not None]

    def _timer(self, number: int) -> Any:
        index = number - len(self._entries)
        return self._timers[index] if 0 <= index < len(self._timers) else None

    def _behind_join(self, join: Join) -> Reach:
        """What is within reach of who waits for several tasks together."""
        found = self._behind.get(id(join.target))
        if found is None:
            found = self._behind[id(join.target)] = self._apart.new_reach(
                [join.target], self._known_joins
            )
        return found

    def _group_of(self, number: int) -> tuple[set[int], list[Reach]] | None:
        """The group of an entry, with all that is within its reach; ``None``: that is all."""
        members = {number}
        reaches = [self._reaches[number]]
        passed: set[int] = set()
        is_growing = True
        while is_growing:
            is_growing = False
            for other, reach in enumerate(self._reaches):
                if other not in members and any(reach.meets(each) for each in reaches):
                    members.add(other)
                    reaches.append(reach)
                    is_growing = True
            asked: set[int] = set()
            for reach in [*reaches]:
                for join in reach.joins:
                    if id(join.target) in passed or id(join.target) in asked:
                        continue
                    asked.add(id(join.target))
                    if not _has_all(reaches, join):
                        continue
                    passed.add(id(join.target))
                    reaches.append(self._behind_join(join))
                    is_growing = True
            if len(members) == len(self._reaches):
                return None
        return members, reaches

    def _may_be_first(self, members: set[int], has_early: bool) -> bool:
        """Whether no timer of a group could be over early only behind one of another group."""
        if has_early or not self._apart.may_fire_early:
            return True
        return not any(
            timer is not None and timer._when < inf for timer in map(self._timer, members)
        )

    def _stays_apart(self, members: set[int], own: list[Reach]) -> bool:
        """Whether nothing that the other groups come to, without this one, gets in its way."""
        others = [reach for number, reach in enumerate(self._reaches) if number not in members]
        # Also those that wait for one of ours: each of a thousand tasks may be part of one join.
        passed: set[int] = set()
        is_growing = True
        while is_growing:
            is_growing = False
            for reach in [*others]:
                for join in reach.joins:
                    if id(join.target) in passed:
                        continue
                    passed.add(id(join.target))
                    if _has_one(own, join):
                        continue
                    others.append(self._behind_join(join))
                    is_growing = True
        if any(reach.meets(each) for reach in others for each in own):
            return False
        if self._apart.may_fire_early and not _pass_time_apart(own, others):
            return False
        self._apart.take([*own, *others])
        return True


def _has_all(reaches: list[Reach], join: Join) -> bool:
    """Whether all tasks of a join are within reach."""
    return all(any(id(child) in reach.seen for reach in reaches) for child in join.children)


def _has_one(reaches: list[Reach], join: Join) -> bool:
    """Whether one of them is."""
    return any(any(id(child) in reach.seen for reach in reaches) for child in join.children)


def _pass_time_apart(own: list[Reach], others: list[Reach]) -> bool:
    """Whether it makes no difference to either side that the other lets time pass.

    It makes none to a task that by itself does nothing but to sleep at times.
    """
    if not (any(each.sleeps for each in own) and any(each.sleeps for each in others)):
        return True
    return all(
        each.tasks == 1 and not each.makes_tasks and not each.tells_time
        for each in (*own, *others)
        if each.sleeps
    ) and _are_apart([*own, *others])


def _are_apart(reaches: list[Reach]) -> bool:
    """Whether those that sleep have nothing in common with anything else."""
    return not any(
        first.meets(second)
        for index, first in enumerate(reaches)
        for second in reaches[index + 1 :]
        if first.sleeps or second.sleeps
    )
