"""What C11 allows of litmus tests: an axiomatic model, of which the shim has none of the code.

All executions are tried: which store each load sees, and in which order the stores to each place
come.  Those count that RC11 allows (Lahav, Vafeiadis, Kang, Hur and Dreyer, *Repairing sequential
consistency in C/C++11*, PLDI 2017), and in which some order of all steps agrees with the program,
with who sees what, with the orders of stores, and with that of what is sequentially consistent.
The last is what an execution one step after the other can show of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, permutations, product
from typing import NamedTuple


class Event(NamedTuple):
    """A step of a thread.

    Parameters:
        index: its number among all.
        thread: of its thread; -1 for what was there before.
        reads, writes: whether it does.
        place: the letter of what it is on, or nothing for a fence.
        value: that it stores, or adds.
        order: ``rlx``, ``acq``, ``rel`` or ``sc``.
    """

    index: int
    thread: int
    reads: bool
    writes: bool
    place: str
    value: int
    order: str


Pairs = frozenset[tuple[int, int]]


def _events(threads: Sequence[str]) -> list[Event]:
    events = [Event(i, -1, False, True, place, 0, "rlx") for i, place in enumerate("xyz")]
    for thread, text in enumerate(threads):
        for word in text.split():
            what, _, order = word.partition(".")
            is_fence, is_store, is_update = what == "fence", "=" in what, "+" in what
            events.append(
                Event(
                    len(events),
                    thread,
                    not is_fence and not is_store,
                    is_store or is_update,
                    "" if is_fence else what[0],
                    int(what[2]) if is_store or is_update else 0,
                    order,
                )
            )
    return events


def _then(*relations: Pairs) -> Pairs:
    """The composition of some relations."""
    first, *rest = relations
    for other in rest:
        first = frozenset((a, d) for a, b in first for c, d in other if b == c)
    return first


def _closed(relation: Pairs) -> Pairs:
    """The transitive closure."""
    while True:
        longer = relation | _then(relation, relation)
        if longer == relation:
            return relation
        relation = longer


def _is_cyclic(relation: Pairs) -> bool:
    return any(a == b for a, b in _closed(relation))


class _Execution:
    def __init__(self, events: list[Event], sources: dict[int, int], orders: list[tuple[int, ...]]):
        self.events = events
        indices = range(len(events))
        self.same = frozenset((i, i) for i in indices)
        self.program = frozenset(
            (a.index, b.index)
            for a, b in combinations(events, 2)
            if a.thread in (-1, b.thread) and b.thread != -1
        )
        self.sees = frozenset((source, load) for load, source in sources.items())
        self.stores = frozenset(pair for order in orders for pair in combinations(order, 2))
        self.before = frozenset(
            (load, later)
            for load, source in sources.items()
            for earlier, later in self.stores
            if earlier == source and later != load
        )

    def _of(self, chosen: Iterator[Event]) -> Pairs:
        return frozenset((event.index, event.index) for event in chosen)

    @property
    def _synchronised(self) -> Pairs:
        events = self.events
        fences = self._of(e for e in events if not e.place)
        stores = self._of(e for e in events if e.writes)
        loads = self._of(e for e in events if e.reads)
        updates = stores & loads
        releasing = self._of(e for e in events if e.order in ("rel", "sc", "acqrel"))
        acquiring = self._of(e for e in events if e.order in ("acq", "sc", "acqrel"))
        sequence = _then(stores, self.same | _closed(_then(self.sees, updates)))
        released = _then(releasing, self.same | _then(fences, self.program), sequence)
        return _then(released, self.sees, loads, self.same | _then(self.program, fences), acquiring)

    def is_allowed(self) -> bool:
        happens = _closed(self.program | self._synchronised)
        communicates = _closed(self.sees | self.stores | self.before)
        if any(a == b for a, b in happens) or any(a == b for a, b in _then(happens, communicates)):
            return False
        if any(a == b for a, b in _then(self.before, self.stores)):
            return False
        strongest = self._strongest(happens, communicates)
        return not _is_cyclic(strongest) and not _is_cyclic(
            self.program | self.sees | self.stores | strongest
        )

    def _strongest(self, happens: Pairs, communicates: Pairs) -> Pairs:
        events = self.events
        strong = self._of(e for e in events if e.order == "sc")
        fences = self._of(e for e in events if e.order == "sc" and not e.place)
        elsewhere = frozenset((a, b) for a, b in self.program if events[a].place != events[b].place)
        here = frozenset(
            (a, b) for a, b in happens if events[a].place and events[a].place == events[b].place
        )
        base = (
            self.program | _then(elsewhere, happens, elsewhere) | here | self.stores | self.before
        )
        maybe = self.same | happens
        left = strong | _then(fences, maybe)
        right = strong | _then(maybe, fences)
        between = _then(fences, happens | _then(happens, communicates, happens), fences)
        return _then(left, base, right) | between

    def outcome(self, values: dict[int, int], last: dict[str, int], threads: int) -> str:
        words = []
        for thread in range(threads):
            mine = (e for e in self.events if e.thread == thread and e.reads)
            words.append("".join(str(values[e.index]) for e in mine))
        return f"{' '.join(words)} {''.join(str(last[place]) for place in 'xyz')}"


def _values(events: list[Event], sources: dict[int, int]) -> dict[int, int] | None:
    """What each load saw; ``None`` if loads see each other in a circle."""

    def stored(index: int, depth: int) -> int | None:
        if depth > len(events):
            return None
        event = events[index]
        if not event.reads:
            return event.value
        seen = stored(sources[index], depth + 1)
        return None if seen is None else seen + event.value

    found = {}
    for load, source in sources.items():
        value = stored(source, 0)
        if value is None:
            return None
        found[load] = value
    return found


@cache
def outcomes(threads: tuple[str, ...]) -> frozenset[str]:
    """What a litmus test in the words of ``programs/memory_orders.c`` may print."""
    events = _events(threads)
    stores = {p: [e.index for e in events if e.writes and e.place == p] for p in "xyz"}
    loads = [e for e in events if e.reads]
    orders = [
        [(first, *rest) for rest in permutations(others)] for first, *others in stores.values()
    ]
    found = set()
    for chosen in product(*[[s for s in stores[e.place] if s != e.index] for e in loads]):
        sources = {e.index: source for e, source in zip(loads, chosen, strict=True)}
        values = _values(events, sources)
        if values is None:
            continue
        for each in product(*orders):
            execution = _Execution(events, sources, list(each))
            if execution.is_allowed():
                last = {}
                for place, order in zip("xyz", each, strict=True):
                    event = events[order[-1]]
                    before = values[event.index] if event.reads else 0
                    last[place] = before + event.value
                found.add(execution.outcome(values, last, len(threads)))
    return frozenset(found)
