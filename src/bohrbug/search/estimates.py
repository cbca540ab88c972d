"""How large the space of schedules is, how much of it was seen, and how sure that is.

Four estimators, each with its error, each fed with what executions show anyway:

- :class:`TreeProbes`: the number of *schedules*, from random walks.
- :class:`ClassCounts`: the number of *happens-before classes*, and how likely another random
  execution is to show a new one, from how often each class was seen.
- :func:`share_of_tree`: how much of its tree a depth-first search has behind it, from the path
  that it is on; from that its size and the time to its end.
- :func:`size_of_bounded_tree`: the size of a search within a bound, from what it puts off.

None of them is a bound: a rare part of the space that no execution came near is not in them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from bohrbug.model.plan import UniformRandom
from bohrbug.model.trace import Trace

_MOST_COSTS = 100
"""Costs that are added up where there is no bound."""

_KILBY = "Kilby et al. 2006"

_LARGEST = 700.0
"""Natural logarithms above this are not turned into floats."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated number of something, with its error.

    The numbers are natural logarithms: there may be more schedules than a float can hold.

    Parameters:
        what: what is counted, in the plural, such as ``schedules``.
        log_size: the estimate.
        log_low: the lower end of the interval.
        log_high: the upper end; ``inf`` if the samples say nothing of it.
        samples: how many executions it was made from.
        method: how, in a few words with the source.
        seen: how many of them were seen so far.
        comes_to_end: whether the search goes on until it has seen them all.
        is_least: there are at least about so many.
        log_schedules: how many schedules they are, if those count that differ only in the order
            of independent operations; 0 where that is not known.
    """

    what: str
    log_size: float
    log_low: float
    log_high: float
    samples: int
    method: str
    seen: int = 0
    comes_to_end: bool = False
    is_least: bool = False
    log_schedules: float = 0.0

    @property
    def size(self) -> float:
        """The estimate, ``inf`` if a float can't hold it."""
        return _power(self.log_size)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return _power(self.log_low)

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return _power(self.log_high)

    @property
    def share(self) -> float:
        """The part of the whole that was seen, at most 1."""
        return min(1.0, self.seen / self.size)

    def seconds_left(self, seconds: float) -> float | None:
        """How long the search still takes at the rate so far.

        Parameters:
            seconds: that it took so far, executions of others included.

        Returns:
            Seconds, or ``None`` if the search does not go on to its end or nothing is known.
        """
        if not (self.comes_to_end and self.seen):
            return None
        return max(self.size - self.seen, 0.0) * seconds / self.seen

    def __str__(self) -> str:
        least = "at least " if self.is_least else ""
        text = f"{least}about {in_words(self.log_size)} {self.what}"
        if self.is_least:
            # The interval is that of a lower bound.
            return text
        low, high = in_words(self.log_low), in_words(self.log_high)
        if low == high:
            return text
        between = f"at least {low}" if math.isinf(self.log_high) else f"{low} to {high}"
        return f"{text} ({between})"


