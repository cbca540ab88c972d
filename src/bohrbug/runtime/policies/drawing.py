"""The random numbers of policies; ``core/draw.h`` draws the same."""

from __future__ import annotations

_64_BITS = (1 << 64) - 1


class SplitMix:
    """SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*).

    OOPSLA 2014, figure 17.  Seeding the Mersenne twister takes longer than a short execution.

    Parameters:
        seed: any number, of which the lower 64 bits count.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed

    def bits(self) -> int:
        """64 random bits."""
        self._state = state = (self._state + 0x9E3779B97F4A7C15) & _64_BITS
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & _64_BITS
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & _64_BITS
        return state ^ (state >> 31)

    def below(self, limit: int) -> int:
        """A number below ``limit``, each with the same probability."""
        # Its upper half as a fraction of 2 ** 32.
        return (self.bits() >> 32) * limit >> 32

    def fraction(self) -> float:
        """A number from 0 to 1, below 1."""
        return (self.bits() >> 32) / 2**32

    def priority(self) -> int:
        """One that hardly any other draw gives."""
        return self.bits() >> 2


class Drawing:
    """The base of deciders that draw.

    Parameters:
        seed: of the numbers.
    """

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        self._random = SplitMix(seed)

    def value(self, arity: int) -> int:
        """Any value, with the same probability."""
        return self._random.below(arity)
