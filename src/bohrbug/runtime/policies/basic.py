"""The policies that look at nothing but who can run."""

from __future__ import annotations

from bohrbug.model.operation import TaskId
from bohrbug.model.plan import Priorities, Segments, Switches, TaskValues
from bohrbug.runtime.policies.decider import Tasks, TaskView, earliest, next_in_turn
from bohrbug.runtime.policies.drawing import Drawing


class NonPreemptiveDecider:
    """Keep running; on blocking, ending or yielding go round robin; time moves last."""

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`Decider`."""
        if not enabled:
            return earliest(timed)
        if running in enabled and not yielded:
            return running
        return next_in_turn(running, enabled, yielded, step)

    def value(self, arity: int) -> int:
        """Always the first value, the simplest one."""
        return 0


class UniformRandomDecider(Drawing):
    """Every option with the same probability."""

    __slots__ = ()

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`Decider`."""
        options = [*enabled, *timed]
        return options[self._random.below(len(options)) if len(options) > 1 else 0]


MOST_CHANGES = 64
"""Changes of priority that PCT can make in an execution."""


class PriorityDecider(Drawing):
    """PCT: the highest priority runs; at ``depth - 1`` random steps it drops.

    Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010, section 3.  A task
    that yields drops below all others too, or a spinning task would starve the
    one that it waits for (section 4.1 there); but only every second time, by chance,
    as what follows a yield may be what has to come first.
    """

    __slots__ = ("_changes", "_decided_until", "_lowest", "_priorities")

    def __init__(self, policy: Priorities) -> None:
        super().__init__(policy.seed)
        length = max(policy.length, 1)
        drawn = range(min(policy.depth - 1, MOST_CHANGES))
        self._changes = [self._random.below(length) for _ in drawn]
        self._decided_until = 0
        self._priorities: dict[TaskId, int] = {}
        self._lowest = -policy.depth

    def _best(self, options: Tasks) -> TaskView:
        return options[0] if len(options) == 1 else max(options, key=self._priority)

    def _priority(self, task: TaskView) -> int:
        priority = self._priorities.get(task.id)
        if priority is None:
            priority = self._priorities[task.id] = self._random.priority()
        return priority

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`Decider`."""
        # Data choices are steps, too, and a change that falls on one is made at the next decision;
        # those of the plan's prefix are past.
        first = self._decided_until or step
        self._decided_until = step + 1
        if yielded:
            self._drop(running)
        options = [*enabled, *timed]
        best = self._best(options)
        for number, change in enumerate(self._changes):
            if first <= change <= step:
                self._priorities[best.id] = -number - 1
                best = self._best(options)
        if best not in enabled:
            # A fired timeout is a yield: a loop that sleeps must not starve the rest.
            self._drop(best)
        return best

    def _drop(self, task: TaskView) -> None:
        if self._random.below(2) == 0:
            return
        self._lowest -= 1
        self._priorities[task.id] = self._lowest


class _WithValues(NonPreemptiveDecider):
    """Makes the data choices of a schedule that is varied.

    Parameters:
        values: for each task those of it, in order.
    """

    def __init__(self, values: TaskValues) -> None:
        self._values = {task: list(reversed(made)) for task, made in values}
        self._chooser = ""

    def value(self, arity: int) -> int:
        """The next value that the policy has for the task that runs, or else the first one."""
        values = self._values.get(self._chooser)
        value = values.pop() if values else 0
        return value if value < arity else 0


class SegmentsDecider(_WithValues):
    """Follows the stretches of a :class:`Segments` policy leniently."""

    def __init__(self, policy: Segments) -> None:
        super().__init__(policy.values)
        self._segments = policy.segments
        self._position = 0
        self._left = policy.segments[0][1] if policy.segments else 0

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`Decider`."""
        segments = self._segments
        while self._position < len(segments):
            if self._left > 0:
                wanted = segments[self._position][0]
                for task in (*enabled, *timed):
                    if task.id == wanted:
                        self._left -= 1
                        self._chooser = task.id
                        return task
            self._position += 1
            if self._position < len(segments):
                self._left = segments[self._position][1]
        chosen = super().choose(running, enabled, timed, yielded, step)
        self._chooser = chosen.id
        return chosen


class SwitchesDecider(_WithValues):
    """Follows the switches of a :class:`Switches` policy leniently."""

    def __init__(self, policy: Switches) -> None:
        super().__init__(policy.values)
        self._last = ""
        self._made: dict[TaskId, int] = {}
        self._switches = {(each.task, each.steps): each for each in policy.switches}
        self._held: set[TaskId] = set()

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`Decider`."""
        chosen = self._switch([*enabled, *timed])
        if chosen is None:
            if self._held:
                free = [task for task in enabled if task.id not in self._held]
                if not free:
                    self._held.clear()
                enabled = free or enabled
            chosen = super().choose(running, enabled, timed, yielded, step)
        self._last = self._chooser = chosen.id
        self._made[chosen.id] = self._made.get(chosen.id, 0) + 1
        return chosen

    def _switch(self, options: Tasks) -> TaskView | None:
        """Who comes next by a switch; ``None``: there is none here, or that task can't run."""
        switch = self._switches.get((self._last, self._made.get(self._last, 0)))
        if switch is None:
            return None
        if switch.held is not None:
            self._held.add(switch.held)
        return next((task for task in options if task.id == switch.target), None)
