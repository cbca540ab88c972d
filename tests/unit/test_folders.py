"""Folders of processes that were killed are removed by the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bohrbug.runtime import folders
from bohrbug.runtime.folders import OwnFolder, remove_orphans

_MAKES_ONE = """
import sys, time
from pathlib import Path
from bohrbug.runtime.folders import OwnFolder
folder = OwnFolder("some-", Path(sys.argv[1]))
(folder.path / "file").touch()
print(folder.path, flush=True)
time.sleep(60)
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs locks of files")


def test_the_folder_of_a_process_that_was_killed_is_removed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _MAKES_ONE, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        try:
            own = OwnFolder("some-", tmp_path)
            assert theirs.is_dir(), "its owner lives"
        finally:
            other.kill()
            other.wait()
    assert theirs.is_dir()
    remove_orphans(tmp_path, "some-")
    assert not theirs.exists()
    assert own.path.is_dir()
    own.close()
    own.close()
    assert not own.path.exists()


def test_a_folder_is_no_orphan_while_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = folders.locks.flock

    def late(file: int, operation: int) -> None:
        # Another process looks before this one has locked it.
        monkeypatch.undo()
        remove_orphans(tmp_path, "some-")
        flock(file, operation)

    monkeypatch.setattr(folders.locks, "flock", late)
    own = OwnFolder("some-", tmp_path)
    assert own.path.is_dir()
    assert own.path.name.startswith("some-")
    own.close()


def test_folders_without_an_owner_are_removed_after_a_day(tmp_path: Path) -> None:
    for name, age in (("some-new", 3600), ("some-old", 48 * 3600), ("other-old", 48 * 3600)):
        (tmp_path / name).mkdir()
        then = (tmp_path / name).stat().st_mtime - age
        os.utime(tmp_path / name, (then, then))
    remove_orphans(tmp_path, "some-")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other-old", "some-new"]
