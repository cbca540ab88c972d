"""Branches that wait for their turn, in compact form: there may be millions."""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

from bohrbug.model.plan import Choice

_FIRST = 48
"""The code of the first choice: characters from ``0`` on need no escapes in JSON."""


class Alphabet:
    """Choices as single characters, so that a choice sequence is a compact string."""

    __slots__ = ("_choices", "codes")

    def __init__(self) -> None:
        self.codes: dict[Choice, str] = {}
        self._choices: dict[str, Choice] = {}

    def encode(self, choices: Sequence[Choice]) -> str:
        """A choice sequence as a string."""
        codes = self.codes
        try:
            return "".join([codes[choice] for choice in choices])
        except KeyError:
            return "".join([self.code(choice) for choice in choices])

    def code(self, choice: Choice) -> str:
        """The character for a choice."""
        code = self.codes.get(choice)
        if code is None:
            code = self.codes[choice] = chr(_FIRST + len(self.codes))
            self._choices[code] = choice
        return code

    def decode(self, text: str) -> tuple[Choice, ...]:
        """The choice sequence that a string stands for."""
        return tuple([self._choices[code] for code in text])

    def choices(self) -> list[Choice]:
        """All choices in the order of their codes, for :meth:`translation`."""
        return list(self.codes)

    def translation(self, choices: Sequence[Choice]) -> dict[int, str]:
        """For ``str.translate``: from the codes of another alphabet to those of this one.

        Parameters:
            choices: of the other one, in the order of their codes.
        """
        codes = {_FIRST + number: self.code(choice) for number, choice in enumerate(choices)}
        return {code: own for code, own in codes.items() if chr(code) != own}


class Deferred:
    """The branches of one execution that wait for the next bound.

    Three flat columns instead of an object per branch.

    Parameters:
        choices: of the execution, up to the last branch, encoded.
        steps: where the branches are.
        options: the choices to make there, encoded.
        keys: of their edges in the cache; empty without one.
    """

    __slots__ = ("choices", "keys", "next", "options", "steps")

    def __init__(self, choices: str, steps: array[int], options: str, keys: array[int]) -> None:
        self.choices = choices
        self.steps = steps
        self.options = options
        self.keys = keys
        self.next = 0

    def prefix(self, index: int) -> str:
        """The choices that lead to a branch, and the one made there, encoded."""
        return self.choices[: self.steps[index]] + self.options[index]

    @property
    def waiting(self) -> int:
        """How many branches are not taken yet."""
        return len(self.steps) - self.next

    def split(self, branches: int) -> Deferred:
        """Part with the first branches."""
        start, end = self.next, self.next + branches
        self.next = end
        steps = self.steps[start:end]
        return Deferred(
            self.choices[: steps[-1]], steps, self.options[start:end], self.keys[start:end]
        )

    def to_json(self) -> list[Any]:
        """Plain data, without what was taken."""
        start = self.next
        return [
            self.choices,
            _packed(self.steps[start:]),
            self.options[start:],
            _packed(self.keys[start:]),
        ]

    @classmethod
    def from_json(cls, data: list[Any], codes: dict[int, str]) -> Deferred:
        """The branches that :meth:`to_json` wrote.

        Parameters:
            data: what it wrote.
            codes: see :meth:`Alphabet.translation`.
        """
        choices, steps, options, keys = data
        if codes:
            choices, options = choices.translate(codes), options.translate(codes)
        return cls(choices, _unpacked("I", steps), options, _unpacked("q", keys))


def _packed(numbers: array[int]) -> str:
    return b64encode(numbers.tobytes()).decode("ascii")


def _unpacked(kind: str, text: str) -> array[int]:
    numbers = array(kind)
    numbers.frombytes(b64decode(text))
    return numbers
