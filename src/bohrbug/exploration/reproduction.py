"""Reproduction files: a failing plan with all that is needed to replay it."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.program_text import (
    FileText,
    PointText,
    recorded_text,
    sites_of,
    text_from_json,
    text_to_json,
)
from bohrbug.exploration.result import Failure, Interpreter
from bohrbug.model.cause import Cause
from bohrbug.model.cause_json import cause_from_json, cause_to_json
from bohrbug.model.conditions import Conditions, FunctionKey, Growth, PlaceKey
from bohrbug.model.history import with_places
from bohrbug.model.json_checks import (
    a_bool,
    a_count,
    a_list,
    a_row,
    a_string,
    an_object,
    field_of,
    strings,
)
from bohrbug.model.operation import Site
from bohrbug.model.outcome import Race
from bohrbug.model.serialise import plan_from_json, plan_to_json, trace_from_json, trace_to_json
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.paths import DIRECTORY, replace_file

FORMAT = "bohrbug-reproduction"
VERSION = 1


class ReproductionError(ValueError):
    """A file is no reproduction that this version can read; the message says what to do."""


_LONGEST_STEM = 80


def stem_of(test: str) -> str:
    """What files of a test are called: its name, of a long one the last words."""
    words = re.sub(r"[^\w.-]+", "-", test).strip("-.")
    if len(words) > _LONGEST_STEM:
        end = words[-_LONGEST_STEM - 1 :]
        words = re.sub(r"^[^-]*-", "", end) if "-" in end else end[1:]
    return words.strip("-.") or "test"


@dataclass(slots=True)
class Reproduction:
    """What a reproduction file holds.

    Parameters:
        target: how to find the test again: ``{"kind": "script", "path": ..., "arguments":
            [...]}``, ``{"kind": "function", "name": "module:qualified.name", "path": ...}``
            or ``{"kind": "pytest", "node": ..., "root": ..., "file": ..., "directory": ...}``.
        test: the name of the test.
        options: of the exploration.
        points: the data accesses that were scheduling points.
        failure: the failure.
        python: version of the interpreter.
        texts: the text of the program where something was recorded, by file name; empty
            in files that do not tell.
        natively: what came of exporting it as a test for ordinary threads, a sentence; empty
            if nobody has tried.
    """

    target: dict[str, Any]
    test: str
    options: ExploreOptions
    points: list[Any]
    failure: Failure
    python: str = field(default_factory=platform.python_version)
    texts: dict[str, FileText] = field(default_factory=dict)
    natively: str = ""

    @property
    def conditions(self) -> Conditions:
        """Those under which its plan is executed, but for the points, which are places of now."""
        return self.options.conditions().with_timeouts_of(self.failure.plan.conditions)

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        failure = self.failure
        return {
            "format": FORMAT,
            "version": VERSION,
            "python": self.python,
            "target": self.target,
            "test": self.test,
            "options": options_to_json(self.options),
            "points": self.points,
            "texts": {name: text_to_json(text) for name, text in self.texts.items()},
            **({"natively": self.natively} if self.natively else {}),
            **failure_to_json(failure),
        }

    def write(self, directory: Path = DIRECTORY) -> Path:
        """Write the file under a name made of test and schedule, and return its path.

        One schedule can show several data races; so what races is part of the name, too.
        """
        directory.mkdir(parents=True, exist_ok=True)
        plan = json.dumps(plan_to_json(self.failure.plan), sort_keys=True)
        race = self.failure.outcome.race
        raced = "" if race is None else _race_in_brief(race)
        digest = hashlib.sha256(f"{plan}{raced}".encode()).hexdigest()[:8]
        return self.write_to(directory / f"{stem_of(self.test)}-{digest}.json")

    def write_to(self, path: Path) -> Path:
        """Write the file, in place of the one there may be, and return its path."""
        _write_json(path, self.to_json())
        self.failure.reproduction = path
        return path


def _write_json(path: Path, data: dict[str, Any]) -> None:
    content = json.dumps(data, indent=1, ensure_ascii=False)
    # A file name need not be text: JSON has an escape for what is none.
    replace_file(path, content.encode("utf-8", "backslashreplace"))


def keep_what_came_natively(path: Path, sentence: str) -> None:
    """Write into a reproduction file what came of exporting it; all else stays as it is.

    Parameters:
        path: of a file that can be read.
        sentence: see :class:`Reproduction`.

    Raises:
        OSError: it can't be written.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    _write_json(path, {**data, "natively": sentence})


