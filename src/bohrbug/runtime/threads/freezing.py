"""Which objects the collections between the executions of one exploration pass over."""

from __future__ import annotations

from types import FunctionType

from bohrbug.runtime.threads import heap

FREEZES_AFTER = 50
"""Functions that are rewritten before collections no longer look at what was made for that."""

LEARNT_AFTER = 10
"""Executions after which most is known of a program, so that little more is made that stays.

Not only what was rewritten: also what the first ones that are watched have looked up."""


class Freezing:
    """What exists now is not looked at again, nor what rewriting makes.

    Attributes:
        is_begun: whether some objects are passed over.
    """

    def __init__(self) -> None:
        self.is_begun = False
        # How many functions were rewritten when objects were frozen last.
        self._codes = 0

    def begin(self, codes: int, functions: list[FunctionType] | None = None) -> None:
        """Pass over all that exists.

        Parameters:
            codes: how many functions are rewritten.
            functions: see :func:`.heap.freeze`.
        """
        self.is_begun = True
        self._codes = codes
        heap.freeze(functions)

    def is_behind(self, codes: int, executions: int) -> bool:
        """Whether collections look at much of ours that stays: rewritten code, syntax trees.

        Parameters:
            codes: how many functions are rewritten by now.
            executions: how many there were.
        """
        return self.is_begun and (
            codes - self._codes >= FREEZES_AFTER or executions == LEARNT_AFTER
        )

    def go_on(self, codes: int) -> None:
        """Pass over what has been made since then, too."""
        self._codes = codes
        heap.pass_over()

    def end(self) -> None:
        """Nothing is passed over any more."""
        if self.is_begun:
            heap.unfreeze()
            self.is_begun = False
