"""Paths as messages show them, and whose files they are of."""

from __future__ import annotations

import os
import sysconfig
from functools import lru_cache
from pathlib import Path

DIRECTORY = Path(".bohrbug")
"""Where files of failures, and what is remembered, are kept."""

_getcwd = os.getcwd
"""Some programs replace it, and ``abspath``, by what complains in event loops (blockbuster)."""


def display_path(filename: str) -> str:
    """A path as a person at this prompt would write it: relative where it lies below."""
    if filename.startswith("<"):
        return filename
    # A compiler joins its folder and what it was given: /a/b/../c.
    normal = os.path.normpath(filename)
    try:
        here = _getcwd()
    except FileNotFoundError:
        # The program has removed its folder.
        return normal
    whole = os.path.normpath(os.path.join(here, normal))
    below = here if here.endswith(os.sep) else here + os.sep
    is_below = os.path.normcase(whole).startswith(os.path.normcase(below))
    return whole[len(below) :] if is_below else normal


def path_in_notes(filename: str) -> str:
    """As :func:`display_path`; of a library what one imports: ``asyncio/queues.py``."""
    shown = display_path(filename)
    if not os.path.isabs(shown):
        return shown
    folder = next((folder for folder in _libraries() if shown.startswith(folder)), "")
    return shown[len(folder) :]


def line_in_notes(filename: str, line: int) -> str:
    """Where something is in a source, in the words of notes: ``shop.py:12``."""
    return f"{path_in_notes(filename)}:{line}"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, in place of the one there may be, which is there until the new one is whole.

    A device, a named pipe or a link is written to: a file in its place would break it. As root
    that can be done even to ``/dev/null``.

    Parameters:
        path: of the file.
        content: of the file.

    Raises:
        OSError: it can't be written.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(content)
        return
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(content)
    partial.replace(path)


@lru_cache(maxsize=1)
def _packages() -> tuple[str, ...]:
    return _folders("purelib", "platlib")


@lru_cache(maxsize=1)
def _libraries() -> tuple[str, ...]:
    return _packages() + _folders("stdlib", "platstdlib")


def _folders(*names: str) -> tuple[str, ...]:
    paths = (sysconfig.get_path(name) for name in names)
    return tuple({os.path.abspath(path) + os.sep for path in paths if path})


_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


@lru_cache(maxsize=4096)
def is_own_file(filename: str) -> bool:
    """Whether a file is part of Bohrbug."""
    return os.path.abspath(filename).startswith(_OWN)


@lru_cache(maxsize=4096)
def is_library_file(filename: str) -> bool:
    """Whether a file belongs to the standard library or to an installed package."""
    return filename.startswith("<frozen ") or os.path.abspath(filename).startswith(_libraries())


@lru_cache(maxsize=4096)
def is_standard_file(filename: str) -> bool:
    """Whether a file belongs to the standard library."""
    return is_library_file(filename) and not os.path.abspath(filename).startswith(_packages())
