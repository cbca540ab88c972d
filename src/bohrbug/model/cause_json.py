"""The JSON form of orderings and causes, part of plans and reproduction files.

Everything here raises :class:`ValueError` for what it can't read; who reads the
file says which part of it that was.
"""

from __future__ import annotations

from typing import Any

from bohrbug.model.cause import Cause, Strength
from bohrbug.model.operation import KINDS, Site
from bohrbug.model.ordering import Event, Ordering

Json = Any
"""What ``json`` reads and writes."""


def event_to_json(event: Event) -> Json:
    """An event as an object."""
    return {
        "task": event.task,
        "kind": event.kind.name,
        "resource": event.resource,
        "site": None if event.site is None else list(event.site),
        "occurrence": event.occurrence,
        "fired": event.fired,
    }


def event_from_json(data: Json) -> Event:
    """The event that :func:`event_to_json` wrote.

    Raises:
        ValueError: it is none.
    """
    fields = _object(data, "an event", ("task", "kind", "resource", "site", "occurrence", "fired"))
    kind = fields["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(
            f"the kind of operation {kind!r:.80} is not known to this Bohrbug; it may be of a"
            " newer one: upgrade"
        )
    task = _typed(fields["task"], str, "the task of an event")
    resource = _typed(fields["resource"], str, "the resource of an event")
    occurrence = _count(fields["occurrence"], "the occurrence of an event")
    if not occurrence:
        raise ValueError("the occurrences of events count from 1")
    fired = _typed(fields["fired"], bool, "whether an event is a timeout")
    return Event(task, KINDS[kind], resource, _site(fields["site"]), occurrence, fired)


def orderings_to_json(orderings: tuple[Ordering, ...]) -> Json:
    """Orderings as a list of pairs."""
    return [[event_to_json(o.first), event_to_json(o.second)] for o in orderings]


def orderings_from_json(data: Json) -> tuple[Ordering, ...]:
    """The orderings that :func:`orderings_to_json` wrote.

    Raises:
        ValueError: they are none.
    """
    found = []
    for pair in _typed(data, list, "orderings"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"an ordering is a pair of events, not {pair!r:.80}")
        found.append(Ordering(event_from_json(pair[0]), event_from_json(pair[1])))
    return tuple(found)


def cause_to_json(cause: Cause | None) -> Json:
    """A cause as an object, or ``None``."""
    if cause is None:
        return None
    return {
        "strength": cause.strength.value,
        "orderings": orderings_to_json(cause.orderings),
        "met": cause.met,
        "met_failed": cause.met_failed,
        "unmet": cause.unmet,
        "unmet_failed": cause.unmet_failed,
        "complete": cause.complete,
        "alike": [list(tasks) for tasks in cause.alike],
    }


def cause_from_json(data: Json) -> Cause | None:
    """The cause that :func:`cause_to_json` wrote.

    Raises:
        ValueError: it is none.
    """
    if data is None:
        return None
    fields = _object(data, "a cause", Cause.__slots__)

    def count(name: str) -> int:
        return _count(fields[name], f"{name!r} of a cause")

    return Cause(
        Strength(fields["strength"]),
        orderings_from_json(fields["orderings"]),
        count("met"),
        count("met_failed"),
        count("unmet"),
        count("unmet_failed"),
        complete=_typed(fields["complete"], bool, "'complete' of a cause"),
        alike=tuple(
            tuple(_typed(task, str, "a task of a cause") for task in _typed(group, list, "tasks"))
            for group in _typed(fields["alike"], list, "'alike' of a cause")
        ),
    )


def _typed(value: Json, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{what} can't be {value!r:.80}")
    return value


def _count(value: Json, what: str) -> int:
    count = _typed(value, int, what)
    if count < 0:
        raise ValueError(f"{what} can't be {count}")
    return int(count)


def _object(data: Json, what: str, names: Any) -> dict[str, Json]:
    fields: dict[str, Json] = _typed(data, dict, what)
    missing = [name for name in names if name not in fields]
    if missing:
        raise ValueError(f"{missing[0]!r} of {what} is missing")
    return fields


def _site(row: Json) -> Site | None:
    if row is None:
        return None
    if (
        not isinstance(row, list)
        or len(row) != 4
        or [type(entry) for entry in row] != [str, int, str, int]
    ):
        raise ValueError(f"a site is [file name, line, function, column], not {row!r:.80}")
    return Site(*row)
