"""The text of a program: as it was when an execution was recorded, and as it is now."""

from __future__ import annotations

import ast
import dis
import linecache
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from bohrbug.model.json_checks import FileFormatError, Json, a_count, a_list, a_row, strings
from bohrbug.model.operation import Site
from bohrbug.model.site import point_of, site_of
from bohrbug.model.trace import Trace


@dataclass(frozen=True, slots=True)
class FileText:
    """Some lines of a file: the whole statements of its module that something was recorded in.

    Parameters:
        lines: by number, from 1.
    """

    lines: dict[int, str]

    @property
    def text(self) -> str:
        """The lines at their places, empty ones between them."""
        return "\n".join(self.lines.get(number, "") for number in range(1, max(self.lines) + 1))


@dataclass(frozen=True, slots=True)
class PointText:
    """What a data access that is a scheduling point looks like, for finding it again.

    Parameters:
        line: its line, from 1.
        column: its column, from 1; 0 where unknown.
        instruction: the name of its instruction.
        name: the attribute or variable that the instruction names, or nothing.
    """

    line: int
    column: int
    instruction: str
    name: str

    @classmethod
    def of(cls, place: tuple[CodeType, int]) -> PointText:
        """What the access at a place, a code object and an offset in bytes, looks like."""
        code, offset = place
        site = site_of(place)
        assert site is not None
        for instruction in dis.get_instructions(code):
            if instruction.offset == offset:
                name = instruction.argval if isinstance(instruction.argval, str) else ""
                return cls(site.line, site.column, instruction.opname, name)
        return cls(site.line, site.column, "", "")

    @property
    def is_write(self) -> bool:
        """Whether the instruction changes what it names."""
        return self.instruction.startswith(("STORE", "DELETE"))


def functions_by_line(text: str) -> dict[int, str]:
    """The function or class that each line belongs to, by its qualified name.

    A line belongs to the innermost one that contains it, decorators and header included; those
    outside of all of them belong to no entry.

    Raises:
        SyntaxError: the text is not Python.
        ValueError: the text holds a null character.
    """
    owners: dict[int, str] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = prefix + child.name
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                for line in range(first, (child.end_lineno or child.lineno) + 1):
                    owners[line] = name
                is_class = isinstance(child, ast.ClassDef)
                visit(child, f"{name}." if is_class else f"{name}.<locals>.")
            else:
                visit(child, prefix)

    visit(ast.parse(text), "")
    return owners


def recorded_text(sites: Iterable[Site]) -> dict[str, FileText]:
    """The text of the program at some places, by file name; what can't be read is left out.

    Libraries are left out as well: whoever changes those has another Python.
    """
    wanted: dict[str, set[int]] = {}
    for site in sites:
        wanted.setdefault(site.filename, set()).add(site.line)
    found = {}
    for filename, numbers in sorted(wanted.items()):
        if _is_library(filename):
            continue
        lines = linecache.getlines(filename)
        try:
            spans = list(_statements("".join(lines)))
        except (SyntaxError, ValueError):
            continue
        kept = {
            number: lines[number - 1].rstrip("\r\n")
            for first, last in spans
            if any(first <= number <= last for number in numbers)
            for number in range(first, last + 1)
        }
        if kept:
            found[filename] = FileText(kept)
    return found


def current_text(filename: str) -> FileText | None:
    """All lines of a file as it is now; ``None`` if it can't be read or is empty."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    if not lines:
        return None
    return FileText({number: line.rstrip("\r\n") for number, line in enumerate(lines, 1)})


def show_as_recorded(texts: Mapping[str, FileText]) -> tuple[str, ...]:
    """Let whoever asks for a source line from now on get the recorded one.

    Returns:
        The files that were edited since.
    """
    edited = []
    for filename, text in texts.items():
        now = current_text(filename)
        if now is None or any(now.lines.get(at) != line for at, line in text.lines.items()):
            lines = [f"{line}\n" for line in text.text.split("\n")]
            # Without a time, so that it is never looked up in the file.
            linecache.cache[filename] = (len(lines), None, lines, filename)
            edited.append(filename)
    return tuple(edited)


def sites_of(trace: Trace) -> Iterator[Site]:
    """All places in the source that a recorded execution names, in the order of its columns."""
    for operation in (*trace.operations, *trace.final_pending.values()):
        point = point_of(operation)
        if isinstance(point, Site):
            yield point
    for info in trace.task_infos.values():
        if info.spawned is not None:
            yield info.spawned
    for resource in trace.resources.values():
        if resource.created is not None:
            yield resource.created
    for frame in trace.outcome.frames():
        yield frame.site


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """First and last line of each statement of a module."""
    for statement in ast.parse(text).body:
        decorators = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(each.lineno for each in decorators)])
        yield first, statement.end_lineno or statement.lineno


@lru_cache(maxsize=1)
def _libraries() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple({Path(path).resolve() for name in names if (path := sysconfig.get_path(name))})


@lru_cache(maxsize=4096)
def _is_library(filename: str) -> bool:
    if filename.startswith("<"):
        return True
    path = Path(filename).resolve()
    return any(path.is_relative_to(folder) for folder in (*_libraries(), _OWN_FOLDER))


_OWN_FOLDER = Path(__file__).resolve().parent.parent


# ------------------------------------------------------------------------ files


def text_to_json(text: FileText) -> Json:
    """Stretches of lines without a gap, each with the number of its first line."""
    stretches: list[list[Any]] = []
    for number, line in sorted(text.lines.items()):
        if not stretches or stretches[-1][0] + len(stretches[-1][1]) != number:
            stretches.append([number, []])
        stretches[-1][1].append(line)
    return stretches


def text_from_json(data: Json) -> FileText:
    """The text that :func:`text_to_json` wrote.

    Raises:
        FileFormatError: it is damaged.
    """
    lines: dict[int, str] = {}
    for stretch in a_list(data, "texts"):
        first, texts = a_row(stretch, "texts", a_count, strings)
        lines.update(enumerate(texts, first))
    if min(lines, default=0) < 1:
        raise FileFormatError("texts: lines are counted from 1, and there must be some")
    return FileText(lines)
