"""Finding the places of a recorded execution again after the program was edited.

Pure functions over texts and traces: which line of today is a recorded line, which data access is
a recorded one, and what the steps of a recorded execution look like in the program of today.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from bohrbug.exploration.program_text import FileText, PointText, functions_by_line
from bohrbug.model.conditions import PlaceKey
from bohrbug.model.following import beginnings
from bohrbug.model.operation import BEGIN, END, Operation, Site, TaskId
from bohrbug.model.outcome import Frame, Grouped, Outcome
from bohrbug.model.plan import Aligned, Mark
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace

SIMILAR = 0.6
"""How much of two texts must be equal for one to be taken for a changed form of the other."""


@dataclass(frozen=True, slots=True)
class FileAlignment:
    """Which line of a file as it is now each recorded line is.

    Parameters:
        lines: by recorded number; a line that is gone has no entry.
        functions: the function of today for each recorded function that is still there.
        old: the recorded lines.
        new: the lines of today.
        edited: functions, by their recorded names, whose code is another one.
    """

    lines: dict[int, int]
    functions: dict[str, str]
    old: dict[int, str]
    new: dict[int, str]
    edited: frozenset[str] = frozenset()

    @property
    def changed(self) -> bool:
        """Whether anything recorded is not as it was, be it only its place."""
        return bool(self.edited) or any(
            self.lines.get(number) != number for number, _ in _code(self.old)
        )


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where the places of a recorded execution are now.

    Parameters:
        files: by file name; a file without an entry is as it was.
        gone: files that can't be read any more.
    """

    files: dict[str, FileAlignment] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()

    @property
    def changed(self) -> tuple[str, ...]:
        """The files that were edited where something was recorded."""
        edited = [name for name, file in self.files.items() if file.changed]
        return tuple(sorted([*edited, *self.gone]))

    def site(self, site: Site) -> Site | None:
        """Where a recorded place is now; ``None`` if it is gone."""
        if site.filename in self.gone:
            return None
        file = self.files.get(site.filename)
        if file is None or site.line not in file.old:
            return site
        line = file.lines.get(site.line)
        if line is None:
            return None
        return Site(site.filename, line, self.function(site), 0)

    def function(self, site: Site) -> str:
        """What the function of a recorded place is called now."""
        file = self.files.get(site.filename)
        if file is None:
            return site.function
        known, rest = site.function, ""
        while known not in file.functions:
            known, dot, last = known.rpartition(".")
            if not dot:
                return site.function
            rest = f".{last}{rest}"
        return file.functions[known] + rest

    def recorded_line(self, site: Site) -> int | None:
        """The recorded line that a place of today was; ``None`` for one that was put in."""
        file = self.files.get(site.filename)
        if file is None:
            return site.line
        for old, new in file.lines.items():
            if new == site.line:
                return old
        return None


# --------------------------------------------------------------------- lines


def align(recorded: Mapping[str, FileText], current: Callable[[str], FileText | None]) -> Alignment:
    """Find the recorded lines of all files again.

    Parameters:
        recorded: the text of the program when it was recorded.
        current: gives the text of a file as it is now.
    """
    files = {}
    gone = set()
    for filename, old in recorded.items():
        new = current(filename)
        if new is None:
            gone.add(filename)
        else:
            files[filename] = align_file(old, new)
    return Alignment(files, frozenset(gone))


def align_file(old: FileText, new: FileText) -> FileAlignment:
    """Find the recorded lines of a file again.

    Functions are found by their names, then by what they are like, so that one that was moved or
    renamed is still itself; within a function the longest stretches of equal lines
    count.  What is left is looked for in the whole file.

    Parameters:
        old: the recorded lines.
        new: the lines of today.
    """
    before = _by_function(old)
    after = _by_function(new)
    functions = _same_functions(before, after)
    lines: dict[int, int] = {}
    for name, other in functions.items():
        lines.update(_same_lines(before[name], after[other]))
    _find_moved(old.lines, new.lines, lines)
    edited = frozenset(
        name
        for name, texts in before.items()
        if name and (name not in functions or _texts(texts) != _texts(after[functions[name]]))
    )
    return FileAlignment(lines, functions, old.lines, new.lines, edited)


_Numbered = list[tuple[int, str]]


def _by_function(text: FileText) -> dict[str, _Numbered]:
    """The lines of each function that are code, without indentation; of the module under ``""``."""
    try:
        owners = functions_by_line(text.text)
    except (SyntaxError, ValueError):
        # What is no Python now is still text.
        owners = {}
    found: dict[str, _Numbered] = {}
    for number, line in _code(text.lines):
        found.setdefault(owners.get(number, ""), []).append((number, line))
    return found


