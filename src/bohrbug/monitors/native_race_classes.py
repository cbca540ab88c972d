"""What a data race of a native program looks like: by the values seen, and by its source lines.

DataCollider (Erickson, Musuvathi, Burckhardt and Olynyk, OSDI 2010) tells counters for statistics
from reference counts by whether they only ever go up, reads from writes of other bits of a word
by the masks around them, and idempotent writes by their values.  Here the values come from an
execution that repeats the one with the race, and the rest from the text of the program, line by
line: no more than a hint, and none where the source is not there.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass
from functools import lru_cache

from bohrbug.model.operation import Site
from bohrbug.model.outcome import RacePattern

_NEAR = 15
"""Lines behind a test in which it is looked for once more."""

_NOISE = re.compile(r'//.*|/\*.*?\*/|"(?:\\.|[^"\\])*"')
_EXPRESSION = r"[A-Za-z_]\w*(?:\s*(?:->|\.|::)\s*\w+|\[[^\]]*\])*"
_COUNTED = re.compile(
    rf"(?P<before>\+\+|--)\s*\(?\*?(?P<one>{_EXPRESSION})"
    rf"|(?P<other>{_EXPRESSION})\)?\s*(?P<after>\+\+|--)"
)
_COMPOUND = re.compile(rf"(?P<target>{_EXPRESSION})\s*(?P<operator>[-+*/%|&^]|<<|>>)=(?!=)")
_PLAIN = re.compile(rf"(?P<target>{_EXPRESSION})\s*=(?!=)(?P<value>.*)")
_TEST = re.compile(r"\b(?:if|while)\s*\((?P<test>.*)")
_LOCK = re.compile(r"lock|guard|mutex|call_once", re.IGNORECASE)
_MASK = re.compile(r"&(?!&)\s*(?:~\s*)?\(?\s*(?:\w+|\d+\s*<<\s*\w+)")
_FREES = re.compile(r"\b(?:free|realloc|reallocarray)\s*\(|\bdelete\b|\.(?:reset|clear)\s*\(")
_BIT_FIELD = r"\b{}\s*:\s*\d+\s*[,;]"


@dataclass(frozen=True, slots=True)
class Side:
    """What is known of one of the two accesses.

    Parameters:
        site: where it is.
        is_write: whether it writes.
        holds_lock: whether its task held a lock.
        before: the value that was there, if that is known.
        after: the value written, if that is known.
    """

    site: Site | None
    is_write: bool
    holds_lock: bool = False
    before: int | None = None
    after: int | None = None

    @property
    def text(self) -> str:
        """The line, without comments and strings."""
        return "" if self.site is None else _line(self.site.filename, self.site.line)


def _line(filename: str, number: int) -> str:
    return _NOISE.sub(" ", linecache.getline(filename, number)).strip() if number > 0 else ""


@dataclass(frozen=True, slots=True)
class _Update:
    """A line that reads, computes and writes back: what, and in which direction if it counts."""

    target: str
    direction: int = 0
    is_bitwise: bool = False


@lru_cache(maxsize=1 << 14)
def _update(text: str) -> _Update | None:
    counted = _COUNTED.search(text)
    if counted is not None:
        sign = counted["before"] or counted["after"]
        target = counted["one"] or counted["other"]
        return _Update(_name(target), 1 if sign == "++" else -1)
    compound = _COMPOUND.search(text)
    if compound is not None:
        operator = compound["operator"]
        rest = text[compound.end() :].strip()
        constant = rest[:1].isdigit()
        direction = {"+": 1, "-": -1}.get(operator, 0) if constant else 0
        return _Update(_name(compound["target"]), direction, operator in "&|^")
    plain = _PLAIN.search(text)
    if plain is not None and re.search(rf"\b{re.escape(_name(plain['target']))}\b", plain["value"]):
        sign_of = re.search(r"([-+])\s*\d+\s*[;)]?\s*$", plain["value"].rstrip("; )") + ";")
        direction = 0 if sign_of is None else {"+": 1, "-": -1}[sign_of[1]]
        return _Update(_name(plain["target"]), direction)
    return None


def _name(expression: str) -> str:
    """The last identifier: ``count`` for ``self->count`` and ``count[i]``."""
    names = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]", "", expression))
    return names[-1] if names else expression


def _target(side: Side) -> str | None:
    """What the line of a write calls what it writes."""
    return _target_of(side.text)


def classify(first: Side, second: Side) -> RacePattern:
    """What a race looks like.

    Parameters:
        first, second: its two accesses.
    """
    both = (first, second)
    if any(side.is_write and _FREES.search(side.text) for side in both):
        return RacePattern.FREED
    if any(_is_double_checked(side, other) for side, other in (both, both[::-1])):
        return RacePattern.DOUBLE_CHECKED_LOCKING
    updates = [_update(side.text) for side in both]
    counts = all(update is not None and update.direction for update in updates)
    if counts:
        return _counter(first, second, [u for u in updates if u is not None])
    if any(_reads_other_bits(side, other) for side, other in (both, both[::-1])):
        return RacePattern.DIFFERENT_BITS
    if all(updates) or any(
        update and other.is_write for update, other in zip(updates, both[::-1], strict=True)
    ):
        return RacePattern.LOST_UPDATE
    if first.is_write and second.is_write:
        if _are_different_bit_fields(first, second):
            # Each writes the whole word back.
            return RacePattern.LOST_UPDATE
        same = first.after is not None and first.after == second.after
        return RacePattern.IDEMPOTENT_WRITE if same else RacePattern.UNCLASSIFIED
    if any(_is_checked_then_written(side) for side in both if not side.is_write):
        return RacePattern.CHECK_THEN_ACT
    return RacePattern.PUBLICATION


def _counter(first: Side, second: Side, updates: list[_Update]) -> RacePattern:
    goes_down = any(update.direction < 0 for update in updates) or any(
        side.is_write
        and side.before is not None
        and side.after is not None
        and side.after < side.before
        for side in (first, second)
    )
    if goes_down or any(
        side.site is not None and update.target in _counted_down_in(side.site.filename)
        for side, update in zip((first, second), updates, strict=True)
    ):
        return RacePattern.REFERENCE_COUNT
    return RacePattern.LOSSY_COUNTER


@lru_cache(maxsize=256)
def _counted_down_in(filename: str) -> frozenset[str]:
    """What a line of a file makes less; looked for once, as many races may be in one file."""
    lines = range(1, len(linecache.getlines(filename)) + 1)
    updates = (_update(_line(filename, number)) for number in lines)
    return frozenset(u.target for u in updates if u is not None and u.direction < 0)


def _following(site: Site, count: int = _NEAR) -> list[str]:
    """The lines behind a place, up to the end of its function."""
    found = []
    for number in range(site.line + 1, site.line + 1 + count):
        if linecache.getline(site.filename, number).startswith("}"):
            break
        found.append(_line(site.filename, number))
    return found


def _tested(text: str) -> set[str]:
    match = _TEST.search(text)
    return set(re.findall(r"[A-Za-z_]\w*", match["test"])) if match is not None else set()


def _is_double_checked(read: Side, write: Side) -> bool:
    """A test without a lock, which is made again under one, of what is written under one."""
    if read.is_write or read.holds_lock or not write.is_write or read.site is None:
        return False
    tested = _tested(read.text)
    behind = _following(read.site)
    if not tested:
        # The test is of a copy: ``p = shared; if (!p) ...``.
        plain = _PLAIN.search(read.text)
        if plain is None or not behind:
            return False
        tested = _tested(behind[0])
        if _name(plain["target"]) not in tested:
            return False
        tested |= set(re.findall(r"[A-Za-z_]\w*", plain["value"]))
    for number, line in enumerate(behind):
        if _LOCK.search(line):
            again = behind[number:]
            return any(_tested(later) & tested for later in again)
    return False


def _is_checked_then_written(read: Side) -> bool:
    """A test of something that is written shortly after."""
    tested = _tested(read.text)
    if not tested or read.site is None:
        return False
    written = {
        target
        for line in [read.text.partition(")")[2], *_following(read.site)]
        if (target := _target_of(line)) is not None
    }
    return bool(tested & written)


def _target_of(line: str) -> str | None:
    update = _update(line)
    if update is not None:
        return update.target
    plain = _PLAIN.search(line)
    return None if plain is None else _name(plain["target"])


def _is_bit_field(name: str, filename: str) -> bool:
    text = "".join(linecache.getlines(filename))
    return bool(re.search(_BIT_FIELD.format(re.escape(name)), text))


def _are_different_bit_fields(first: Side, second: Side) -> bool:
    names = {_target(first), _target(second)}
    return (
        len(names) == 2
        and first.site is not None
        and all(name and _is_bit_field(name, first.site.filename) for name in names)
    )


def _reads_other_bits(read: Side, write: Side) -> bool:
    """Whether a read looks at other bits of a word than a write changes."""
    if read.is_write or not write.is_write or read.site is None or write.site is None:
        return False
    written = _target(write)
    if written is None:
        return False
    update = _update(write.text)
    if update is not None and update.is_bitwise and _MASK.search(read.text):
        mask = _constant(_MASK.search(read.text))
        if mask is None or write.before is None or write.after is None:
            return False
        return not (write.before ^ write.after) & mask
    if not _is_bit_field(written, write.site.filename):
        return False
    return not re.search(rf"\b{re.escape(written)}\b", read.text)


def _constant(match: re.Match[str] | None) -> int | None:
    """The value of a mask that is written as a number."""
    if match is None:
        return None
    text = match[0].lstrip("& (")
    shifted = re.fullmatch(r"(\d+)\s*<<\s*(\d+)", text)
    try:
        return int(shifted[1]) << int(shifted[2]) if shifted else int(text.rstrip("uUlL"), 0)
    except ValueError:
        return None
