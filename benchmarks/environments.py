"""A virtual environment for each tool, and processes started in them."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers import BOHRBUG, Tool

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
MEASURE = FOLDER / "measure.py"


def default_cache() -> Path:
    """Where environments are kept unless the command line says otherwise."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "bohrbug-benchmarks"


@dataclass(frozen=True, slots=True)
class Environment:
    """A tool and the interpreter that has it.

    Parameters:
        tool: the tool.
        python: path of the interpreter.
    """

    tool: Tool
    python: Path

    def command(self, *arguments: str) -> list[str]:
        """The command that runs :mod:`measure` for this tool with ``arguments``."""
        python = [str(self.python)]
        if self.tool.launcher is not None:
            python = [str(self.python.parent / self.tool.launcher), "python"]
        return [*python, str(MEASURE), self.tool.name, *arguments]

    def variables(self) -> dict[str, str]:
        """The environment variables of that command."""
        variables = dict(os.environ)
        variables["PYTHONHASHSEED"] = "0"
        if self.tool is BOHRBUG:
            # The checkout is what is measured, whatever version is installed.
            variables["PYTHONPATH"] = str(ROOT / "src")
        else:
            variables.pop("PYTHONPATH", None)
        return variables


class MeasurementFailedError(Exception):
    """A measurement crashed or took too long; the message says which and shows its last words."""


def prepare(tool: Tool, base_python: Path, cache: Path) -> Environment:
    """Return the tool's environment, making it first if it is not in ``cache``.

    Parameters:
        tool: the tool.
        base_python: the interpreter to make it from.
        cache: the folder of all environments.

    Raises:
        subprocess.CalledProcessError: making it failed.
    """
    version = subprocess.run(
        [base_python, "-c", "import platform; print(platform.python_version())"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    folder = cache / f"{tool.name}-{version}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    requirement = ["-e", str(ROOT)] if tool is BOHRBUG else [tool.requirement or ""]
    finished = folder / "finished"
    wanted = " ".join(requirement)
    if tool is BOHRBUG:
        wanted += f" {_digest_of_what_is_compiled()}"
    if not finished.exists() or finished.read_text() != wanted:
        print(f"making an environment for {tool.name} in {folder}", file=sys.stderr)
        subprocess.run([base_python, "-m", "venv", "--clear", folder], check=True)
        if tool.requirement or tool is BOHRBUG:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *requirement], check=True)
        finished.write_text(wanted)
    return Environment(tool, python)


def _digest_of_what_is_compiled() -> str:
    """Changes with the sources that the environment has to be made anew for."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run(environment: Environment, arguments: Sequence[str], timeout: float) -> dict[str, Any]:
    """Run one measurement and return what it printed.

    Parameters:
        environment: where.
        arguments: for :mod:`measure`, after the name of the tool.
        timeout: wall time in seconds after which it is stopped.

    Raises:
        MeasurementFailedError: it was stopped, or ended without a result.
    """
    process = subprocess.Popen(
        environment.command(*arguments),
        env=environment.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=os.name == "posix",
    )
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        raise MeasurementFailedError(f"no result after {timeout:.0f} s") from None
    except BaseException:
        _kill(process)
        raise
    lines = output.strip().splitlines()
    if process.returncode != 0 or not lines:
        last_words = (errors.strip().splitlines() or ["(silent)"])[-1]
        raise MeasurementFailedError(f"exit code {process.returncode}: {last_words}")
    measured: dict[str, Any] = json.loads(lines[-1])
    return measured


def _kill(process: subprocess.Popen[str]) -> None:
    # The launcher of a tool may have started the interpreter as its child.
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()
