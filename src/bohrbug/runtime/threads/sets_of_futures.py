"""In which order a program meets futures that ``concurrent.futures`` gives it in a set.

``wait`` returns sets, and ``as_completed`` begins with a set of those that are done already.
Natively a set of futures is gone through in the order of their addresses, which may be any.  Here
it is a choice of the schedule, made each time that the program takes the next one of several.
"""

from __future__ import annotations

import concurrent.futures
import concurrent.futures._base as base
from collections.abc import Callable, Iterable, Iterator
from sys import _getframe
from typing import Any

from bohrbug.runtime.threads.control import controlled, outside_internal_modules
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.rewrite.callables import tell_consumed
from bohrbug.runtime.threads.synchronizers import place_of

patches = Patches()

_Future = base.Future[Any]


def _chosen(remaining: list[_Future], place: Any) -> _Future:
    """The next one of several, which is a choice, taken out of them."""
    execution = controlled()
    if execution is None or len(remaining) == 1:
        return remaining.pop(0)
    return remaining.pop(execution.choose(len(remaining), place))


class FutureSet(set[_Future]):
    """What ``wait`` returns: a set in all respects but for the order, which is a choice."""

    __slots__ = ()

    def __iter__(self) -> Iterator[_Future]:
        return _through(self, list(super().__iter__()), place_of(_getframe(1)))

    def pop(self) -> _Future:
        """Remove and return one, which is a choice.

        Raises:
            KeyError: there is none.
        """
        if not self:
            raise KeyError("pop from an empty set")
        found = _chosen(list(super().__iter__()), place_of(_getframe(1)))
        self.remove(found)
        return found

    def __repr__(self) -> str:
        return repr(set(self)) if self else "set()"

    def __reduce__(self) -> tuple[Any, ...]:
        return set, (list(super().__iter__()),)


def _through(owner: FutureSet, remaining: list[_Future], place: Any) -> Iterator[_Future]:
    size = len(owner)
    while remaining:
        yield _chosen(remaining, place)
        if len(owner) != size:
            raise RuntimeError("Set changed size during iteration")


def _giving_the_same(name: str) -> Callable[..., Any]:
    """An operation of sets whose result is gone through in an order of choice, too."""
    operation = getattr(set, name)

    def method(self: FutureSet, *others: Iterable[Any]) -> Any:
        result = operation(self, *others)
        return FutureSet(result) if type(result) is set else result

    method.__name__ = method.__qualname__ = name
    return method


for _name in (
    *("copy", "difference", "intersection", "symmetric_difference", "union"),
    *("__and__", "__or__", "__sub__", "__xor__", "__rand__", "__ror__", "__rsub__", "__rxor__"),
):
    setattr(FutureSet, _name, _giving_the_same(_name))


def _in_order_of_choice(futures: set[_Future]) -> set[_Future]:
    return FutureSet(futures) if len(futures) > 1 else futures


_wait = base.wait


def wait(
    fs: Iterable[_Future], timeout: float | None = None, return_when: str = base.ALL_COMPLETED
) -> Any:
    """Stands for ``concurrent.futures.wait``."""
    if controlled() is None:
        return _wait(fs, timeout, return_when)
    # Another task may change what they are in.
    tell_consumed(fs, "concurrent.futures.wait", in_any_order=True)
    found = _wait(fs, timeout, return_when)
    return base.DoneAndNotDoneFutures(*map(_in_order_of_choice, found))


patches.add(base, "wait", wait)
patches.add(concurrent.futures, "wait", wait)

_as_completed = base.as_completed


def as_completed(fs: Iterable[_Future], timeout: float | None = None) -> Iterator[_Future]:
    """Stands for ``concurrent.futures.as_completed``."""
    if controlled() is not None:
        tell_consumed(fs, "concurrent.futures.as_completed", in_any_order=True)
    yield from _as_completed(fs, timeout)


patches.add(base, "as_completed", as_completed)
patches.add(concurrent.futures, "as_completed", as_completed)

_yield_finished = base._yield_finished_futures  # type: ignore[attr-defined]


def _yield_finished_futures(
    fs: list[_Future], waiter: Any, ref_collect: tuple[set[_Future], ...]
) -> Iterator[_Future]:
    """Stands for what ``as_completed`` yields by: first those of a set, then as they complete."""
    is_of_a_set = len(ref_collect) == 1
    if not is_of_a_set or controlled() is None:
        yield from _yield_finished(fs, waiter, ref_collect)
        return
    while fs:
        place = place_of(outside_internal_modules(_getframe()))
        yield from _yield_finished([_chosen(fs, place)], waiter, ref_collect)


patches.add(base, "_yield_finished_futures", _yield_finished_futures)
