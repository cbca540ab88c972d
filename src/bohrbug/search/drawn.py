"""What strategies share that draw the plans of one sequence, each from its number."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.model.plan import Plan
from bohrbug.search.divisible import Dividing, State
from bohrbug.search.generations import Generations


class DrawnInGenerations(Dividing):
    """Goes through the plans that a strategy draws in generations, and divides that work.

    The first execution is for learning, and of no generation.  Subclasses have the sequence in
    ``_generations``, and the plan that was proposed in ``_plan``.
    """

    learns_slowly = False
    exhausted = False
    """Never: another execution may always show another schedule."""
    complete = False

    _generations: Generations
    _plan: Plan | None

    @property
    def _has_learned(self) -> bool:
        """Whether the first execution was made; a piece is only handed out after it."""
        raise NotImplementedError

    def _take_effect(self) -> None:
        """A generation begins: what was learned takes effect."""
        raise NotImplementedError

    def _piece(self, generations: State) -> State:
        """A piece of the work: the part of the sequence that it is of, and what is in effect."""
        raise NotImplementedError

    def _plan_at(self, index: int) -> Plan:
        """The plan with a number; of the generation that has begun."""
        raise NotImplementedError

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is None and not self._generations.is_spent:
            index = self._generations.index
            if not self._has_learned:
                self._plan = Plan()
            elif index is not None:
                self._begin_generation()
                self._plan = self._plan_at(index)
        return self._plan

    def lookahead_plans(self, most: int) -> Sequence[Plan]:
        """See :class:`~bohrbug.search.strategy.Foresighted`: those of this generation."""
        if not self._has_learned:
            return ()
        return [self._plan_at(index) for index in self._generations.sure_ones(most)]

    def _begin_generation(self) -> None:
        if self._generations.is_due():
            self._generations.begin_next()
            self._take_effect()

    # -- dividing ----------------------------------------------------------------------

    def _put_back(self) -> None:
        self._plan = None

    def _all(self) -> State:
        return self._piece(self._generations.state())

    def _cut(self, most: int, wanted: int) -> State | None:  # noqa: ARG002
        if not self._has_learned or not self._generations.can_take_piece:
            return None
        self._begin_generation()
        taken = self._generations.take(most)
        return None if taken is None else self._piece(taken)

    def _add(self, state: State) -> None:
        self._generations.merge(state)

    def position(self) -> int | None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        return self._generations.index if self._has_learned else None
