"""The options of explorations, described once for the command line, pytest and ``pyproject.toml``.

Nothing heavy is imported here: pytest loads this module in every run, with
``--bohrbug`` or without.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = "tool.bohrbug"
_NONE = "none"
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


class SettingsError(ValueError):
    """A setting makes no sense; the message says which, where, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of an exploration.

    Parameters:
        name: of the field of :class:`bohrbug.exploration.options.ExploreOptions`.
        type: ``str``, ``int``, ``float``, ``bool`` or ``tuple`` (of names).
        help: one sentence for ``--help``.
        choices: the allowed words; empty if any will do.
        may_be_none: whether ``none`` is a value.
    """

    name: str
    type: type
    help: str
    choices: tuple[str, ...] = ()
    may_be_none: bool = False

    @property
    def flag(self) -> str:
        """The name on a command line, without dashes in front: ``keep-going``."""
        return self.name.replace("_", "-")

    @property
    def metavar(self) -> str:
        """What ``--help`` shows for the value."""
        if self.choices:
            return "|".join(self.choices)
        return {int: "N", float: "SECONDS", tuple: "+MODULE|-MODULE"}.get(self.type, "TEXT")

    def parse(self, text: str, where: str) -> Any:
        """The value that a text stands for.

        Parameters:
            text: such as ``"5"`` or ``"none"``.
            where: for messages, such as ``--bound``.

        Raises:
            SettingsError: it stands for no allowed value.
        """
        words = text.strip()
        if self.may_be_none and words.lower() == _NONE:
            return None
        if self.type is bool:
            if words.lower() in _TRUE | _FALSE:
                return words.lower() in _TRUE
            raise SettingsError(f"{where}: {text!r} is neither true nor false")
        if self.type is tuple:
            return tuple(words.split())
        if self.type in (int, float):
            try:
                return self.type(words.replace("_", "").replace(",", ""))
            except ValueError:
                raise self._wrong(text, where) from None
        return self.check(words, where)

    def check(self, value: object, where: str) -> Any:
        """A value that is no text (from TOML or a marker), if it is allowed.

        Raises:
            SettingsError: it is not.
        """
        if self.may_be_none and (value is None or value == _NONE):
            return None
        if self.type is tuple:
            names = (value,) if isinstance(value, str) else value
            if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
                return tuple(names)
        elif self.type is float:
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
        elif (
            isinstance(value, self.type)
            and (self.type is bool or not isinstance(value, bool))
            and (not self.choices or value in self.choices)
        ):
            return value
        raise self._wrong(value, where)

    def _wrong(self, value: object, where: str) -> SettingsError:
        if self.choices:
            wanted = f"one of {', '.join(self.choices)}"
        else:
            wanted = {
                int: "a whole number",
                float: "a number",
                bool: "true or false",
                tuple: "a list of module names",
            }.get(self.type, "a text")
        if self.may_be_none:
            wanted += f" or {_NONE!r}"
        return SettingsError(f"{where} must be {wanted}, not {value!r}")


OPTIONS: tuple[Option, ...] = (
    Option(
        "strategy",
        str,
        "How schedules are chosen; auto is a portfolio of all others.",
        (
            *("auto", "bpor", "dfs", "dpor", "idb", "ipb"),
            *("pct", "pos", "random", "rff", "surw", "uniform"),
        ),
    ),
    Option("executions", int, "The budget in executions."),
    Option("seconds", float, "The budget in seconds of real time.", may_be_none=True),
    Option(
        "bound",
        int,
        "The largest number of preemptions (auto, ipb) or delays (idb).",
        may_be_none=True,
    ),
    Option("depth", int, "The depth of the bugs that pct aims at.", may_be_none=True),
    Option("seed", int, "The seed of everything random."),
    Option(
        "level",
        str,
        "What is a scheduling point: synchronisation only; racy accesses too; all shared accesses.",
        ("sync", "racy", "all"),
    ),
    Option("scope", tuple, "Add a module to those whose data accesses are seen, or take one away."),
    Option(
        "timeouts",
        str,
        "When a timeout can fire: although others could run (early), or only when nothing else can"
        " (late); report: early, but what fails only so is no failure.",
        ("early", "report", "late"),
    ),
    Option(
        "interpreter",
        str,
        "Whose rules for switching threads are followed.",
        ("free-threaded", "gil"),
    ),
    Option(
        "races",
        str,
        "Report data races, let them fail the test, or ignore them.",
        ("report", "fail", "ignore"),
    ),
    Option("keep_going", bool, "Explore on after a failure."),
    Option("minimise", bool, "Reduce failures to the fewest preemptions."),
    Option("max_steps", int, "Steps after which an execution is a livelock."),
    Option("hang_seconds", float, "Real seconds without progress after which it is a hang."),
    Option("workers", int, "Processes that explore at the same time."),
)
"""All options, in the order in which help texts list them."""

BY_NAME: Mapping[str, Option] = {option.name: option for option in OPTIONS}


def checked(values: Mapping[str, object], where: str) -> dict[str, Any]:
    """Settings with their names and values checked.

    Parameters:
        values: names, with dashes or underscores, and values.
        where: they stand, for messages.

    Raises:
        SettingsError: an unknown name or a value that is not allowed.
    """
    result: dict[str, Any] = {}
    for key, value in values.items():
        option = BY_NAME.get(key.replace("-", "_"))
        if option is None:
            known = ", ".join(option.flag for option in OPTIONS)
            raise SettingsError(f"{where}: there is no option {key!r}; there are {known}")
        result[option.name] = option.check(value, f"{where}: {key}")
    return result


def find_pyproject(start: Path) -> Path | None:
    """The ``pyproject.toml`` of a folder or of the nearest folder above it that has one."""
    for folder in (start, *start.parents):
        candidate = folder / "pyproject.toml"
        if candidate.is_file():
            return candidate
    return None


def read_pyproject(path: Path | None) -> dict[str, Any]:
    """What ``[tool.bohrbug]`` of a file says; empty if there is no file or no such table.

    Raises:
        SettingsError: the file is not TOML, or a setting makes no sense.
    """
    if path is None:
        return {}
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}") from error
    tool = content.get("tool", {})
    table = tool.get("bohrbug", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: [{TABLE}] must be a table")
    return checked(table, f"{path}, [{TABLE}]")
