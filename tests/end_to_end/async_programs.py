"""Folders with async tests, in which the plugins for these are at work."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from .conftest import ASYNC_PLUGINS, Ended, Folder, left_out

RACE = """
    count = 0
    def add():
        nonlocal count
        count += 1
    await asyncio.gather(asyncio.to_thread(add), asyncio.to_thread(add))
    assert count == 2
"""


def needs(*modules: str) -> pytest.MarkDecorator:
    """Marks tests of plugins that need not be there on every Python."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"without {', '.join(missing)}")


class AsyncFolder(Folder):
    """A folder in which the plugins for async tests are at work."""

    def explore(self, *arguments: str, plugin: str) -> Ended:
        wanted = plugin.split()
        options = left_out(*(name for name in ASYNC_PLUGINS if name not in wanted))
        if "asyncio" in wanted:
            options += " -o asyncio_default_fixture_loop_scope=function"
        options += " --bohrbug --bohrbug-causes=0 --bohrbug-no-minimise -W error"
        return self.pytest(*arguments, PYTEST_ADDOPTS=options)


@pytest.fixture
def async_folder(tmp_path: Path, environment: dict[str, str]) -> AsyncFolder:
    return AsyncFolder(tmp_path, environment)