def _race_in_brief(race: Race) -> str:
    """What tells a data race from others of the same test, on every machine."""
    operations = (race.first.operation, race.second.operation)
    sites = [site_of(operation.place) for operation in operations]
    lines = [site and site.line for site in sites]
    return repr((race.label, [operation.kind.name for operation in operations], lines))


def reproduction_of(
    failure: Failure, target: dict[str, Any], test: str, options: ExploreOptions
) -> Reproduction:
    """What is to be written of a failure.

    Parameters:
        failure: of the program as it is now.
        target: how to find the test again, see :class:`Reproduction`.
        test: the name of the test.
        options: of the exploration.
    """
    of_points = [
        Site(filename, text.line, function, text.column)
        for (filename, function, *_), text in zip(failure.points, failure.accesses, strict=False)
    ]
    return Reproduction(
        target,
        test,
        options,
        list(failure.points),
        failure,
        texts=recorded_text([*sites_of(failure.trace), *of_points]),
    )


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """A failure as plain data."""
    return {
        "strategy": failure.strategy,
        "execution": failure.execution,
        "found_preemptions": failure.found_preemptions,
        "essential": list(failure.essential),
        "early_timeouts": list(failure.early_timeouts),
        "confirmed": failure.confirmed,
        "happens_afresh": failure.happens_afresh,
        **({"is_unaware": True} if failure.is_unaware else {}),
        "interpreter": failure.interpreter.value,
        "cause": cause_to_json(failure.cause),
        "accesses": [list(astuple(access)) for access in failure.accesses],
        **({} if failure.growth is None else {"growth": growth_to_json(failure.growth)}),
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
        cause=_cause_of(trace, data.get("cause")),
        happens_afresh=_an_answer(data.get("happens_afresh"), "happens_afresh"),
        is_unaware=bool(_an_answer(data.get("is_unaware"), "is_unaware")),
        accesses=tuple(
            PointText(*a_row(row, "accesses", a_count, a_count, a_string, a_string))
            for row in a_list(data.get("accesses", []), "accesses")
        ),
        growth=growth_from_json(data["growth"]) if "growth" in data else None,
    )


def _cause_of(trace: Trace, data: Any) -> Cause | None:
    cause = cause_from_json(data)
    if cause is None:
        return None
    return replace(cause, orderings=with_places(cause.orderings, trace))


def growth_to_json(growth: Sequence[Growth]) -> list[Any]:
    """How a run became visible, as plain data: steps, with their points and functions in order."""
    return [[each.step, sorted(each.points), sorted(each.functions), each.quiet] for each in growth]


def growth_from_json(data: Any) -> tuple[Growth, ...]:
    """What :func:`growth_to_json` wrote.

    Raises:
        ValueError: it is damaged.
    """
    shape = (a_count, a_list, a_list, a_bool)
    rows = [a_row(each, "growth", *shape) for each in a_list(data, "growth")]
    return tuple(
        Growth(step, frozenset(map(_a_point, points)), frozenset(map(_a_function, names)), quiet)
        for step, points, names, quiet in rows
    )


def _a_function(data: Any) -> FunctionKey:
    module, file, name, line = a_row(data, "growth", a_string, a_string, a_string, a_count)
    return module, file, name, line


def _a_point(data: Any) -> PlaceKey:
    file, function, line, offset = a_row(data, "growth", a_string, a_string, a_count, a_count)
    return file, function, line, offset


