"""The table of supported Pythons, and what must agree with it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from bohrbug_entry import pythons
from bohrbug_entry.pythons import SUPPORTED, refusal

ROOT = Path(__file__).parent.parent.parent
ENTRY = ROOT / "src" / "bohrbug_entry"
STARTUP = ROOT / "src" / "bohrbug" / "runtime" / "channels" / "startup" / "sitecustomize.py"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAMES = [f"{major}.{minor}" for major, minor in SUPPORTED]

RUN_ANYWHERE = [
    *sorted(ENTRY.glob("*.py")),
    ROOT / "src" / "bohrbug" / "__init__.py",
    STARTUP,
]
"""What other Pythons execute, or at least compile, before they are refused."""


def pretend(
    monkeypatch: pytest.MonkeyPatch, implementation: str, version: tuple[int, int, int]
) -> None:
    """Let the table be asked by another Python."""
    stand_in = SimpleNamespace(
        implementation=SimpleNamespace(name=implementation),
        version_info=(*version, "final", 0),
    )
    monkeypatch.setattr(pythons, "sys", stand_in)


@pytest.mark.parametrize("version", SUPPORTED)
def test_those_in_the_table_are_not_refused(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]
) -> None:
    pretend(monkeypatch, "cpython", (*version, 7))
    assert refusal() == ""


@pytest.mark.parametrize(
    ("implementation", "version", "named"),
    [
        ("cpython", (3, 10, 13), "CPython 3.10.13"),
        ("cpython", (3, 16, 0), "CPython 3.16.0"),
        ("cpython", (4, 11, 0), "CPython 4.11.0"),
        ("pypy", (3, 11, 2), "PyPy 3.11.2"),
        ("graalpy", (3, 12, 0), "graalpy 3.12.0"),
    ],
)
def test_others_are_named_beside_those_that_are_supported(
    monkeypatch: pytest.MonkeyPatch,
    implementation: str,
    version: tuple[int, int, int],
    named: str,
) -> None:
    pretend(monkeypatch, implementation, version)
    sentence = refusal()
    assert sentence.endswith(f"and this is {named}")
    assert all(name in sentence for name in NAMES)
    assert "\n" not in sentence


def test_the_table_goes_from_the_oldest_to_the_newest() -> None:
    assert list(SUPPORTED) == sorted(set(SUPPORTED))


def test_the_metadata_names_the_same_versions() -> None:
    project = PYPROJECT["project"]
    prefix = "Programming Language :: Python :: 3."
    named = [each for each in project["classifiers"] if each.startswith(prefix)]
    assert named == [f"Programming Language :: Python :: {name}" for name in NAMES]
    assert project["requires-python"] == f">={NAMES[0]}"


def test_wheels_are_built_for_the_same_versions() -> None:
    built = PYPROJECT["tool"]["cibuildwheel"]["build"]
    assert built == [f"cp{name.replace('.', '')}-*" for name in NAMES]


def test_tools_take_the_oldest_as_their_target() -> None:
    assert PYPROJECT["tool"]["mypy"]["python_version"] == NAMES[0]
    assert PYPROJECT["tool"]["ruff"]["target-version"] == f"py{NAMES[0].replace('.', '')}"


@pytest.mark.parametrize(
    "page", ["README.md", "docs/how-to/install.md", "docs/explanation/limits.md"]
)
def test_pages_name_the_same_versions(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.search(rf"CPython {re.escape(NAMES[0])} to {re.escape(NAMES[-1])}\b", text)


@pytest.mark.parametrize("path", RUN_ANYWHERE, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_older_pythons_can_compile_what_refuses_them(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 7))


def test_the_table_is_asked_before_anything_else_is_imported() -> None:
    # The standard library's modules here exist everywhere; ours must know of the refusal first.
    tree = ast.parse((ROOT / "src" / "bohrbug" / "__init__.py").read_text(encoding="utf-8"))
    imported = [
        node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module
    ]
    assert [name for name in imported if name.startswith("bohrbug")] == ["bohrbug_entry.refusing"]
    for path in sorted(ENTRY.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("bohrbug."), path


def test_this_python_is_supported() -> None:
    assert sys.version_info[:2] in SUPPORTED
