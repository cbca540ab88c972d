"""Child processes: the command line and pytest, as users call them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ASYNC_PLUGINS = ("asyncio", "anyio", "trio", "aiohttp")
"""Plugins for async tests, by the names under which pytest loads them."""


def left_out(*plugins: str) -> str:
    """Options of pytest that leave out plugins, beside those of hypothesis and pyfakefs.

    These take longer to load than most tests of whole commands run.
    """
    return " ".join(f"-p no:{name}" for name in ("hypothesispytest", "fakefs", *plugins))


SECONDS = 120
"""After which a child process is taken to hang."""


@dataclass(frozen=True)
class Ended:
    """How a child process ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


_FOUND: dict[tuple[str, str, str], tuple[str, str, Path]] = {}
"""Names and texts of reproductions that were found in a folder, by program and test."""


class Folder:
    """A folder of a user, and the commands that they type in it."""

    def __init__(self, path: Path, environment: dict[str, str]) -> None:
        self.path = path
        self.environment = environment

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def write_failing(self, name: str, text: str, test: str) -> Path:
        """A program, and what ``bohrbug run`` keeps of its failure.

        The same program is explored once only: of the folder the file says no more than where the
        program is.

        Parameters:
            name: of the program.
            text: of the program.
            test: as ``bohrbug run`` takes it.

        Returns:
            The reproduction.
        """
        self.write(name, text)
        found = _FOUND.get((name, text, test))
        if found is None:
            done = self.bohrbug("run", test)
            assert done.code == 1, done.out + done.err
            path = self.reproduction()
            _FOUND[name, text, test] = (path.name, path.read_text(encoding="utf-8"), self.path)
            return path
        file, content, place = found
        path = self.path / ".bohrbug" / file
        path.parent.mkdir()
        path.write_text(content.replace(str(place), str(self.path)), encoding="utf-8")
        return path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "bohrbug", *arguments]

    def pytest_command(self, *arguments: str) -> list[str]:
        plugin = [] if _plugin_is_installed() else ["-p", "bohrbug_entry.pytest_plugin"]
        base = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin]
        return [*base, *arguments]

    def run(self, command: list[str], stdin: str = "", **variables: str) -> Ended:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            cwd=self.path,
            env=self.environment | variables,
            timeout=SECONDS,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def bohrbug(self, *arguments: str, stdin: str = "", **variables: str) -> Ended:
        return self.run(self.command(*arguments), stdin, **variables)

    def pytest(self, *arguments: str, stdin: str = "", **variables: str) -> Ended:
        return self.run(self.pytest_command(*arguments), stdin, **variables)

    def each(self, commands: Sequence[Sequence[str]]) -> list[Ended]:
        """Several commands, each in a process forked from one that has loaded all it needs."""
        if not hasattr(os, "fork"):
            return [self.bohrbug(*arguments) for arguments in commands]
        lines = "".join(json.dumps(list(arguments)) + "\n" for arguments in commands)
        done = self.run([sys.executable, "-c", _EACH], stdin=lines)
        assert done.code == 0, done.err
        return [Ended(*json.loads(line)) for line in done.lines]

    def reproductions(self) -> list[Path]:
        return sorted((self.path / ".bohrbug").glob("*.json"))

    def reproduction(self) -> Path:
        (only,) = self.reproductions()
        return only

    def content(self) -> dict[str, Any]:
        content = json.loads(self.reproduction().read_text(encoding="utf-8"))
        assert isinstance(content, dict)
        return content


_EACH = """
import json, os, sys, tempfile
import bohrbug.cli
bohrbug.cli.main  # loads all that explores
for line in sys.stdin.read().splitlines():
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.argv = ["bohrbug", *json.loads(line)]
            sys.exit(bohrbug.cli.run())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = [os.pread(file.fileno(), 1 << 20, 0).decode() for file in (out, err)]
        print(json.dumps([code, *texts]), flush=True)
"""
"""Does what the command line says for each line of its standard input."""


def _plugin_is_installed() -> bool:
    points = importlib.metadata.entry_points(group="pytest11")
    return any(point.name == "bohrbug" for point in points)


@pytest.fixture
def folder(tmp_path: Path, environment: dict[str, str]) -> Folder:
    return Folder(tmp_path, environment | {"PYTEST_ADDOPTS": left_out(*ASYNC_PLUGINS)})
