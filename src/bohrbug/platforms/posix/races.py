"""Data races of native programs, as far as one more execution and the source explain them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bohrbug.exploration.figures import RaceKey, race_key
from bohrbug.model.outcome import Access, Race
from bohrbug.model.trace import Trace
from bohrbug.monitors.native_race_classes import Side, classify
from bohrbug.runtime.posix.accesses import SeenRace, Witnessed, with_witness
from bohrbug.runtime.posix.native_trace import NativeTrace
from bohrbug.runtime.posix.runtime import NativeRuntime


def described(runtime: NativeRuntime, trace: Trace, races: Sequence[Race]) -> list[Race]:
    """Races with both stacks, the locks held, and what they look like.

    Parameters:
        runtime: nothing must have been learnt since the execution.
        trace: the execution in which they were seen.
        races: some of its races.
    """
    if not isinstance(trace, NativeTrace):
        return list(races)
    wanted = {race_key(race) for race in races}
    seen: dict[RaceKey, SeenRace] = {}
    for each in trace.seen.races:
        key = race_key(each.race)
        if key in wanted:
            seen.setdefault(key, each)
    witnessed = runtime.witness(trace, list(seen.values()))
    sides = dict(zip(seen, zip(witnessed[::2], witnessed[1::2], strict=True), strict=True))
    # Of several pairs of accesses at the same two lines the one that was seen first.
    complete = [
        replace(_described(seen[key].race, *sides[key]), count=race.count)
        for race in races
        if (key := race_key(race)) in sides
    ]
    for race in complete:
        if race.is_triangular:
            load = race.second if race.first.operation.kind.is_write else race.first
            runtime.note_weak_place(load.operation.place)
    return complete


def _described(race: Race, first: Witnessed | None, second: Witnessed | None) -> Race:
    allocated = next((w.allocated for w in (first, second) if w and w.allocated), None)
    return replace(
        race,
        first=with_witness(race.first, first),
        second=with_witness(race.second, second),
        pattern=classify(_side(race.first, first), _side(race.second, second)),
        is_triangular=_is_triangular(race, first, second),
        allocated=allocated,
    )


def _side(access: Access, witnessed: Witnessed | None) -> Side:
    site = access.operation.place
    is_write = access.operation.kind.is_write
    if witnessed is None:
        return Side(site, is_write)
    return Side(site, is_write, bool(witnessed.holding), witnessed.before, witnessed.after)


def _is_triangular(race: Race, first: Witnessed | None, second: Witnessed | None) -> bool | None:
    """Whether x86-TSO allows more here than sequential consistency (Owens, ECOOP 2010).

    A race between a load and a store is triangular if a store to other memory precedes the load,
    with no fence or locked instruction in between.  ``None`` where that is not known.
    """
    kinds = [access.operation.kind for access in (race.first, race.second)]
    if all(kind.is_write for kind in kinds):
        return False
    read = second if kinds[0].is_write else first
    return None if read is None else read.may_be_buffered
