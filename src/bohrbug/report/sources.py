"""Places in the source: their text, their short names, and whose code they are in."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from bohrbug.model.asyncio_runs import is_file_of_asyncio
from bohrbug.model.operation import Site
from bohrbug.model.trio_runs import is_file_of_trio

_OWN_PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep
_RUNNERS = tuple(
    f"{os.sep}{name}{os.sep}"
    for name in ("_pytest", "pluggy", "greenlet", "pytest_asyncio", "pytest_trio")
)
_LIBRARY = os.path.abspath(os.path.dirname(os.__file__))

_OF_LOOPS = {
    "runners.py": ("run",),
    "base_events.py": ("run_until_complete", "run_forever", "_run_once"),
    "events.py": ("_run",),
}
"""Functions of ``asyncio``, by file, that run an event loop."""


def source_line(site: Site) -> str:
    """The line of source at a place, without its indentation; empty if it can't be read."""
    return linecache.getline(site.filename, site.line).strip()


@lru_cache(maxsize=4096)
def is_tool_file(filename: str) -> bool:
    """Whether a file is part of Bohrbug or of the test runner, and not of the tested program."""
    path = os.path.abspath(filename)
    return path.startswith(_OWN_PACKAGE) or any(runner in path for runner in _RUNNERS)


@lru_cache(maxsize=4096)
def is_threading_file(filename: str) -> bool:
    """Whether a file is the standard library's ``threading.py``."""
    return _is_of_library(filename, "threading.py")


@lru_cache(maxsize=4096)
def is_traceback_file(filename: str) -> bool:
    """Whether a file is the standard library's ``traceback.py``, which prints what has failed."""
    return _is_of_library(filename, "traceback.py")


def _is_of_library(filename: str, name: str) -> bool:
    return os.path.abspath(filename) == os.path.join(_LIBRARY, name)


@lru_cache(maxsize=4096)
def is_loop_file(filename: str) -> bool:
    """Whether a file belongs to ``asyncio``, to trio, or to what anyio has for either."""
    return is_file_of_asyncio(filename) or is_file_of_trio(os.path.abspath(filename))


def runs_a_loop(filename: str, function: str) -> bool:
    """Whether a frame is asyncio's own, and only runs what comes in its loop.

    Parameters:
        filename: of the frame.
        function: its name, qualified or not.
    """
    names = _OF_LOOPS.get(os.path.basename(filename), ())
    return function.rpartition(".")[2] in names and is_loop_file(filename)


def _parts(filename: str) -> tuple[str, ...]:
    return Path(filename).parts


class ShortNames:
    """The shortest names for files that still tell them apart.

    ``bank.py`` where only one file is called so, else ``left/bank.py``; an
    ``__init__.py`` always comes with its package.

    Parameters:
        filenames: all files that the report may mention.
    """

    def __init__(self, filenames: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        by_name: dict[str, list[str]] = {}
        for filename in sorted(set(filenames)):
            by_name.setdefault(os.path.basename(filename), []).append(filename)
        for name, group in by_name.items():
            count = 2 if name == "__init__.py" else 1
            longest = max(len(_parts(filename)) for filename in group)
            while (
                len({_parts(filename)[-count:] for filename in group}) < len(group)
                and count < longest
            ):
                count += 1
            for filename in group:
                self._names[filename] = (
                    filename
                    if filename.startswith("<")
                    else "/".join(part.strip("\\/") for part in _parts(filename)[-count:])
                )

    def __call__(self, filename: str) -> str:
        """The short name of a file."""
        return self._names.get(filename) or os.path.basename(filename) or filename