def _an_answer(data: Any, name: str) -> bool | None:
    if data is not None and not isinstance(data, bool):
        raise ValueError(f"{name} must be true, false or null, not {data!r:.80}")
    return data


def options_to_json(options: ExploreOptions) -> dict[str, Any]:
    """Options as they are written to files: all but the invariant, which is a function."""
    plain = asdict(replace(options, invariant=None))
    del plain["invariant"]
    return {**plain, "scope": list(options.scope), "cancel": list(options.cancel)}


def options_from_json(data: dict[str, Any]) -> ExploreOptions:
    """The options that :func:`options_to_json` wrote.

    Raises:
        TypeError, ValueError: they make no sense.
    """
    given: dict[str, Any] = an_object(data, "options")
    unknown = given.keys() - {each.name for each in fields(ExploreOptions)}
    if unknown:
        words = f"the option {min(unknown)!r:.80} is not known to this Bohrbug"
        raise ValueError(f"{words}; it may be of a newer one: upgrade")
    return ExploreOptions(**given)


_TARGETS: dict[str, dict[str, Callable[[Any, str], object]]] = {
    "script": {"path": a_string, "arguments": strings},
    "function": {"name": a_string},
    "pytest": {"node": a_string, "root": a_string},
    "command": {"command": strings, "directory": a_string, "check": strings},
}
"""What must be there to find a test of each kind again."""


def _a_target(data: Any) -> dict[str, Any]:
    target = an_object(data, "target")
    kind = a_string(field_of(target, "kind", "target"), "target")
    for name, check in _TARGETS.get(kind, {}).items():
        check(field_of(target, name, "target"), f"target {name}")
    return target


_NO_NAME = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
"""What neither text nor a file name has; a byte of a name that is no text is between these."""


def _string_that_names_nothing(data: Any) -> str | None:
    """A string that can be neither shown nor looked up, somewhere in JSON."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and _NO_NAME.search(value):
            return value
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value)
            waiting.extend(value.values())
    return None


def read_reproduction(path: Path) -> Reproduction:
    """Read a reproduction file.

    Raises:
        ReproductionError: it can't be read or is of another kind or version.
    """
    try:
        text = path.read_text(encoding="utf-8")
        is_empty = not text.strip()
        data = None if is_empty else json.loads(text)
    except OSError as error:
        raise ReproductionError(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise ReproductionError(
            f"{path} is not a reproduction file of Bohrbug: its brackets are nested too deeply"
        ) from error
    except ValueError as error:
        raise ReproductionError(
            f"{path} is not a reproduction file of Bohrbug, or is damaged: it is not JSON: {error}"
        ) from error
    if is_empty:
        raise ReproductionError(f"{path} is empty")
    strange = _string_that_names_nothing(data)
    if strange is not None:
        raise ReproductionError(f"{path} is damaged: {strange!a:.80} is not text and names no file")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ReproductionError(f"{path} is not a reproduction file of Bohrbug")
    if data.get("version") != VERSION:
        raise ReproductionError(
            f"{path} has version {data.get('version')}, this Bohrbug reads version {VERSION}: "
            "explore the test again to write a new one"
        )
    try:
        failure = failure_from_json(data)
        failure.reproduction = path
        points = [tuple(point) for point in data["points"]]
        if failure.accesses and len(failure.accesses) != len(points):
            raise ValueError(f"{len(failure.accesses)} accesses for {len(points)} points")
        texts = an_object(data.get("texts", {}), "texts")
        return Reproduction(
            _a_target(data["target"]),
            a_string(data["test"], "test"),
            options_from_json(data["options"]),
            points,
            failure,
            data["python"],
            {name: text_from_json(text) for name, text in texts.items()},
            a_string(data.get("natively", ""), "natively"),
        )
    except (KeyError, TypeError, ValueError) as error:
        trouble = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise ReproductionError(f"{path} is damaged: {trouble}") from error
