"""Other paths by which the same file is known, where there are links to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from stat import S_ISREG

# The functions of ``os.path`` may themselves be rewritten; a test may replace the others.
_separator = os.sep
_readlink = os.readlink
_stat = os.stat
_normalise = os.path.normpath

_MOST_LINKS = 40
"""As many as Linux follows."""


def other_paths(path: str, follows: bool = True) -> Iterator[str]:
    """Other paths that lead to what one leads to: that without links among its folders, and so on.

    Parameters:
        path: absolute, and normalised.
        follows: whether a link that the path itself is is followed, too.
    """
    folder, _, name = path.rpartition(_separator)
    at = f"{_without_links(folder)}{_separator}{name}"
    if at != path:
        yield at
    if follows:
        target = _without_links(at)
        if target != at:
            yield target


def _without_links(path: str) -> str:
    for _ in range(_MOST_LINKS):
        followed = _first_link_followed(path)
        if followed is None:
            break
        path = followed
    return path


def _first_link_followed(path: str) -> str | None:
    """The path with the first link in it replaced by what that leads to."""
    current = ""
    parts = path.split(_separator)[1:]
    for count, part in enumerate(parts, 1):
        above, current = current, f"{current}{_separator}{part}"
        try:
            target = _readlink(current)
        except (OSError, ValueError):
            # It is no link, or not there.
            continue
        start = "" if target.startswith(_separator) else f"{above}{_separator}"
        return _normalise(_separator.join((f"{start}{target}", *parts[count:])))
    return None


def shared_number(path: str) -> int | None:
    """The number of a plain file that has several names."""
    try:
        status = _stat(path)
    except (OSError, ValueError):
        return None
    return status.st_ino if status.st_nlink > 1 and S_ISREG(status.st_mode) else None
