"""The one sequence of a sampler's plans, in generations, however it is divided.

What is learned takes effect when a generation begins, so that the executions of one can be made
in any order, by several processes.
"""

from __future__ import annotations

from bohrbug.search.divisible import State
from bohrbug.search.seeds import Indices


def generation_of(turn: int, longest: int | None = None, parts: int = 1) -> tuple[int, int]:
    """The generation that a turn belongs to: 0, 1, 2 and 3, 4 to 7, 8 to 15, ...

    Parameters:
        turn: from 0.
        longest: the most turns of a generation, a power of 2; ``None`` for no limit.
        parts: a power of 2; so many generations take the place of each of those.

    Returns:
        its first turn, and the first of the next one.
    """
    if not turn:
        return 0, 1
    length = max((1 << (turn.bit_length() - 1)) // parts, 1)
    if longest is not None:
        length = min(length, longest)
    begin = turn - turn % length
    return begin, begin + length


SMALLEST_PIECE = 8
"""Plans of a piece near the end of a generation, for all but the last."""


class Generations:
    """Which plans are left, and which generation has begun.

    Parameters:
        executions: the budget, which counts what is handed out as made; ``None`` for none.
        longest, parts: see :func:`generation_of`.
        smallest_piece: see :data:`SMALLEST_PIECE`; the larger, the fewer messages between
            processes, and the longer some wait at the end of a generation who have nothing else
            to do.

    Attributes:
        executed: plans of the sequence that were executed since the last restart.
    """

    __slots__ = (
        "_began",
        "_first",
        "_left",
        "_longest",
        "_parts",
        "_remaining",
        "_smallest_piece",
        "executed",
    )

    def __init__(
        self,
        executions: int | None,
        longest: int | None = None,
        parts: int = 1,
        smallest_piece: int = SMALLEST_PIECE,
    ) -> None:
        self._left = Indices()
        self._remaining = executions
        self._longest = longest
        self._parts = parts
        self._smallest_piece = smallest_piece
        self.restart()

    def restart(self) -> None:
        """Turns count from 0 again; neither numbers of plans nor the budget do."""
        self._left.forget_gaps()
        self._first = self._left.first or 0
        self._began = -1
        self.executed = 0

    @property
    def is_spent(self) -> bool:
        """Whether the budget is."""
        return self._remaining == 0

    @property
    def index(self) -> int | None:
        """The number of the next plan, the same in every process; ``None`` if none is left."""
        return self._left.first

    @property
    def turn(self) -> int:
        """The number of the next plan since the last restart."""
        return self.turn_of(self._left.first or 0)

    def turn_of(self, index: int) -> int:
        """The number since the last restart of the plan with the number ``index``."""
        return index - self._first

    @property
    def generation(self) -> tuple[int, int]:
        """The first turn of the generation of the next plan, and that of the one after it."""
        return generation_of(self.turn, self._longest, self._parts)

    @property
    def has_begun(self) -> bool:
        """Whether any generation has."""
        return self._began >= 0

    @property
    def begin(self) -> int:
        """The number of the plan with which the generation that has begun begins."""
        return self._first + self._began

    def sure_ones(self, most: int) -> range:
        """The next numbers of the generation that has begun, if the next one is of it."""
        if self.is_due():
            return range(0)
        if self._remaining is not None:
            most = min(most, self._remaining)
        return self._left.first_ones(min(most, self.generation[1] - self.turn))

    def is_due(self) -> bool:
        """Whether the next plan is of a generation that has not begun."""
        return self.generation[0] != self._began

    def begin_next(self) -> None:
        """The generation of the next plan begins; the caller lets take effect what was learned."""
        self._began = self.generation[0]

    def count(self, is_of_sequence: bool) -> None:
        """An execution was made; the learning one at the very first is not of the sequence."""
        if self._remaining is not None:
            self._remaining -= 1
        if is_of_sequence:
            self.executed += 1
            self._left.advance()

    # -- dividing ----------------------------------------------------------------------

    @property
    def can_take_piece(self) -> bool:
        """Whether there is a piece: a generation only begins when all of the last has come back."""
        return self.index is not None and (not self.is_due() or self.executed >= self.turn)

    def take(self, most: int) -> State | None:
        """Part with some of the generation that has begun; ``None`` if there are none.

        Near its end pieces are small, so that nobody waits for long.
        """
        _, end = self.generation
        left = end - self.turn
        most = min(most, left, max(left // 4, self._smallest_piece))
        if self._remaining is not None:
            most = min(most, self._remaining)
        taken = self._left.take(most)
        if taken is None:
            return None
        if self._remaining is not None:
            self._remaining -= taken[1] - taken[0]
        return self._piece([taken])

    def state(self) -> State:
        """Plain data that :meth:`restore` takes."""
        return {
            **self._piece(self._left.ranges()),
            "remaining": self._remaining,
            "turn": self.executed,
        }

    def _piece(self, ranges: list[list[int]]) -> State:
        return {
            "left": ranges,
            "first": self._first,
            "learned_at": self._began,
            "remaining": None,
            "turn": 0,
        }

    def restore(self, state: State) -> None:
        """Become what :meth:`state` or :meth:`take` gave."""
        self._left = Indices(state["left"])
        self._first = state["first"]
        self._began = state["learned_at"]
        self._remaining = state["remaining"]
        self.executed = state["turn"]

    def merge(self, state: State) -> None:
        """Add what another process has done of its piece, and take back what it has not."""
        self._left.merge(state["left"])
        if self._remaining is not None:
            self._remaining += sum(end - start for start, end in state["left"])
        self.executed += state["turn"]