def _power(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm <= _LARGEST else math.inf


def in_words(logarithm: float) -> str:
    """A number for people: ``1,240``, ``3.1 million``, ``10^45``."""
    if logarithm <= math.log(99_999.5):
        number = math.exp(logarithm)
        digits = 2 - math.floor(math.log10(number)) if number >= 1 else 0
        return f"{round(number, min(digits, 0)):,.0f}"
    decimal = logarithm / math.log(10)
    for name, power in (("thousand", 3), ("million", 6), ("billion", 9)):
        if decimal < power + 3:
            return (
                f"{10 ** (decimal - power):.2g} {name}"
                if decimal < power + 2
                else (f"{10 ** (decimal - power):.0f} {name}")
            )
    return f"10^{decimal:.0f}" if decimal < 1e6 else "very many"


class TreeProbes:
    """The number of schedules, from random walks (Knuth, *Mathematics of Computation*, 1975).

    A random walk that had ``b1, b2, ...`` options at its steps, each with the same
    probability, is a sample whose expectation is the number of leaves of the tree when it is
    weighted with ``b1 * b2 * ...``.  The estimate is the mean of the weights, its error twice
    their standard error.  The weights are skewed, so few samples tend to estimate too little.
    """

    def __init__(self) -> None:
        self._logs: list[float] = []

    def __len__(self) -> int:
        return len(self._logs)

    def add(self, trace: Trace) -> bool:
        """Take a trace in, if it is a random walk from the beginning; whether it was."""
        if trace.plan.prefix or not isinstance(trace.plan.policy, UniformRandom):
            return False
        self.add_weight(log_weight(trace))
        return True

    def add_weight(self, logarithm: float) -> None:
        """Take the logarithm of one weight in."""
        self._logs.append(logarithm)

    def to_json(self) -> list[float]:
        """Plain data: what :meth:`add_weight` takes."""
        return list(self._logs)

    def estimate(self) -> Estimate | None:
        """The estimate; ``None`` before the first sample."""
        number = len(self._logs)
        if not number:
            return None
        largest = max(self._logs)
        scaled = [math.exp(each - largest) for each in self._logs]
        mean = sum(scaled) / number
        log_size = largest + math.log(mean)
        method = "Knuth 1975"
        if number == 1:
            return Estimate("schedules", log_size, 0.0, math.inf, 1, method)
        variance = sum((each - mean) ** 2 for each in scaled) / (number - 1)
        error = 2 * math.sqrt(variance / number)
        # At least as many schedules as the smallest weight is no bound, but one schedule is.
        log_low = largest + math.log(mean - error) if error < mean else 0.0
        return Estimate(
            "schedules",
            log_size,
            max(log_low, 0.0),
            largest + math.log(mean + error),
            number,
            method,
        )


def log_weight(trace: Trace) -> float:
    """The logarithm of the product of the numbers of options at the steps of a trace."""
    counts = Counter(
        len(enabled) + len(timed)
        for enabled, timed in zip(trace.enabled, trace.timed, strict=True)
        if len(enabled) + len(timed) > 1
    )
    total = sum(times * math.log(options) for options, times in counts.items())
    for step, arity in trace.arities.items():
        total += math.log(arity) - math.log(
            max(len(trace.enabled[step]) + len(trace.timed[step]), 1)
        )
    return total


class ClassCounts:
    """How many happens-before classes there are, from how often each was seen.

    With ``f1`` classes seen once and ``f2`` seen twice in ``n`` random executions of which ``s``
    were distinct:

    - another one is new with probability about ``f1 / n`` (Good, *Biometrika*, 1953; the error
      after Esty, *Annals of Statistics*, 1983);
    - there are at least about ``s + f1**2 / (2 * f2)`` classes (Chao, *Scandinavian Journal of
      Statistics*, 1984; the interval after Chao, *Biometrics*, 1987).

    Both are meant for independent samples of one distribution.  A portfolio draws from several,
    and then they describe the mixture that was drawn from.
    """

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()
        self._often: Counter[int] = Counter()
        self.samples = 0

    def add(self, known_by: int) -> bool:
        """Count one more execution of the class that has this hash; whether it is new."""
        times = self._times[known_by]
        self._times[known_by] = times + 1
        if times:
            self._often[times] -= 1
        self._often[times + 1] += 1
        self.samples += 1
        return not times

    def to_json(self) -> list[list[int]]:
        """Plain data: the hashes, and how often each was seen."""
        return [list(self._times), list(self._times.values())]

    def merge(self, data: list[list[int]]) -> None:
        """Become what :meth:`to_json` wrote."""
        self._times = Counter(dict(zip(*data, strict=True)))
        self._often = Counter(self._times.values())
        self.samples = sum(data[1])

    @property
    def met(self) -> Collection[int]:
        """The hashes of the classes seen."""
        return self._times.keys()

    @property
    def distinct(self) -> int:
        """Classes seen."""
        return len(self._times)

    def chance_of_new(self) -> tuple[float, float]:
        """How likely another execution is to show a new class, and twice the standard error."""
        if not self.samples:
            return 1.0, 1.0
        once = self._often[1] / self.samples
        twice = self._often[2] / self.samples
        return once, 2 * math.sqrt(max(once + 2 * twice - once**2, 0.0) / self.samples)

    def estimate(self) -> Estimate | None:
        """The number of classes; ``None`` before the first sample."""
        if not self.samples:
            return None
        seen = len(self._times)
        once, twice = self._often[1], self._often[2]
        if twice:
            ratio = once / twice
            unseen = once * ratio / 2
            variance = twice * (ratio**4 / 4 + ratio**3 + ratio**2 / 2)
        else:
            unseen = once * (once - 1) / 2
            variance = max(
                once * (once - 1) / 2
                + once * (2 * once - 1) ** 2 / 4
                - once**4 / (4 * (seen + unseen)),
                0.0,
            )
        log_low = log_high = math.log(seen + unseen)
        if unseen and variance:
            spread = math.exp(1.96 * math.sqrt(math.log1p(variance / unseen**2)))
            log_low, log_high = math.log(seen + unseen / spread), math.log(seen + unseen * spread)
        if once == self.samples:
            # Nothing was seen twice: of an upper end the samples say nothing.
            log_high = math.inf
        return Estimate(
            "different behaviours",
            math.log(seen + unseen),
            log_low,
            log_high,
            self.samples,
            "Chao 1984",
            seen,
            is_least=unseen > 0,
        )


def share_of_tree(levels: Iterable[tuple[float, float]]) -> float:
    """How much of its tree a depth-first search has behind it.

    Each node's weight is shared out evenly among its branches; the weights of the branches that
    are done add up to the share.  It is the estimator of Knuth over the explored part of the
    tree (Kilby, Slaney, Thiebaux and Walsh, AAAI 2006, call it the weighted backtrack estimator).

    Parameters:
        levels: for each node on the path to where the search is, from the root: how many
            branches are done (the one it is on not counted), and how many there are; where they
            are of different sizes, as multiples of the one that it is on.
    """
    share, weight = 0.0, 1.0
    for done, branches in levels:
        weight /= branches
        share += done * weight
        if weight < 1e-300:
            break
    return min(share, 1.0)


def size_from_share(executed: int, share: float, what: str) -> Estimate | None:
    """The size of a tree of which a share was explored with so many executions.

    The interval is a rule of thumb and no confidence interval: a depth-first search has
    seen one corner of its tree and has no samples of the rest.  It is a factor of four either
    way at the beginning, of two when half is explored, and closes towards the end.

    Parameters:
        executed: executions so far.
        share: see :func:`share_of_tree`.
        what: is counted, in the plural.
    """
    if executed < 1 or share <= 0.0:
        return None
    seen = math.log(executed)
    size = seen - math.log(share)
    spread = (1.0 - share) * math.log(4)
    return _of_tree(executed, what, size, (max(size - spread, seen), size + spread), _KILBY)


FOUND_ONLY, FORESEEN = 1.5, 1.1
"""Powers of the share of a tree whose branches are found late: of those found, and of those that
are to come as well."""


def size_of_growing_tree(
    executed: int, share: float, what: str, power: float = FOUND_ONLY
) -> Estimate | None:
    """The size of a tree whose branches are found while it is explored, as those of DPOR are.

    The races of later executions add branches to nodes that are counted as almost done, so
    :func:`size_from_share` says too little, and the more so the less was explored: of a tree with
    14,400 leaves it takes 1,300 for the whole after 153.  What is divided by is therefore a power
    of the share, greater than 1 at first and 1 in the end.  The interval, a rule of thumb again,
    goes from what was executed to what the power of 3 says.  All are what fitted trees that were
    explored to their end: eleven for the branches found, twelve for those foreseen as well.

    Parameters:
        executed: executions so far.
        share: see :func:`share_of_tree`.
        what: is counted, in the plural.
        power: at first, see above.
    """
    if executed < 1 or share <= 0.0:
        return None
    seen, unseen = math.log(executed), -math.log(share)
    size = seen + (power - (power - 1) * share) * unseen
    return _of_tree(executed, what, size, (seen, seen + 3 * unseen), f"after {_KILBY}")


def _of_tree(
    executed: int, what: str, log_size: float, interval: tuple[float, float], method: str
) -> Estimate:
    """An estimate of a tree whose leaves are executed one after the other."""
    return Estimate(what, log_size, *interval, executed, method, seen=executed, comes_to_end=True)


REDUCED_POWER = 0.8
"""Of the share of a tree whose later part is the smaller, as equivalent schedules are left out."""

REDUCED_RATE = 0.4
"""The part of the schedules with one preemption more that are equivalent to none before them."""


def size_of_bounded_tree(
    executed: int,
    within: int,
    open_here: int,
    level: float,
    waiting: Mapping[int, int],
    cost: int,
    bound: int | None,
    *,
    reduced: bool,
) -> Estimate:
    """The size of a search that goes from one cost to the next, up to a bound.

    Each execution puts off branches that cost more.  Of schedules with ``c`` preemptions among
    ``k`` steps there are about ``k**c / c!``, so one with ``c`` has some ``k / (c + 1)`` branches
    with one more; how many that is, the executions show that were made at the present cost.
    Where equivalent schedules are left out there are :data:`REDUCED_RATE` times as many as that
    from the second preemption on.

    The interval, a factor of four either way, is a rule of thumb: it held the truth in all
    490 looks at 36 searches of 18 programs that were executed to their end, from the
    eighth execution on.  The two constants were fitted to eight of those programs.

    Parameters:
        executed: executions so far.
        within: those of them at the present cost.
        open_here: branches that wait at the present cost.
        level: executions that there are at the present cost, estimated.
        waiting: branches that were put off, by cost.
        cost: the present cost.
        bound: the largest cost, ``None`` for no bound.
        reduced: whether equivalent schedules are left out.
    """
    level = max(level, within + open_here)
    size = executed - within + level
    if within:
        rate = waiting.get(cost + 1, 0) / within * (cost + 1)
        if reduced and not cost:
            rate *= REDUCED_RATE
        last = cost + _MOST_COSTS if bound is None else bound
        behind = 0.0
        for beyond in range(cost + 1, last + 1):
            those = waiting.get(beyond, 0) * level / within + behind
            size += those
            behind = those * rate / (beyond + 1)
    log_size = math.log(size)
    spread = math.log(4) if open_here or waiting else 0.0
    interval = max(log_size - spread, math.log(executed)), log_size + spread
    return _of_tree(executed, "executions", log_size, interval, "branches that wait")


def seen_in_words(estimate: Estimate) -> str:
    """Which part of the whole was seen, for people: ``42%``, ``at most 0.3%``."""
    words = share_in_words(estimate.share)
    return f"at most {words}" if estimate.is_least and estimate.share < 1 else words


def share_in_words(share: float) -> str:
    """A share for people: ``42%``, ``0.3%``, ``less than 0.01%``."""
    percent = 100 * share
    if percent >= 10 or percent == 0:
        return f"{percent:.0f}%"
    if percent >= 0.01:
        return f"{percent:.1g}%" if percent < 1 else f"{percent:.1f}%"
    return "less than 0.01%"


def rounded_up(probability: float) -> str:
    """A bound in words: two significant digits, never less than the number itself."""
    if probability < 1e-9:
        return "0.000000001" if probability else "0"
    text = f"{probability:.1e}"
    if float(text) < probability:
        mantissa, _, exponent = text.partition("e")
        text = f"{float(mantissa) + 0.1:.1f}e{exponent}"
    return f"{min(float(text), 1.0):.12f}".rstrip("0").rstrip(".")