def _code(lines: Mapping[int, str]) -> _Numbered:
    return [
        (number, line.strip())
        for number, line in sorted(lines.items())
        if line.strip() and not line.lstrip().startswith("#")
    ]


def _same_functions(
    before: Mapping[str, _Numbered], after: Mapping[str, _Numbered]
) -> dict[str, str]:
    found = {name: name for name in before if name in after}
    free = [name for name in after if name not in found]
    for name in before:
        if name in found:
            continue
        # The header holds the name, which has changed.
        best = max(
            free,
            key=lambda other: (
                _likeness(_texts(before[name])[1:], _texts(after[other])[1:]),
                other.rpartition(".")[2] == name.rpartition(".")[2],
            ),
            default=None,
        )
        if best is None:
            continue
        if _likeness(_texts(before[name])[1:], _texts(after[best])[1:]) >= SIMILAR:
            found[name] = best
            free.remove(best)
    return found


def _likeness(one: list[str], other: list[str]) -> float:
    """How much of two functions is equal, from 0 to 1."""
    return SequenceMatcher(None, "\n".join(one), "\n".join(other), autojunk=False).ratio()


def _line_likeness(one: str, other: str) -> float:
    """How much of two lines of one function is equal; its header is its header."""
    for keyword in ("def ", "async def ", "class "):
        if one.startswith(keyword) and other.startswith(keyword):
            return 1.0
    return _likeness([one], [other])


def _texts(lines: _Numbered) -> list[str]:
    return [text for _, text in lines]


