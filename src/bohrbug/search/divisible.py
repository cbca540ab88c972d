"""What a strategy needs so that its work can be saved, and divided among processes."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard, runtime_checkable

from bohrbug.model.protocols import leaves_typing_alone
from bohrbug.search.branching import Tally
from bohrbug.search.strategy import Strategy

State = dict[str, Any]
"""A strategy, or a piece of its work, in a form that ``json`` reads and writes."""

VERSION = 4
"""Of all states; increases when an older Bohrbug could not continue from what this one writes."""


class StateError(ValueError):
    """A state from which this strategy can't continue; the message says why."""


@leaves_typing_alone
@runtime_checkable
class Divisible(Strategy, Protocol):
    """A strategy whose work can be saved, and divided among processes.

    A *piece* is a part of the work as plain data: some subtrees of the tree of
    schedules, or some indices of a sequence of seeds.  A piece and the whole of the
    work have the same form, the state: what is left to do, and figures of what was
    done.  Three operations move work, and none of them loses or duplicates any:

    * the one strategy that knows the whole lets others :meth:`take_piece`;
    * a new strategy in a worker process takes one with :meth:`restore`, and explores
      it as usual, until :meth:`next_plan` returns ``None``, or for a while;
    * the first strategy takes back what is left of it with :meth:`merge`, done or not.

    Only the strategy that knows the whole divides: a worker that has much to do gives its piece
    back when another has nothing to do, and both get a part of it.

    All of them are called between executions: after ``observe``, or after a
    ``next_plan`` whose plan was not executed.
    """

    def state(self) -> State:
        """Everything left to do and the figures of what was done, as plain data."""
        ...

    def restore(self, state: State) -> None:
        """Restore a state, whatever this strategy was before.

        Raises:
            StateError: it was written by another strategy, or is damaged.
        """
        ...

    def take_piece(self, most: int, wanted: int = 1) -> State | None:
        """Hand over a piece that comes first in the order of the search.

        Parameters:
            most: the executions that may be spent on it; a piece that can be
                counted beforehand has no more than these.
            wanted: how many pieces are requested now, including this one: the work need
                not be divided into more.

        Returns:
            The piece; ``None`` if there is nothing to hand out before what was
            handed out has come back.
        """
        ...

    def can_be_cut(self) -> bool:
        """Whether a piece has enough left for two; quick to check, and need not be exact."""
        ...

    def merge(self, state: State) -> None:
        """Add the figures of a piece, and what is left of it, to this strategy."""
        ...

    def begin_sharing(self) -> None:
        """Called before worker processes are forked: something may be shared in memory."""
        ...

    def lost_a_worker(self) -> None:
        """A worker process has died; its work is repeated from its last state."""
        ...

    def position(self) -> int | None:
        """The index, in the one sequence of all plans, of the plan that was proposed last.

        Only valid before that plan is observed.  Counted from 0; ``None`` if the strategy
        has no such sequence.  Where there is one, the failure with the least position is
        the one reported first, however many processes took part.
        """
        ...


def is_divisible(strategy: Strategy) -> TypeGuard[Divisible]:
    """Whether work of this strategy can be saved and divided."""
    return isinstance(strategy, Divisible) and getattr(strategy, "divisible", True)


class Dividing:
    """How a strategy defines how its work is divided: a subclass has five methods on plain data.

    This class has what is the same for all: the head that identifies states, putting back a plan
    that was proposed and not executed before anything is moved, and the figures of
    what was done, which go along with a state and are added up, except for a piece that nobody
    began.
    """

    name: str
    _tally: Tally

    def _put_back(self) -> None:
        """Take back a plan that was proposed and not executed."""
        raise NotImplementedError

    def _all(self) -> State:
        """Everything left to do."""
        raise NotImplementedError

    def _become(self, state: State) -> None:
        """Take on what :meth:`_all` or :meth:`_cut` returned, with nothing done."""
        raise NotImplementedError

    def _cut(self, most: int, wanted: int) -> State | None:
        """Hand over a piece; see :meth:`Divisible.take_piece`."""
        raise NotImplementedError

    def _add(self, state: State) -> None:
        """Add what is left of a piece."""
        raise NotImplementedError

    def _figures(self) -> State:
        """Figures of what was done."""
        return {"tally": self._tally.to_json()}

    def _add_figures(self, figures: State) -> None:
        """Add what :meth:`_figures` returned."""
        self._tally.add(Tally.from_json(figures["tally"]))

    def state(self) -> State:
        """See :class:`Divisible`."""
        self._put_back()
        # In this order: what is left to do may have to be prepared for that.
        work = self._all()
        return {**self._head(), **work, "figures": self._figures()}

    def restore(self, state: State) -> None:
        """See :class:`Divisible`."""
        self._check(state)
        self._become(state)
        if "figures" in state:
            self._add_figures(state["figures"])

    def take_piece(self, most: int, wanted: int = 1) -> State | None:
        """See :class:`Divisible`."""
        self._put_back()
        part = self._cut(most, wanted)
        return None if part is None else {**self._head(), **part}

    def merge(self, state: State) -> None:
        """See :class:`Divisible`."""
        self._check(state)
        self._put_back()
        self._add(state)
        if "figures" in state:
            self._add_figures(state["figures"])

    def can_be_cut(self) -> bool:
        """See :class:`Divisible`; pieces of a sequence are small already."""
        return False

    def position(self) -> int | None:
        """See :class:`Divisible`; a tree has no such sequence."""
        return None

    def begin_sharing(self) -> None:
        """See :class:`Divisible`."""

    def lost_a_worker(self) -> None:
        """See :class:`Divisible`."""

    def _head(self) -> State:
        return {"strategy": self.name, "version": VERSION}

    def _check(self, state: State) -> None:
        """Check that a state is of this strategy and this version.

        Raises:
            StateError: it is not.
        """
        found = state.get("strategy") if isinstance(state, dict) else type(state).__name__
        if found != self.name:
            raise StateError(f"this is a state of {found!r}, not of {self.name!r}")
        if state.get("version") != VERSION:
            raise StateError(
                f"this state of {self.name!r} has version {state.get('version')}, "
                f"this Bohrbug reads version {VERSION}"
            )
