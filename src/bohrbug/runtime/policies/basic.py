"""The policies that look at nothing but who can run."""

from __future__ import annotations

from random import Random

from bohrbug.accelerator import native
from bohrbug.accelerator.plain import plain
from bohrbug.model.plan import Priorities, Segments
from bohrbug.runtime.policies.decider import Drawing, Tasks, TaskView, earliest, next_in_turn

_64_BITS = (1 << 64) - 1


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


@plain
class UniformRandomDecider:
    """Every option with the same probability.

    Draws by SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*,
    OOPSLA 2014, figure 17): seeding the Mersenne twister takes longer than a short execution.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`Decider`."""
        options = [*enabled, *timed] if timed else enabled
        number = len(options)
        return options[self.value(number)] if number > 1 else options[0]

    def value(self, arity: int) -> int:
        """Any value, with the same probability."""
        self._state = state = (self._state + 0x9E3779B97F4A7C15) & _64_BITS
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & _64_BITS
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & _64_BITS
        # Its upper half as a fraction of 2 ** 32.
        return ((state ^ (state >> 31)) >> 32) * arity >> 32


class PriorityDecider(Drawing):
    """PCT: the highest priority runs; at ``depth - 1`` random steps it drops.

    Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010, section 3.  A task
    that yields drops below all others too, or a spinning task would starve the
    one that it waits for (section 4.1 there); but only every second time, by chance,
    as what follows a yield may be what has to come first.
    """

    __slots__ = ("_changes", "_lowest", "_priorities")

    def __init__(self, policy: Priorities) -> None:
        self._random = Random(policy.seed)
        length = max(policy.length, 1)
        self._changes: dict[int, int] = {}
        for priority in range(1, policy.depth):
            self._changes[self._random.randrange(length)] = -priority
        self._priorities: dict[str, float] = {}
        self._lowest = float(-policy.depth)

    def _priority(self, task: TaskView) -> float:
        priority = self._priorities.get(task.id)
        if priority is None:
            priority = self._priorities[task.id] = self._random.random()
        return priority

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`Decider`."""
        if yielded:
            self._drop(running)
        options = [*enabled, *timed] if timed else enabled
        best = options[0]
        if len(options) > 1:
            best = max(options, key=self._priority)
        change = self._changes.get(step)
        if change is not None:
            self._priorities[best.id] = change
            if len(options) > 1:
                best = max(options, key=self._priority)
        if best.deadline is not None and best not in enabled:
            # A fired timeout is a yield: a loop that sleeps must not starve the rest.
            self._drop(best)
        return best

    def _drop(self, task: TaskView) -> None:
        if self._random.random() < 0.5:
            return
        self._lowest -= 1.0
        self._priorities[task.id] = self._lowest


class SegmentsDecider(NonPreemptiveDecider):
    """Follows the stretches of a :class:`Segments` policy leniently."""

    def __init__(self, policy: Segments) -> None:
        self._segments = policy.segments
        self._position = 0
        self._left = policy.segments[0][1] if policy.segments else 0
        self._values = {task: list(reversed(made)) for task, made in policy.values}
        self._chooser = ""

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

    def value(self, arity: int) -> int:
        """The next value that the policy has for the task that runs, or else the first one."""
        values = self._values.get(self._chooser)
        value = values.pop() if values else 0
        return value if value < arity else 0


if native is not None:
    native.use_policies(PriorityDecider, UniformRandomDecider)
