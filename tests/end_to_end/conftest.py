"""Child processes: the command line and pytest, as users call them."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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


class Folder:
    """A folder of a user, and the commands that they type in it."""

    def __init__(self, path: Path, environment: dict[str, str]) -> None:
        self.path = path
        self.environment = environment

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "bohrbug", *arguments]

    def pytest_command(self, *arguments: str) -> list[str]:
        plugin = [] if _plugin_is_installed() else ["-p", "bohrbug.pytest_plugin"]
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

    def reproductions(self) -> list[Path]:
        return sorted((self.path / ".bohrbug").glob("*.json"))

    def reproduction(self) -> Path:
        (only,) = self.reproductions()
        return only

    def content(self) -> dict[str, Any]:
        content = json.loads(self.reproduction().read_text(encoding="utf-8"))
        assert isinstance(content, dict)
        return content


def _plugin_is_installed() -> bool:
    points = importlib.metadata.entry_points(group="pytest11")
    return any(point.value == "bohrbug.pytest_plugin" for point in points)


@pytest.fixture
def folder(tmp_path: Path, environment: dict[str, str]) -> Folder:
    # No test here is of hypothesis, whose plugin takes longer to load than most of them run.
    return Folder(tmp_path, environment | {"PYTEST_ADDOPTS": "-p no:hypothesispytest"})
