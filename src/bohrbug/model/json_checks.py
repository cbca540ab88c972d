"""Reading JSON that may be damaged: small checks that say what is wrong and where.

Each check takes a value and the words for where it was found, and gives the value
back or raises :class:`FileFormatError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from bohrbug.model.plan import Choice

Json = Any
"""What ``json`` reads and writes."""

VERSION = 1
"""Goes up when an older Bohrbug could not read what this one writes."""

LONGEST = 50_000_000
"""No column may be longer when run lengths are multiplied out: a typo must not fill memory."""

T = TypeVar("T")


class FileFormatError(ValueError):
    """A plan or trace can't be read: it was damaged, or isn't one."""


class UnknownVersionError(FileFormatError):
    """A plan or trace was written by a newer Bohrbug."""


# ---------------------------------------------------------------- run lengths


def run_lengths(values: Iterable[Any]) -> list[Json]:
    """A column with repetitions as ``[value, how often]`` and the rest as ``value``.

    Runs of one are written without a count; values must not be lists.
    """
    runs: list[list[Any]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return [run[0] if run[1] == 1 else run for run in runs]


def from_run_lengths(runs: Json, check: Callable[[Json, str], T], where: str) -> list[T]:
    """Undo :func:`run_lengths`.

    Parameters:
        runs: what was read.
        check: gives back its first argument if it is what the column holds.
        where: what is being read, for messages.

    Raises:
        FileFormatError: it is no such column.
    """
    column: list[T] = []
    for run in a_list(runs, where):
        entry, count = run, 1
        if isinstance(run, list):
            if len(run) != 2:
                raise FileFormatError(f"{where}: a run must be [value, how often], not {run!r:.80}")
            entry, count = run[0], a_count(run[1], where)
        value = check(entry, where)
        if len(column) + count > LONGEST:
            raise FileFormatError(f"{where}: more than {LONGEST:,} entries")
        column += [value] * count
    return column


# --------------------------------------------------------------- small checks


def is_a(kind: type[T], name: str) -> Callable[[Json, str], T]:
    """A check for a type of JSON value, called ``name`` in messages."""

    def check(value: Json, where: str) -> T:
        # ``True`` is an int to Python and none to us.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise FileFormatError(f"{where}: {name} expected, found {value!r:.80}")
        return value

    return check


a_string = is_a(str, "a string")
an_int = is_a(int, "a whole number")
a_bool = is_a(bool, "true or false")
a_list: Callable[[Json, str], list[Json]] = is_a(list, "a list")
an_object: Callable[[Json, str], dict[str, Json]] = is_a(dict, "an object")


def a_number(value: Json, where: str) -> float:
    """A whole number or one with a fraction."""
    return (
        float(an_int(value, where))
        if isinstance(value, int)
        else is_a(float, "a number")(value, where)
    )


def a_count(value: Json, where: str) -> int:
    """A whole number, 0 or more."""
    if an_int(value, where) < 0:
        raise FileFormatError(f"{where}: 0 or more expected, found {value}")
    return int(value)


def a_choice(value: Json, where: str) -> Choice:
    """An element of a choice sequence."""
    if isinstance(value, str):
        return value
    return a_count(value, where)


def field_of(data: dict[str, Json], name: str, where: str) -> Json:
    """A field that must be there."""
    if name not in data:
        raise FileFormatError(f"{where}: {name!r} is missing")
    return data[name]


def optional(value: Json, where: str, check: Callable[[Json, str], T]) -> T | None:
    """``null``, or what ``check`` accepts."""
    return None if value is None else check(value, where)


def a_row(value: Json, where: str, *checks: Callable[[Json, str], Any]) -> list[Any]:
    """A list with an entry for each check."""
    row = a_list(value, where)
    if len(row) != len(checks):
        raise FileFormatError(f"{where}: {len(checks)} entries expected, found {row!r:.80}")
    return [check(entry, where) for check, entry in zip(checks, row, strict=True)]


def strings(value: Json, where: str) -> tuple[str, ...]:
    """A list of strings."""
    return tuple(a_string(entry, where) for entry in a_list(value, where))


def header_of(data: Json, expected: str) -> dict[str, Json]:
    """Check format and version."""
    header = an_object(data, expected)
    if header.get("format") != expected:
        raise FileFormatError(
            f"this is no {expected}: 'format' is {header.get('format')!r:.80};"
            " give a file that Bohrbug wrote"
        )
    version = an_int(field_of(header, "version", expected), f"{expected} version")
    if version > VERSION:
        raise UnknownVersionError(
            f"{expected} version {version} is newer than this Bohrbug, which reads up to"
            f" {VERSION}; upgrade Bohrbug"
        )
    if version < 1:
        raise UnknownVersionError(f"there is no {expected} version {version}")
    return header


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Numbers too big to convert and the like are damage too."""
    try:
        yield
    except FileFormatError:
        raise
    except (ValueError, OverflowError) as error:
        raise FileFormatError(f"{what}: {error}") from error
