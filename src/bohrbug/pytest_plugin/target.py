"""How a reproduction file names a pytest test, and how the test is found again.

The node id alone does not do: pytest makes it from its root folder and, of a test outside of that,
from what it was given on its command line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import pytest


def target_of_item(item: pytest.Item) -> dict[str, Any]:
    """What a reproduction file says of a test; paths are relative to pytest's root folder."""
    config = item.config
    root = config.rootpath
    directory = config.invocation_params.dir
    target: dict[str, Any] = {
        "kind": "pytest",
        "node": item.nodeid,
        "root": str(root),
        "file": _relative(item.path, root),
        "directory": _relative(directory, root),
    }
    configuration = config.getoption("inifilename", None)
    if configuration:
        # Given by hand (``-c``), so that pytest would not find it by itself.
        target["configuration"] = _relative(directory / configuration, root)
    if str(directory) in sys.path:
        # As ``python -m pytest`` has it; the command that replays is started in another way.
        target["imports_from_directory"] = True
    return target


def imports_from(target: Mapping[str, Any], directory: Path) -> None:
    """Let modules be imported from the folder to start pytest in, if they were."""
    if target.get("imports_from_directory") and str(directory) not in sys.path:
        sys.path.insert(0, str(directory))


def folders_of(target: Mapping[str, Any]) -> tuple[Path, Path]:
    """Pytest's root folder, and the one to start it in.

    Where the root folder of the file does not exist, the current one stands for it.
    """
    root = Path(target["root"])
    if not root.is_dir():
        root = Path.cwd()
    directory = root / target.get("directory", "")
    return root, directory if directory.is_dir() else root


def argument_for(target: Mapping[str, Any], root: Path) -> str:
    """What pytest, with a root folder, is to be given to collect the test."""
    return f"{_file_of(target, root)}{_within_file(target['node'])}"


def configuration_for(target: Mapping[str, Any], root: Path) -> list[str]:
    """The arguments by which pytest reads the configuration file that was named to it, if any."""
    name = target.get("configuration")
    return ["-c", str(root / name)] if name and (root / name).exists() else []


def is_target(item: pytest.Item, target: Mapping[str, Any]) -> bool:
    """Whether a collected test is the one of a reproduction file."""
    file = _file_of(target, item.config.rootpath)
    same_file = os.path.realpath(item.path) == os.path.realpath(file)
    return same_file and _within_file(item.nodeid) == _within_file(target["node"])


def _file_of(target: Mapping[str, Any], root: Path) -> Path:
    # Older files have only the node.
    name: str = target.get("file", target["node"].partition("::")[0])
    # The checkout in which pytest was started comes before the one of the file.
    here, there = root / name, Path(target["root"]) / name
    return there if there.is_file() and not here.is_file() else here


def _within_file(node: str) -> str:
    """``::TestShop::test_buy[1]`` of a node id."""
    _, separator, names = node.partition("::")
    return f"{separator}{names}"


def _relative(path: Path, root: Path) -> str:
    try:
        return PurePath(os.path.relpath(path, root)).as_posix()
    except ValueError:
        # On another drive.
        return str(path)
