"""Paths as messages show them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from bohrbug import paths
from bohrbug.paths import display_path, replace_file


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


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_bytes(b"before")
    (tmp_path / "link.html").hardlink_to(file)
    replace_file(file, b"after")
    assert file.read_bytes() == b"after"
    assert (tmp_path / "link.html").read_bytes() == b"before"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_what_is_no_file_stays_what_it_is(tmp_path: Path) -> None:
    """As root, a report for /dev/null would take its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    # A daemon: where nothing is written it would wait for ever.
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    replace_file(pipe, b"page")
    assert pipe.is_fifo()
    reader.join()
    assert read == [b"page"]


def test_where_a_link_leads_is_written_to(tmp_path: Path) -> None:
    link, file = tmp_path / "latest.html", tmp_path / "report.html"
    link.symlink_to(file)
    replace_file(link, b"page")
    assert link.is_symlink()
    assert file.read_bytes() == b"page"
