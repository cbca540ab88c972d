"""Fair scheduling, so that loops which wait for another task come to an end.

Musuvathi and Qadeer, *Fair stateless model checking*, PLDI 2008: a task that
yields gets lower priority than those that could have run since its last yield
and did not, until they have run.  Under the condition that a task yields only
when it can make no progress, no safety error is missed.

A program may yield although it can make progress.  So a task is not held back as soon as it yields:
where it does not stand where it stood at its last yield, it may go on a few times (section 4 of the
paper processes every k-th yield).  If it is held back after that, this is an assumption,
and the verdict names it.
"""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.accelerator.plain import plain
from bohrbug.model.operation import YIELD
from bohrbug.model.outcome import LONG_RUNS, REPEATED_YIELDS, Uncontrolled
from bohrbug.runtime.threads.standing import Standing
from bohrbug.runtime.threads.task import Task

UNHEEDED_YIELDS = 3
"""Yields in a row, at none of which a task stands where it stood before, that hold nobody back."""

YIELDS_THAT_ARE_ONE = 20
"""Yields in a row, with nothing in between that others could see, which are one."""


class _Yields:
    """What is known of the yields of a task.

    Attributes:
        stands: where the task stands at the yield that it comes to.
        stood: where it stood at the last one.
        unheeded: how many in a row held it back by nothing.
        repeated: how many in a row were left out.
        looks: it has looked in vain, and its place since then is known.
        is_long: it yields only as others have waited long.
    """

    __slots__ = ("is_long", "looks", "repeated", "stands", "stood", "unheeded")

    def __init__(self) -> None:
        self.stands: Standing | None = None
        self.stood: Standing | None = None
        self.unheeded = 0
        self.repeated = 0
        self.looks = False
        self.is_long = False

    def count(self) -> bool:
        """Count a yield; whether the task, for all that is known, may be about to make progress."""
        stands, self.stands = self.stands, None
        if self.is_long:
            return True
        if stands is None or stands == self.stood:
            # Taken to yield, or back where it was.
            self.unheeded = 0
            return False
        self.stood = stands
        self.unheeded = (self.unheeded + 1) % (UNHEEDED_YIELDS + 1)
        return True


@plain
class Fairness:
    """The priority relation of one execution; empty until the first yield.

    Parameters:
        uncontrolled: where what is assumed is noted.
    """

    __slots__ = ("_below", "_doubted", "_uncontrolled", "_yields", "active")

    def __init__(self, uncontrolled: Uncontrolled) -> None:
        self.active = False
        # For each task that yielded: the tasks that go before it.
        self._below: dict[Task, set[Task]] = {}
        # Those of them that may not be waiting for anything, and what they are taken for.
        self._doubted: dict[Task, str] = {}
        self._yields: dict[Task, _Yields] = {}
        self._uncontrolled = uncontrolled

    def is_repeated(self, task: Task) -> bool:
        """Whether a yield of the running task is one with its last, as it did nothing since."""
        pending = task.pending
        if pending is None or pending.kind is not YIELD:
            return False
        yields = self._yields.get(task)
        if yields is None:
            return False
        if task.looks or yields.repeated == YIELDS_THAT_ARE_ONE:
            return False
        yields.repeated += 1
        return True

    def comes(self, task: Task, stands: Standing) -> None:
        """The running task is about to yield by a call of the program, standing there."""
        yields = self._yields_of(task)
        yields.stands = stands
        yields.repeated = 0

    def looked(self, task: Task, stands: Standing) -> bool:
        """The running task has looked in vain a number of times; whether it is to yield.

        Each second time it is: the first one only finds out where it stands.
        """
        yields = self._yields_of(task)
        yields.looks = not yields.looks
        if yields.looks:
            yields.stood = stands
            return False
        yields.stands = stands
        return True

    def has_run_long(self, task: Task) -> None:
        """The running task is made to yield, whatever it does."""
        yields = self._yields_of(task)
        yields.is_long = True
        yields.unheeded = 0

    def _yields_of(self, task: Task) -> _Yields:
        yields = self._yields.get(task)
        if yields is None:
            yields = self._yields[task] = _Yields()
        return yields

    def yielded(
        self, task: Task, enabled: Sequence[Task], rows: Sequence[tuple[object, ...]]
    ) -> None:
        """``task`` yields: those that it kept waiting since its last yield may go first now.

        Parameters:
            task: the task.
            enabled: the tasks that could run now.
            rows: the steps so far; the second element of each is the id of who ran.
        """
        ran = {row[1] for row in rows[max(task.last_yield, 0) :]}
        waiting = {other for other in enabled if other is not task and other.id not in ran}
        task.last_yield = len(rows)
        yields = self._yields.get(task)
        may_go_on = is_unheeded = is_long = False
        if yields is not None:
            may_go_on = yields.count()
            is_unheeded = yields.unheeded > 0
            is_long, yields.is_long = yields.is_long, False
        if is_unheeded:
            # To begin changes nothing that another task could see: they can do that first.
            waiting = {other for other in waiting if not other.begun}
        if waiting:
            self._below.setdefault(task, set()).update(waiting)
            self.active = True
            if may_go_on and not is_unheeded:
                self._doubted[task] = LONG_RUNS if is_long else REPEATED_YIELDS

    def filter(self, enabled: list[Task], timed: list[Task]) -> tuple[list[Task], list[Task]]:
        """The options without the tasks that must wait for another enabled one."""
        below = self._below
        if not below:
            return enabled, timed
        allowed = [
            task
            for task in enabled
            if task not in below or not any(other in enabled for other in below[task])
        ]
        if not allowed:
            return enabled, timed
        if self._doubted:
            for task in enabled:
                if task in self._doubted and task not in allowed:
                    self._uncontrolled.assume(self._doubted.pop(task))
        return allowed, timed

    def scheduled(self, task: Task) -> None:
        """``task`` runs: nobody waits for it any more."""
        empty = []
        for yielder, others in self._below.items():
            others.discard(task)
            if not others:
                empty.append(yielder)
        for yielder in empty:
            del self._below[yielder]
            self._doubted.pop(yielder, None)
        self.active = bool(self._below)
