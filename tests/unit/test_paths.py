"""Paths as messages show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bohrbug import paths
from bohrbug.paths import display_path


def test_what_lies_below_is_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert display_path(str(tmp_path / "left" / "bank.py")) == str(Path("left", "bank.py"))
    assert display_path(str(tmp_path.parent / "bank.py")) == str(tmp_path.parent / "bank.py")
    outside = tmp_path / ".." / "right" / "bank.c"
    assert display_path(str(outside)) == str(tmp_path.parent / "right" / "bank.c")
    assert display_path("<string>") == "<string>"


def test_a_folder_that_is_gone_shortens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may have changed to a folder, and removed it."""

    def gone() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(paths, "_getcwd", gone)
    assert paths.display_path("/a/b/../c.py") == "/a/c.py"
