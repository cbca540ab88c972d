"""Strategies that take turns: a fair share each, and more for those that find new behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from bohrbug.search.divisible import Divisible, is_divisible
from bohrbug.search.strategy import Strategy

MINIMAL_SHARE = 0.5
"""The part of its weight that a member keeps, however little it finds."""

MEMORY = 0.95
"""How much an execution counts after each further one of the same member."""


@dataclass(slots=True)
class Member:
    """A strategy in a portfolio.

    Parameters:
        strategy: the strategy.
        weight: its share in the beginning, relative to the others'.
        weight_in_large: the same in a space that is too large to be exhausted; ``None``: no other.
        executions: those that it has planned.
        novelty: how much new behaviour its last executions showed, from 0 to 1.
        credit: turns that it is due.
        is_over: it has nothing left to execute.
        out: its pieces that other processes have.
    """

    strategy: Strategy
    weight: float = 1.0
    weight_in_large: float | None = None
    executions: int = 0
    novelty: float = 1.0
    credit: float = 0.0
    is_over: bool = False
    out: int = 0

    @property
    def divisible(self) -> Divisible:
        """Its strategy, whose work must be divisible."""
        strategy = self.strategy
        assert is_divisible(strategy)
        return strategy

    def reset(self) -> None:
        """Forget everything learned: the scheduling points have changed."""
        self.strategy.restart()
        self.executions, self.novelty, self.credit, self.is_over = 0, 1.0, 0.0, False
        self.out = 0

    def to_json(self) -> list[Any]:
        """Plain data, without the strategy."""
        return [self.executions, self.novelty, self.credit, self.is_over, self.out]

    def merge(self, data: list[Any]) -> None:
        """Restore what :meth:`to_json` wrote."""
        self.executions, self.novelty, self.credit, self.is_over, self.out = data


@dataclass(slots=True)
class Rotation:
    """Decides whose turn it is.  Deterministic and fair: shares are as exact as turns allow.

    Each turn every member is credited with its share, and the one with the most credit has the
    turn and pays for it (smooth weighted round robin).  A member's share is its weight, between
    :data:`MINIMAL_SHARE` of it and all of it depending on how much new behaviour its executions
    showed lately; so no member starves, whatever the others find.

    Parameters:
        members: at least one.
        is_large: whether the space is too large to be exhausted.
    """

    members: Sequence[Member] = field(default_factory=tuple)
    is_large: bool = False

    def next(self) -> Member | None:
        """The member whose turn it is, ``None`` if none has anything left."""
        active = self._credit(1)
        if not active:
            return None
        # The first of those with the most credit.
        member = max(active, key=_credit_of)
        member.credit -= 1.0
        return member

    def in_order(self, turns: int) -> list[Member]:
        """Credit the members with their shares of some turns; sort by credit, the most first."""
        return sorted(self._credit(turns), key=_credit_of, reverse=True)

    def weight_of(self, member: Member) -> float:
        """The weight of a member in this space."""
        if self.is_large and member.weight_in_large is not None:
            return member.weight_in_large
        return member.weight

    def _credit(self, turns: int) -> list[Member]:
        active = [member for member in self.members if not member.is_over]
        shares = [
            self.weight_of(member) * (MINIMAL_SHARE + (1.0 - MINIMAL_SHARE) * member.novelty)
            for member in active
        ]
        total = sum(shares)
        for member, share in zip(active, shares, strict=True):
            member.credit += turns * share / total
        return active

    def reward(self, member: Member, novelty: float) -> None:
        """Note how much new behaviour an execution of a member showed, from 0 to 1."""
        member.executions += 1
        member.novelty = MEMORY * member.novelty + (1.0 - MEMORY) * novelty


_credit_of = attrgetter("credit")
