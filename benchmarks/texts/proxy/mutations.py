"""Faulty variants of a C source, one for each operator at each marked place.

A mark is a comment at the end of a line, ``/*@ name: operators */``.  The operators:

- ``drop``: the line is left out;
- ``bare``: it locks a mutex, and is left out with all that unlock it up to the next that locks it;
- ``twice``: it is there twice;
- ``up(n)``, ``down(n)``: it is moved by so many lines;
- ``if``: its ``while`` becomes an ``if``;
- ``signal``: its ``pthread_cond_broadcast`` becomes ``pthread_cond_signal``;
- ``split(&lock)``: the lock is released and taken again just before it;
- ``instead(text)``: the text takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARK = re.compile(r"\s*/\*@ (\w+): (.*) \*/$")
_OPERATOR = re.compile(r"(\w+)(?:\((.*)\))?")


@dataclass(frozen=True, slots=True)
class Variant:
    """A faulty variant.

    Parameters:
        name: of the place and the operator.
        operator: what was done.
        text: the source, without marks.
    """

    name: str
    operator: str
    text: str


def unmarked(source: str) -> str:
    """The source as it should be, without marks."""
    return "\n".join(_MARK.sub("", line) for line in source.split("\n"))


def variants(source: str) -> Iterator[Variant]:
    """All variants, in the order of their places."""
    lines = unmarked(source).split("\n")
    for at, marked in enumerate(source.split("\n")):
        found = _MARK.search(marked)
        if found is None:
            continue
        place, operators = found.groups()
        for word in _split(operators):
            parsed = _OPERATOR.fullmatch(word)
            if parsed is None:
                raise ValueError(f"the operator {word!r} of {place} is not understood")
            operator, argument = parsed[1], parsed[2] or ""
            text = "\n".join(_changed(lines, at, operator, argument))
            name = f"{place}-{operator}" + (argument if argument.isdigit() else "")
            yield Variant(name, operator, text)


def _split(operators: str) -> Iterator[str]:
    """Operators are separated by commas, of which an argument may have some, too."""
    if operators.startswith("instead(") and operators.endswith(")"):
        yield operators
        return
    rest, _, last = operators.partition(", instead(")
    yield from rest.split(", ")
    if last:
        yield f"instead({last}"


def _changed(lines: list[str], at: int, operator: str, argument: str) -> list[str]:
    line = lines[at]
    before, after = lines[:at], lines[at + 1 :]
    margin = line[: len(line) - len(line.lstrip())]
    match operator:
        case "drop":
            return [*before, *after]
        case "bare":
            return [*before, *_without_unlocks(line, after)]
        case "twice":
            return [*before, line, line, *after]
        case "up":
            cut = at - int(argument)
            return [*before[:cut], line, *before[cut:], *after]
        case "down":
            cut = int(argument)
            return [*before, *after[:cut], line, *after[cut:]]
        case "if":
            return [*before, _replaced(line, "while", "if"), *after]
        case "signal":
            return [*before, _replaced(line, "_broadcast", "_signal"), *after]
        case "split":
            again = f"pthread_mutex_unlock({argument}); pthread_mutex_lock({argument});"
            return [*before, margin + again, line, *after]
        case "instead":
            return [*before, margin + argument, *after]
        case _:
            raise ValueError(f"there is no operator {operator!r}")


def _without_unlocks(line: str, after: list[str]) -> list[str]:
    unlock = line.strip().replace("_lock(", "_unlock(", 1)
    kept: list[str] = []
    for at, other in enumerate(after):
        # To the end of the function, or as far as the next critical section.
        if other.strip() == line.strip() or other.startswith("}"):
            return [*kept, *after[at:]]
        if other.strip() != unlock:
            kept.append(other)
    return kept


def _replaced(line: str, old: str, new: str) -> str:
    if old not in line:
        raise ValueError(f"{line.strip()!r} has no {old!r}")
    return line.replace(old, new, 1)