def _same_lines(before: _Numbered, after: _Numbered) -> dict[int, int]:
    """The lines of one function: the equal ones, and between them those that are alike."""
    found = {}
    matcher = SequenceMatcher(None, _texts(before), _texts(after), autojunk=False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind == "equal":
            for (number, _), (new_number, _) in zip(
                before[first:last], after[new_first:new_last], strict=True
            ):
                found[number] = new_number
        elif kind == "replace":
            start = new_first
            for number, text in before[first:last]:
                best = max(
                    range(start, new_last),
                    key=lambda at: _line_likeness(text, after[at][1]),
                    default=None,
                )
                if best is not None and _line_likeness(text, after[best][1]) >= SIMILAR:
                    found[number] = after[best][0]
                    start = best + 1
    return found


def _find_moved(old: Mapping[int, str], new: Mapping[int, str], lines: dict[int, int]) -> None:
    """Add lines that stand somewhere else now, if there is only one that it can be."""
    taken = set(lines.values())
    lost = [(number, text) for number, text in _code(old) if number not in lines]
    free = [(number, text) for number, text in _code(new) if number not in taken]
    times_lost, times_free = Counter(_texts(lost)), Counter(_texts(free))
    places = {text: number for number, text in free}
    for number, text in lost:
        if times_lost[text] == times_free[text] == 1:
            lines[number] = places[text]


# -------------------------------------------------------------------- points


def align_points(
    points: Sequence[PlaceKey],
    texts: Sequence[PointText],
    candidates: Mapping[PlaceKey, PointText],
    alignment: Alignment,
) -> tuple[list[PlaceKey], list[tuple[PlaceKey, PointText]]]:
    """Find data accesses again.

    On the line that the recorded one is now, the access with the same instruction and name that is
    nearest to its column counts; on a line that was changed, the nearest with the
    same instruction.

    Parameters:
        points: the recorded ones.
        texts: what each of them looked like.
        candidates: all accesses that the program has now.
        alignment: of the lines.

    Returns:
        The points of today, and the recorded ones that are gone.
    """
    by_line: dict[tuple[str, int], list[tuple[PlaceKey, PointText]]] = {}
    for key, text in candidates.items():
        by_line.setdefault((key[0], text.line), []).append((key, text))
    found: set[PlaceKey] = set()
    gone = []
    for key, text in zip(points, texts, strict=True):
        if key[0] not in alignment.files and key[0] not in alignment.gone:
            found.add(key)
            continue
        site = alignment.site(Site(key[0], text.line, key[1], text.column))
        there = [] if site is None else by_line.get((site.filename, site.line), [])
        shift = 0 if site is None else _shift(alignment, key[0], text.line, site.line)
        same = _nearest(there, text, shift)
        if same is None:
            gone.append((key, text))
        else:
            # The same access may have been compiled twice, as in a "finally".
            found.update(
                other
                for other, each in there
                if (each.column, each.instruction) == (same.column, same.instruction)
            )
    return sorted(found), gone


def _shift(alignment: Alignment, filename: str, old: int, new: int) -> int:
    """How many columns further right a line begins."""
    file = alignment.files[filename]
    return _indentation(file.new[new]) - _indentation(file.old.get(old, ""))


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _nearest(
    there: Iterable[tuple[PlaceKey, PointText]], wanted: PointText, shift: int
) -> PointText | None:
    able = [text for _, text in there if text.is_write == wanted.is_write]
    return min(
        able,
        key=lambda text: (
            text.name != wanted.name,
            text.instruction != wanted.instruction,
            abs(text.column - wanted.column - shift),
            text.column,
        ),
        default=None,
    )


# ------------------------------------------------------------------ schedule


@dataclass(frozen=True, slots=True)
class Marks:
    """The steps of a recorded execution in the program of today.

    Parameters:
        policy: what follows them.
        steps: the step that each mark was.
        lost: the steps that have no mark, as their place is gone.
    """

    policy: Aligned
    steps: tuple[int, ...]
    lost: tuple[int, ...]


def marks_of(trace: Trace, alignment: Alignment) -> Marks:
    """What the steps of a recorded execution are in the program of today."""
    marks: list[Mark] = []
    steps: list[int] = []
    lost: list[int] = []
    values: dict[TaskId, list[int]] = {}
    known: dict[Operation, Site | None] = {}
    for step, (task, operation) in enumerate(zip(trace.tasks, trace.operations, strict=True)):
        choice = trace.choices[step]
        if step in trace.arities:
            values.setdefault(task, []).append(int(choice))
            continue
        if operation not in known:
            place = site_of(operation.place)
            known[operation] = None if place is None else alignment.site(place)
        site = known[operation]
        if site is None and operation.place is not None and operation.kind.name not in _OF_TASKS:
            lost.append(step)
            continue
        marks.append(Mark(task, operation.kind.name, site, trace.has_fired(step)))
        steps.append(step)
    tasks = tuple(
        (task, None if place is None else alignment.site(place))
        for task, place in beginnings(trace).items()
        if "." in task
    )
    made = tuple((task, tuple(each)) for task, each in sorted(values.items()))
    return Marks(Aligned(tuple(marks), tasks, made), tuple(steps), tuple(lost))


_OF_TASKS = frozenset({BEGIN.name, END.name})
"""Kinds of operations whose place says who did them, and not what is done."""


def variants(marks: Marks) -> tuple[Aligned, ...]:
    """Ways of following marks, the most promising first."""
    policy = marks.policy
    return tuple(
        replace(policy, window=window, eager=eager)
        for window in (policy.window, 1)
        for eager in (True, False)
    )


def is_same_failure(recorded: Outcome, found: Outcome, alignment: Alignment) -> bool:
    """Whether an outcome of the program of today is the recorded failure.

    The kind, and depending on it the exception and its place, the operations of a
    deadlock or the variable of a race, as for
    :meth:`~bohrbug.model.outcome.Outcome.signature`.  Where the line that raised is gone, its
    function counts.
    """
    if not recorded.stack or not found.stack or recorded.race is not None:
        return found.signature() == recorded.signature()
    if (recorded.kind, recorded.exception) != (found.kind, found.exception):
        return False
    return _is_same_place(recorded.stack, found.stack, alignment) and _are_same_in_groups(
        recorded.grouped, found.grouped, alignment
    )


def _is_same_place(recorded: Sequence[Frame], found: Sequence[Frame], alignment: Alignment) -> bool:
    """Whether two exceptions were raised at one place of the program of today."""
    if not recorded or not found:
        return not recorded and not found
    there, here = recorded[-1].site, found[-1].site
    now = alignment.site(there)
    if now is None:
        return (there.filename, alignment.function(there)) == (here.filename, here.function)
    return now[:2] == here[:2]


def _are_same_in_groups(
    recorded: Sequence[Grouped], found: Sequence[Grouped], alignment: Alignment
) -> bool:
    """Whether each of the exceptions in two groups is in the other one, too."""

    def is_same(there: Grouped, here: Grouped) -> bool:
        return there.exception == here.exception and _is_same_place(
            there.stack, here.stack, alignment
        )

    return all(any(is_same(there, here) for here in found) for there in recorded) and all(
        any(is_same(there, here) for there in recorded) for here in found
    )
