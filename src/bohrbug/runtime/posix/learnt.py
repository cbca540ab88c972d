"""What executions of a native program have shown, as far as later ones depend on it."""

from __future__ import annotations

from dataclasses import dataclass, field

from bohrbug.model.operation import Site
from bohrbug.runtime.posix.recorded import NO_DEPENDENCES, Dependences
from bohrbug.runtime.posix.segment import Segment


@dataclass(slots=True)
class Learnt:
    """What executions have shown, as far as later ones depend on it.

    Parameters:
        executions: how many there were.
        choices: data choices of the first execution that had any: from it on the same, whoever
            goes on.
        nobody_comes: a wait for somebody outside of the execution was in vain.
        right_deaths: signals, as bits, of which child processes may die.
        dependences: steps that depend on each other without a resource in common.
        has_hooks: a process with hooks took part.
        memory_matters: it was seen to access memory so that it matters whether that is sequentially
            consistent: by data races, or by atomics with weaker orders.
        weak_places: where weaker memory could show more: loads that may overtake a store before
            them, and atomics with weaker orders.
        weak_atomics: the addresses of those that are atomics.
        stack_in_order: tasks stored to their own stacks what others could see.
    """

    executions: int = 0
    choices: int = 0
    nobody_comes: bool = False
    right_deaths: int = 0
    dependences: Dependences = NO_DEPENDENCES
    has_hooks: bool = False
    memory_matters: bool = False
    weak_places: set[Site] = field(default_factory=set)
    stack_in_order: bool = False
    weak_atomics: set[int] = field(default_factory=set)

    def take_in(self, segment: Segment) -> None:
        """Take note of what the shim says of an execution."""
        header = segment.header
        self.choices = self.choices or header.choices
        self.nobody_comes |= bool(header.waited_in_vain)
