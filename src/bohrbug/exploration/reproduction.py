"""Reproduction files: a failing plan with all that is needed to replay it."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Failure, Interpreter
from bohrbug.model.cause_json import cause_from_json, cause_to_json
from bohrbug.model.serialise import plan_from_json, plan_to_json, trace_from_json, trace_to_json

FORMAT = "bohrbug-reproduction"
VERSION = 1
DIRECTORY = Path(".bohrbug")


class ReproductionError(ValueError):
    """A file is no reproduction that this version can read; the message says what to do."""


@dataclass(slots=True)
class Reproduction:
    """What a reproduction file holds.

    Parameters:
        target: how to find the test again: ``{"kind": "script", "path": ..., "arguments":
            [...]}``, ``{"kind": "function", "name": "module:qualified.name", "path": ...}``
            or ``{"kind": "pytest", "node": ..., "root": ...}``.
        test: the name of the test.
        options: of the exploration.
        points: the data accesses that were scheduling points.
        failure: the failure.
        python: version of the interpreter.
    """

    target: dict[str, Any]
    test: str
    options: ExploreOptions
    points: list[Any]
    failure: Failure
    python: str = field(default_factory=platform.python_version)

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        options = asdict(replace(self.options, invariant=None))
        del options["invariant"]
        failure = self.failure
        return {
            "format": FORMAT,
            "version": VERSION,
            "python": self.python,
            "target": self.target,
            "test": self.test,
            "options": options,
            "points": self.points,
            **failure_to_json(failure),
        }

    def write(self, directory: Path = DIRECTORY) -> Path:
        """Write the file under a name made of test and schedule, and return its path."""
        directory.mkdir(parents=True, exist_ok=True)
        content = json.dumps(self.to_json(), indent=1, ensure_ascii=False)
        digest = hashlib.sha256(
            json.dumps(plan_to_json(self.failure.plan), sort_keys=True).encode()
        ).hexdigest()[:8]
        stem = re.sub(r"[^\w.-]+", "-", self.test).strip("-.")[-80:] or "test"
        path = directory / f"{stem}-{digest}.json"
        partial = path.with_suffix(".partial")
        partial.write_text(content, encoding="utf-8")
        partial.replace(path)
        self.failure.reproduction = path
        return path


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """A failure as plain data."""
    return {
        "strategy": failure.strategy,
        "execution": failure.execution,
        "found_preemptions": failure.found_preemptions,
        "essential": list(failure.essential),
        "early_timeouts": list(failure.early_timeouts),
        "confirmed": failure.confirmed,
        "interpreter": failure.interpreter.value,
        "cause": cause_to_json(failure.cause),
        "plan": plan_to_json(failure.plan),
        "trace": trace_to_json(failure.trace),
    }


def failure_from_json(data: dict[str, Any]) -> Failure:
    """The failure that :func:`failure_to_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is damaged.
    """
    trace = trace_from_json(data["trace"])
    return Failure(
        trace.outcome,
        trace,
        plan_from_json(data["plan"]),
        data["strategy"],
        data["execution"],
        data["found_preemptions"],
        tuple(data["essential"]),
        data["confirmed"],
        Interpreter(data["interpreter"]),
        tuple(data["early_timeouts"]),
        cause=cause_from_json(data.get("cause")),
    )


def options_from_json(data: dict[str, Any]) -> ExploreOptions:
    """Options as they are written to files.

    Raises:
        TypeError, ValueError: they make no sense.
    """
    return ExploreOptions(**{**data, "scope": tuple(data["scope"])})


def read_reproduction(path: Path) -> Reproduction:
    """Read a reproduction file.

    Raises:
        ReproductionError: it can't be read or is of another kind or version.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReproductionError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ReproductionError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ReproductionError(f"{path} is no reproduction file of Bohrbug")
    if data.get("version") != VERSION:
        raise ReproductionError(
            f"{path} has version {data.get('version')}, this Bohrbug reads version {VERSION}: "
            "explore the test again to write a new one"
        )
    try:
        failure = failure_from_json(data)
        failure.reproduction = path
        return Reproduction(
            data["target"],
            data["test"],
            options_from_json(data["options"]),
            [tuple(point) for point in data["points"]],
            failure,
            data["python"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ReproductionError(f"{path} is damaged: {type(error).__name__}: {error}") from error
