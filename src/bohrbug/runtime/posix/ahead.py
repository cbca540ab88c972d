"""Executions that are made before anybody asks for them.

A program that waits, and whose executions leave nothing behind, makes several at one order, with
nobody to talk to in between.  So where it is known what will be asked for, soon or later, that is
made, and kept; and while this process looks at what was made, that program goes on with what is
next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bohrbug.model.plan import Plan
from bohrbug.runtime.posix import enumerations
from bohrbug.runtime.posix.completed import CompletedExecution, Prepared
from bohrbug.runtime.posix.segment import SMALL, Segment

SMALL_SEGMENTS = 48
"""For executions that are made ahead."""

_AT_ONE_ORDER = SMALL_SEGMENTS // 3
"""At most: some are looked at, others are under way, and the next ones are ready to be ordered."""

LONG = 0.25
"""Seconds that an order should not take: whatever comes between has to wait for its end."""


class Ahead:
    """The executions that were made, or are being made, and for which nobody has asked yet.

    Parameters:
        segments: small ones, for them.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._free = list(segments)
        self._made: dict[Plan, CompletedExecution] = {}
        self._rules: object = None
        # How many are made grows as long as the rules are the same, and none takes long.
        self._most = 1
        # Who foresees little has to see more before it is asked again.
        self._sees_far = True
        self._under_way: Mapping[Plan, Prepared] = {}
        self._next: Sequence[Prepared] = ()

    @property
    def is_under_way(self) -> bool:
        """Whether an order is being carried out."""
        return bool(self._under_way)

    def is_by(self, rules: object) -> bool:
        """Whether these are the rules by which everything was made."""
        return rules == self._rules

    def awaits(self, plan: Plan, rules: object) -> bool:
        """Whether what is under way has to end before the execution of a plan can be taken.

        Parameters:
            plan: the plan.
            rules: what else an execution depends on.
        """
        return bool(self._under_way) and (rules != self._rules or plan in self._under_way)

    def get_ready(self, prepared: Sequence[Prepared]) -> None:
        """These are to be ordered next, as soon as nothing is under way."""
        self._next = prepared

    @property
    def segments_of_next(self) -> Sequence[Segment]:
        """Of what is ready."""
        return [each.segment for each in self._next]

    def begin(self) -> None:
        """What was ready is under way from now on, without anybody waiting for it."""
        assert not self._under_way
        self._under_way = {each.plan: each for each in self._next}
        self._next = ()

    def end(self) -> Sequence[Prepared]:
        """What was under way, and is no more."""
        prepared, self._under_way = self._under_way, {}
        return list(prepared.values())

    def stop(self) -> None:
        """Nothing is ready any more: something else comes first."""
        self._next = ()

    def take(self, plan: Plan, rules: object) -> CompletedExecution | None:
        """The execution of a plan, if it was made; its segment may be used by the next order.

        Parameters:
            plan: the plan.
            rules: what else an execution depends on; nothing is under way if they change.
        """
        if rules != self._rules:
            self._begin(rules)
        made = self._made.pop(plan, None) if self._made else None
        if made is not None:
            self._free.append(made.segment)
        return made

    def places_beyond(
        self, plan: Plan, rules: object, foresee: Callable[[int], Iterable[Plan]]
    ) -> Sequence[tuple[Plan, Segment]]:
        """What to execute while what was made is looked at, and where.

        Parameters:
            plan: that is asked for now.
            rules: what else an execution depends on.
            foresee: gives the plans that will be asked for, at most so many.
        """
        many = _AT_ONE_ORDER
        if self._next or not self._sees_far or self._most <= many:
            return ()
        if rules != self._rules or plan not in self._made:
            return ()
        in_use = {each.segment.start for each in self._under_way.values()}
        free = [segment for segment in self._free if segment.start not in in_use]
        if len(free) < many:
            return ()
        known = len(self._made) + len(self._under_way)
        wanted = self._wanted(plan, foresee(known + many))
        self._sees_far = len(wanted) >= many
        return list(zip(wanted, free[:many], strict=False))

    def _wanted(self, plan: Plan, foreseen: Iterable[Plan]) -> list[Plan]:
        made, under_way = self._made, self._under_way
        return [
            each
            for each in foreseen
            if len(each.prefix) <= SMALL.steps
            and each not in made
            and each != plan
            and not (under_way and each in under_way)
        ]

    def _begin(self, rules: object) -> None:
        self._rules = rules
        self._free += [made.segment for made in self._made.values()]
        self._made.clear()
        self._most = 1

    def places(
        self, plan: Plan, foresee: Callable[[int], Iterable[Plan]]
    ) -> list[tuple[Plan, Segment]]:
        """What to execute behind a plan that was not made, and where.

        Parameters:
            plan: the plan.
            foresee: gives the plans that will be asked for, at most so many.
        """
        if not self._free:
            # Nobody has asked for these for the longest time, and perhaps nobody will.
            self._free.append(self._made.pop(next(iter(self._made))).segment)
        most = min(self._most, _AT_ONE_ORDER, len(self._free))
        self._most *= 2
        return list(zip(self._wanted(plan, foresee(most + 1)), self._free[:most], strict=False))

    def keep(self, made: Iterable[CompletedExecution], seconds: float) -> None:
        """Keep what was made by the rules that :meth:`take` was told last.

        Parameters:
            made: the executions.
            seconds: for which their order was waited for.
        """
        self._sees_far = True
        if seconds > LONG:
            self._most = max(self._most // 4, 1)
            self.stop()
        for each in made:
            # A larger segment may have room for it.
            if each.segment.header.ending != enumerations.TOO_BIG:
                self._free.remove(each.segment)
                self._made[each.plan] = each
