"""Folders for what a process needs while it lives, which are removed even if it is killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

locks: Any
"""Locks of files; on Windows there are none, and who is killed leaves its folder behind."""
try:
    import fcntl as locks
except ImportError:
    locks = None

_OWNER = ".owner"
"""A file that the owner keeps locked: the kernel lets go of that when the owner has ended."""

_WITHOUT_OWNER = 24 * 3600.0
"""Seconds after which a folder that never had an owner is nobody's any more."""


class OwnFolder:
    """A folder of this process; one whose owner was killed is removed by whoever makes the next.

    Parameters:
        prefix: of its name; what begins with it in the same place is such a folder.
        parent: where to make it; by default where temporary files go.

    Raises:
        OSError: it can't be made there.
    """

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        place = Path(tempfile.gettempdir()) if parent is None else parent
        remove_orphans(place, prefix)
        # Until it is locked it looks like an orphan, and has a name that nobody looks for.
        hidden = "" if locks is None else "."
        self.path = Path(tempfile.mkdtemp(prefix=hidden + prefix, dir=place))
        self._lock = os.open(self.path / _OWNER, os.O_CREAT | os.O_RDWR, 0o600)
        if locks is not None:
            locks.flock(self._lock, locks.LOCK_EX | locks.LOCK_NB)
            self.path = self.path.rename(place / self.path.name.removeprefix(hidden))

    def close(self) -> None:
        """Remove it; safe to call more than once."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def remove_orphans(place: Path, prefix: str) -> None:
    """Remove the folders in a place that begin with a prefix and whose owners have ended."""
    if locks is None:
        return
    with contextlib.suppress(OSError):
        for folder in place.glob(f"{prefix}*"):
            if _is_orphan(folder):
                shutil.rmtree(folder, ignore_errors=True)
        for folder in place.glob(f".{prefix}*"):
            if _is_old(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_orphan(folder: Path) -> bool:
    try:
        if folder.stat().st_uid != os.getuid():
            return False
        lock = os.open(folder / _OWNER, os.O_RDWR)
    except FileNotFoundError:
        # It is of an earlier version.
        return _is_old(folder)
    except OSError:
        return False
    try:
        locks.flock(lock, locks.LOCK_EX | locks.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _is_old(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return folder.is_dir() and time.time() - folder.stat().st_mtime > _WITHOUT_OWNER
    return False
