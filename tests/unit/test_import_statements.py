"""What a file imports is told from its text: at least what a parser finds in it."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

import bohrbug
from bohrbug.pytest_plugin.import_statements import _parsed, imported_by

EXACT = {
    "import os": {(0, "os")},
    "import a.b as c, d": {(0, "a.b"), (0, "d")},
    "from a import b as c": {(0, "a"), (0, "a.b")},
    "from .. a . b import c": {(2, "a.b"), (2, "a.b.c")},
    "from ... import x": {(3, ""), (3, "x")},
    "from . import(a, # b)\n c)": {(1, ""), (1, "a"), (1, "c")},
    "from x \\\n import a, \\\n b as c": {(0, "x"), (0, "x.a"), (0, "x.b")},
    "import a.\\\nb": {(0, "a.b")},
    "if 1: from .x import y; import z": {(1, "x"), (1, "x.y"), (0, "z")},
    's = "#"; import os': {(0, "os")},
    "from a import b#, c\nimport d": {(0, "a"), (0, "a.b"), (0, "d")},
    "def f():\n    yield from x\n    import os\n": {(0, "os")},
    "raise X from e; import os": {(0, "os")},
    "x = 1\r\nimport os\rimport re": {(0, "os"), (0, "re")},
    "import ä": {(0, "ä")},
    # A ligature, which Python takes for two letters.
    "import \N{LATIN SMALL LIGATURE FI}sh": {(0, "fish")},
}


@pytest.mark.parametrize("text", EXACT)
def test_statements(text: str) -> None:
    assert imported_by(text.encode()) == EXACT[text] == _parsed(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        '"""\nimport foo (bar\n"""\nimport os\nf()\n',
        "# import a (b\nimport os  # import (c\nfrom x import (y,\n z)\n",
        "from a import (b\n as c,\n d,)",
        "x = 'from'; from a import b",
        "words = 'import a, ' 'b'\nfrom .c import d",
    ],
)
def test_what_only_looks_like_one_hides_none(text: str) -> None:
    assert imported_by(text.encode()) >= _parsed(text.encode())


def test_other_encodings() -> None:
    text = "# coding: latin-1\nimport \xe4"
    assert imported_by(text.encode("latin-1")) == {(0, "\xe4")}


def test_what_is_no_source_imports_nothing() -> None:
    assert imported_by(b"\xff\xfe import \x00\xe4 (") == frozenset()


def test_all_that_a_parser_finds_in_many_files() -> None:
    library = Path(sysconfig.get_path("stdlib"))
    files = [*library.glob("*.py"), *library.joinpath("asyncio").glob("*.py")]
    files += Path(bohrbug.__file__).parent.rglob("*.py")
    # Debian's library has links that lead nowhere where not all of its packages are installed.
    files = [file for file in files if file.exists()]
    assert len(files) > 300
    for file in files[::3]:
        source = file.read_bytes()
        assert imported_by(source) >= _parsed(source), file
