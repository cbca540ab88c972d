"""What a source file may import, told from its text: to parse it would take a hundred times longer.

An import statement is short, and has the word ``import`` in it.  All else that has it, in strings
or comments, say, is taken for one, too: a file may seem to import more than it does, never less.
"""

from __future__ import annotations

import ast
import re

Imported = frozenset[tuple[int, str]]
"""Levels up, 0 for none, and the names of modules, or of what is in them."""

_BLANK = rb"(?:[ \t\f]|\\\n)*"
_WORD = re.compile(rb"\bimport\b" + _BLANK)
_FROM = re.compile(rb"\bfrom\b((?:[ \t\f.]|\\\n)*)((?:[\w. \t\f]|\\\n)*)$")
_IN_BRACKETS = re.compile(rb"\(((?:[^)#]|#[^\n]*)*)\)")
_UP_TO_END = re.compile(rb"((?:[^\n#;\\]|\\\n)*)")
_COMMENT = re.compile(rb"#[^\n]*")
_SPACE = re.compile(rb"[\s\\]+")
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def imported_by(source: bytes) -> Imported:
    """What a source file may import.

    Parameters:
        source: its contents.

    Returns:
        At least what its import statements name.
    """
    text = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not _is_as_ascii(text):
        return _parsed(source)
    found: set[tuple[int, str]] = set()
    for word in _WORD.finditer(text):
        before = _FROM.search(text, _begin_of_line(text, word.start()), word.start())
        after = _IN_BRACKETS.match(text, word.end()) or _UP_TO_END.match(text, word.end())
        assert after is not None
        if not (after[1].isascii() and (before is None or before[0].isascii())):
            # Python takes some letters for others in names.
            return _parsed(source)
        names = [_name(each) for each in _COMMENT.sub(b"", after[1]).split(b",")]
        if before is None:
            found.update((0, each) for each in names)
            continue
        level, module = before[1].count(b"."), _SPACE.sub(b"", before[2]).decode("ascii")
        found.add((level, module))
        found.update((level, f"{module}.{each}".lstrip(".")) for each in names)
    return frozenset(found)


def _is_as_ascii(text: bytes) -> bool:
    """Whether bytes of ASCII mean the same here as in ASCII."""
    for line in text.split(b"\n", 2)[:2]:
        coding = _CODING.match(line)
        if coding is not None:
            return coding[1].lower().replace(b"_", b"-") in (b"utf-8", b"ascii", b"us-ascii")
    return True


def _begin_of_line(text: bytes, index: int) -> int:
    """Where the logical line begins that has an import statement in it."""
    begin = text.rfind(b"\n", 0, index) + 1
    while text[max(begin - 2, 0) : begin - 1] == b"\\":
        begin = text.rfind(b"\n", 0, begin - 1) + 1
    return begin


def _name(part: bytes) -> str:
    """What comes before ``as``, if that is there."""
    words = _SPACE.sub(b" ", part).split(b" as ")
    return words[0].replace(b" ", b"").decode("ascii")


def _parsed(source: bytes) -> Imported:
    """The same by parsing it; nothing if that is not possible."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        # Nothing that is imported from source.
        return frozenset()
    found: set[tuple[int, str]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = node.module or ""
            found.add((node.level, name))
            found.update((node.level, f"{name}.{a.name}".lstrip(".")) for a in node.names)
    return frozenset(found)
