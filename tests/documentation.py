"""The blocks of code on the pages of the documentation, and the commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path for place in ("*.md", "docs/**/*.md", "benchmarks/**/*.md") for path in ROOT.glob(place)
)

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HERE_DOCUMENT = re.compile(r"<<(\w+)\n.*?^\1$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        page: where it is, from the root.
        language: what the page says it is written in.
        text: what is in it.
        before: what stands before it on the page.
    """

    page: str
    language: str
    text: str
    before: str

    @property
    def first_line(self) -> str:
        return self.text.partition("\n")[0].strip()

    @property
    def key(self) -> tuple[str, str]:
        """By which tables name it; it survives whatever is done to the rest of the page."""
        return self.page, self.first_line

    def __str__(self) -> str:
        return f"{self.page}: {self.first_line}"


def blocks_of(path: Path) -> Iterator[Block]:
    text = path.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        page = path.relative_to(ROOT).as_posix()
        yield Block(page, found[1], found[2], text[: found.start()])


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def spans_of(path: Path) -> list[str]:
    """The words in `code` of a page, outside of its blocks."""
    return _SPAN.findall(_BLOCK.sub("", path.read_text("utf-8")))


def commands_of(text: str) -> Iterator[list[str]]:
    """The words of each command in a block, which uses no more of a shell than the pages do."""
    for line in _HERE_DOCUMENT.sub("", text).replace("\\\n", " ").splitlines():
        words: list[str] = []
        for word in [*shlex.split(line, comments=True), "&&"]:
            if word not in ("&&", "|"):
                words.append(word.removeprefix(".venv/bin/"))
                continue
            while words and re.match(r"[A-Z_]+=", words[0]):
                del words[0]
            if words:
                yield words
            words = []
