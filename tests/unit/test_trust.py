"""Which code a reproduction file names that is no part of the project."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from bohrbug.cli.trust import foreign_code


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module and a program, beside another one."""
    folder = tmp_path / "project"
    (folder / ".bohrbug").mkdir(parents=True)
    (folder / "mine.py").touch()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(folder)
    return folder


def _command(*command: str, check: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"kind": "command", "command": list(command), "directory": ".", "check": list(check)}


OWN: list[dict[str, Any]] = [
    {"kind": "script", "path": "mine.py", "arguments": []},
    {"kind": "function", "name": "mine:test"},
    {"kind": "function", "name": "__main__:test", "path": "mine.py"},
    {"kind": "pytest", "node": "mine.py::test", "root": ".", "file": "mine.py", "directory": "."},
    _command("./mine"),
]

FOREIGN: list[tuple[dict[str, Any], str]] = [
    ({"kind": "script", "path": "../other/theirs.py", "arguments": []}, "other/theirs.py"),
    ({"kind": "function", "name": "os:abort"}, "os:abort"),
    ({"kind": "function", "name": "sys:exit"}, "sys:exit"),
    ({"kind": "function", "name": "__main__:test", "path": "../other/x.py"}, "__main__:test"),
    ({"kind": "pytest", "node": "x.py::test", "root": "..", "file": "other/x.py"}, "x.py"),
    (_command("rm", "-rf", "a b"), "rm -rf 'a b'"),
    (_command("./mine", check=("curl", "x")), "curl x"),
]


@pytest.mark.parametrize("target", OWN, ids=str)
def test_what_lies_in_the_current_folder_is_the_projects(
    project: Path, target: dict[str, Any]
) -> None:
    assert foreign_code(project / "given.json", target) is None


@pytest.mark.parametrize(("target", "what"), FOREIGN, ids=str)
def test_all_else_is_not(project: Path, target: dict[str, Any], what: str) -> None:
    named = foreign_code(project / "given.json", target)
    assert named is not None
    assert named.endswith(what)


def test_files_that_were_written_here_are_trusted(project: Path) -> None:
    target = {"kind": "function", "name": "os:abort"}
    assert foreign_code(project / ".bohrbug" / "own.json", target) is None


def test_files_of_another_project_belong_to_that(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / ".bohrbug" / "own.json"
    monkeypatch.chdir(project.parent / "other")
    own = {"kind": "script", "path": str(project / "mine.py"), "arguments": []}
    assert foreign_code(file, own) is None
    assert foreign_code(file, {"kind": "function", "name": "os:abort"}) == "os:abort"


def test_nothing_is_imported_to_find_out(project: Path) -> None:
    (project / "loud.py").write_text("raise SystemExit")
    assert foreign_code(project / "given.json", {"kind": "function", "name": "loud.part:f"}) is None
    assert "loud" not in sys.modules
