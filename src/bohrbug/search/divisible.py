"""What a strategy needs so that its work can be saved, and divided among processes."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard, runtime_checkable

from bohrbug.search.strategy import Strategy

State = dict[str, Any]
"""A strategy, or a piece of its work, as what ``json`` reads and writes."""

VERSION = 3
"""Of all states; goes up when an older Bohrbug could not go on from what this one writes."""


class StateError(ValueError):
    """A state is not one that this strategy can go on from; the message says why."""


@runtime_checkable
class Divisible(Strategy, Protocol):
    """A strategy whose work can be saved, and divided among processes.

    A *piece* is a part of the work as plain data: some subtrees of the tree of
    schedules, or some indices of a sequence of seeds.  A piece and the whole of the
    work have the same form, the state: what is left to do, and figures of what was
    done.  Four operations move work about, and none of them loses or doubles any:

    * the one strategy that knows the whole :meth:`take_piece` pieces;
    * a new strategy in a worker process takes one with :meth:`restore`, and goes
      through it as always, until :meth:`next_plan` gives ``None``;
    * a worker may :meth:`split` off a part of its own for one that has nothing to do;
    * the first strategy takes states back with :meth:`merge`, done or not.

    All of them are called between executions: after ``observe``, or after a
    ``next_plan`` whose plan was not executed.
    """

    def state(self) -> State:
        """All that is left to do and the figures of what was done, as plain data."""
        ...

    def restore(self, state: State) -> None:
        """Become what a state tells, whatever this strategy was before.

        Raises:
            StateError: it was written by another strategy, or is damaged.
        """
        ...

    def take_piece(self, most: int) -> State | None:
        """Part with a piece that comes first in the order of the search.

        Parameters:
            most: the executions that may be spent on it; a piece that can be
                counted beforehand has no more than these.

        Returns:
            The piece; ``None`` if there is nothing to hand out before what was
            handed out has come back.
        """
        ...

    def split(self) -> State | None:
        """Part with about half of what is left; ``None`` if it is too little to share."""
        ...

    def merge(self, state: State) -> None:
        """Add the figures of a piece, and what is left of it, to this strategy."""
        ...

    def position(self) -> int | None:
        """The place of the plan that was proposed last in the one sequence of all plans.

        To be asked before that plan is observed.  Counted from 0; ``None`` if the strategy
        has no such sequence.  Where there is one, the failure with the least position is
        the one that is found first, however many processes took part.
        """
        ...


@runtime_checkable
class Reporting(Divisible, Protocol):
    """A divisible strategy whose pieces can't be worked on without a word to the others.

    What a worker finds may belong to a part of the work that is not in its piece; and what
    it parts with has to go through the one strategy that knows the whole.
    """

    def report(self, wanted: bool) -> State | None:
        """What the strategy that knows the whole has to take in before the piece is done.

        It goes there by :meth:`Divisible.merge`, together with the :meth:`Divisible.state`
        that is left after this.

        Parameters:
            wanted: others have nothing to do: part with some of the work.

        Returns:
            ``None`` if there is nothing to tell, or no hurry.
        """
        ...


@runtime_checkable
class Sharing(Protocol):
    """A divisible strategy that keeps something in memory that its workers share."""

    def begin_sharing(self) -> None:
        """Called before worker processes are forked."""
        ...

    def lost_a_worker(self) -> None:
        """A worker process has died; what it had is done again from its last state."""
        ...


def is_divisible(strategy: Strategy) -> TypeGuard[Divisible]:
    """Whether work of this strategy can be saved and divided."""
    return isinstance(strategy, Divisible) and getattr(strategy, "divisible", True)


def checked_state(state: State, name: str) -> State:
    """A state, if it is of the strategy called ``name`` and of this version.

    Raises:
        StateError: it is not.
    """
    if not isinstance(state, dict) or state.get("strategy") != name:
        found = state.get("strategy") if isinstance(state, dict) else type(state).__name__
        raise StateError(f"this is a state of {found!r}, not of {name!r}")
    if state.get("version") != VERSION:
        raise StateError(
            f"this state of {name!r} has version {state.get('version')}, "
            f"this Bohrbug reads version {VERSION}"
        )
    return state
