"""Explore one test of ``examples/real``, and print what came of it as one line of JSON.

    python one_test.py TEST_FILE FUNCTION PHASE DISTRIBUTION

Run by ``libraries.py`` in a process of its own, with the library on the path.  The phases:
``find`` explores as a user does, until the bug is found; ``bound`` raises the preemption bound as
far as the budget allows; ``races`` goes on after failures, and collects data races.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import json
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bohrbug
from bohrbug import Result
from bohrbug.model.outcome import Access, Race
from bohrbug.model.site import site_of

OPTIONS: dict[str, dict[str, Any]] = {
    "find": {"executions": 2_000, "seconds": 30.0, "causes": 0},
    "bound": {
        "strategy": "ipb",
        "bound": None,
        "executions": 2_000,
        "seconds": 6.0,
        "keep_going": True,
        "minimise": False,
        "causes": 0,
    },
    "races": {
        "executions": 200,
        "seconds": 6.0,
        "keep_going": True,
        "minimise": False,
        "causes": 0,
    },
}


def test_of(path: Path, name: str) -> Callable[[], object]:
    """A test, with a new folder in each execution if it asks for one."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    function = getattr(module, name)
    if "tmp_path" not in inspect.signature(function).parameters:
        return function  # type: ignore[no-any-return]

    def in_new_folder() -> None:
        with tempfile.TemporaryDirectory() as folder:
            function(Path(folder))

    return in_new_folder


def lines_of(distribution: str) -> tuple[str, int]:
    """The version of a library, and how many lines of Python it has."""
    if distribution == "cpython":
        return sys.version.partition(" ")[0], 0
    found = importlib.metadata.distribution(distribution)
    files = [path for path in found.files or () if path.suffix == ".py"]
    lines = 0
    for path in files:
        source = Path(str(found.locate_file(path)))
        if source.exists() and "tests" not in path.parts:
            lines += source.read_bytes().count(b"\n")
    return found.version, lines


def race_as_data(race: Race) -> dict[str, Any]:
    """A race: what it is of, what it looks like, and both places with their lines."""
    return {
        "label": race.label,
        "pattern": race.pattern.value,
        "benign": race.pattern.is_often_benign,
        "await": race.stale is not None,
        "accesses": [_access(race.first), _access(race.second)],
    }


def _access(access: Access) -> dict[str, Any]:
    site = site_of(access.operation.place)
    file, line = ("", 0) if site is None else (site.filename, site.line)
    short = file.rpartition("site-packages/")[2]
    return {
        "what": access.operation.kind.name,
        "file": "/".join(short.split("/")[-3:]),
        "line": line,
        "function": "" if site is None else site.function,
        "locks": len(access.holding),
    }


def measured(phase: str, result: Result) -> dict[str, Any]:
    """What is kept of a result."""
    failure = result.failures[0] if result.failures else None
    data: dict[str, Any] = {
        "tasks": result.tasks,
        "points": result.points,
        "executions": result.executions,
        "seconds": round(result.seconds, 1),
        "verdict": result.verdict.kind.value,
        "covered": list(result.verdict.covered),
        "outcome": "" if failure is None else failure.outcome.kind.value,
        "execution": None if failure is None else failure.execution,
    }
    if phase == "find" and failure is not None:
        data["preemptions"] = len(failure.essential)
        data["found_preemptions"] = failure.found_preemptions
    if phase == "races":
        data["races"] = [race_as_data(race) for race in result.races]
        data["failures"] = len(result.failures)
    return data


def main() -> None:
    """Explore, and print."""
    path, name, phase, distribution = sys.argv[1:]
    version, lines = lines_of(distribution)
    threading.excepthook = lambda arguments: None
    result = bohrbug.explore(test_of(Path(path), name), name=name, **OPTIONS[phase])
    print("\n" + json.dumps({"version": version, "lines": lines, **measured(phase, result)}))


if __name__ == "__main__":
    main()
