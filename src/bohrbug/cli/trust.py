"""Reproduction files from strangers: what one would run that is no part of the project at hand."""

from __future__ import annotations

import importlib.machinery
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from bohrbug.cli.exploring import usage_error
from bohrbug.paths import DIRECTORY, display_path, is_library_file
from bohrbug.platforms.posix.command import KIND as NATIVE


def foreign_code(file: Path, target: Mapping[str, Any]) -> str | None:
    """What a reproduction file runs that lies outside of the project, for people.

    The project is the current folder with all that is in it, and, of a file in a folder
    ``.bohrbug``, the folder around that. A file in the ``.bohrbug`` of the current folder was
    written by an exploration here, and may run what it likes.

    Parameters:
        file: the reproduction file.
        target: how it names its test.

    Returns:
        ``None`` if it runs nothing else.
    """
    here = Path.cwd().resolve()
    folder = file.resolve().parent
    if folder == here / DIRECTORY:
        return None
    projects = [here]
    if folder.name == DIRECTORY.name:
        projects.append(folder.parent)
    for words, path in _code_of(target, here):
        if path is None or not any(path.is_relative_to(project) for project in projects):
            return words
    return None


def _code_of(target: Mapping[str, Any], here: Path) -> Iterator[tuple[str, Path | None]]:
    """What is run, for people, and where it lies; ``None``: nobody knows."""
    kind = target.get("kind")
    if kind == "script":
        yield _named(here / target["path"])
    elif kind == "function":
        module = target["name"].partition(":")[0]
        found = _file_of_module(module, here)
        if found is None and target.get("path"):
            found = (here / target["path"]).resolve()
        is_library = found is not None and is_library_file(str(found))
        yield f"{target['name']}", None if is_library else found
    elif kind == "pytest":
        root = Path(target["root"])
        if not root.is_dir():
            root = here
        for name in ("directory", "file", "configuration"):
            if target.get(name):
                yield _named(root / target[name])
        yield _named(root)
    elif kind == NATIVE:
        directory = here / target["directory"]
        for command in (target["command"], target["check"]):
            if command:
                yield shlex.join(command), _file_of_command(command[0], directory)


def _named(path: Path) -> tuple[str, Path]:
    return display_path(str(path)), path.resolve()


def _file_of_module(name: str, here: Path) -> Path | None:
    """The file or folder that a module is imported from, found without importing anything."""
    top = name.partition(".")[0]
    found = importlib.machinery.PathFinder.find_spec(top, [str(here), *sys.path])
    if found is None:
        # Built in, if it is there at all.
        return None
    places = list(found.submodule_search_locations or [])
    if found.origin:
        places.append(found.origin)
    return Path(places[0]).resolve() if places else None


def _file_of_command(name: str, directory: Path) -> Path | None:
    if "/" in name:
        return (directory / name).resolve()
    found = shutil.which(name)
    return Path(found).resolve() if found else None


trust_option = click.option(
    "--trust", is_flag=True, help="Run a FILE of somebody else, whatever it names."
)
"""For commands that execute what a file names."""


def check_trust(file: Path, target: Mapping[str, Any], is_trusted: bool) -> None:
    """Leave the command line if a file runs what is no part of the project, and nobody trusts it.

    Parameters:
        file: the reproduction file.
        target: how it names its test.
        is_trusted: somebody does.
    """
    what = None if is_trusted else foreign_code(file, target)
    if what is not None:
        usage_error(
            f"{file} runs {what}, which is not in this folder: give --trust if you trust the "
            "file, or run the command in the program's folder"
        )
