"""The options of explorations, described once for the command line, pytest and ``pyproject.toml``.

Nothing heavy is imported here: pytest loads this module in every run, with
``--bohrbug`` or without.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from bohrbug.paths import display_path

TABLE = "tool.bohrbug"
_NONE = "none"
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


class SettingsError(ValueError):
    """A setting makes no sense; the message says which, where, and what is allowed."""


def change_of_scope(change: str) -> tuple[str, bool]:
    """What a change of the scope says: the name of a module, and whether it is in.

    Parameters:
        change: ``"+logging"`` or ``"logging"``, ``"-requests"``; or ``"-"``, which stands for all
            modules and has no name.

    Raises:
        ValueError: it names nothing.
    """
    text = change.strip()
    name = text[1:] if text[:1] in ("+", "-") else text
    if text != "-" and not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"scope: {change!r} names no module")
    return name, not text.startswith("-")


@dataclass(frozen=True, slots=True)
class Option:
    """One option of an exploration.

    Parameters:
        name: of the field of :class:`bohrbug.exploration.options.ExploreOptions`.
        type: ``str``, ``int``, ``float``, ``bool`` or ``tuple`` (of names).
        help: one sentence for ``--help``.
        choices: the allowed words; empty if any will do.
        may_be_none: whether ``none`` is a value.
        least: the smallest number that is allowed.
        positive: whether it must be more than 0.
        item: what ``--help`` shows for one of several names.
        is_native: it is for native programs only, so that pytest does not have it.
    """

    name: str
    type: type
    help: str
    choices: tuple[str, ...] = ()
    may_be_none: bool = False
    least: int | None = None
    positive: bool = False
    item: str = "NAME"
    is_native: bool = False

    @property
    def flag(self) -> str:
        """The name on a command line, without dashes in front: ``keep-going``."""
        return self.name.replace("_", "-")

    @property
    def metavar(self) -> str:
        """What ``--help`` shows for the value."""
        if self.choices:
            return "|".join(self.choices)
        return {int: "N", float: "SECONDS", tuple: self.item}.get(self.type, "TEXT")

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
                number = self.type(words.replace("_", "").replace(",", ""))
            except ValueError:
                raise self._wrong(text, where) from None
            return self.check(number, where)
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
                return self._within_limits(float(value), where)
        elif (
            isinstance(value, self.type)
            and (self.type is bool or not isinstance(value, bool))
            and (not self.choices or value in self.choices)
        ):
            return self._within_limits(value, where)
        raise self._wrong(value, where)

    def _within_limits(self, value: Any, where: str) -> Any:
        if self.positive and not value > 0:
            raise SettingsError(f"{where} must be more than 0, not {value:g}")
        if self.least is not None and not value >= self.least:
            raise SettingsError(f"{where} must be at least {self.least}, not {value:g}")
        return value

    def _wrong(self, value: object, where: str) -> SettingsError:
        if self.choices:
            wanted = f"one of {', '.join(self.choices)}"
        else:
            wanted = {
                int: "a whole number",
                float: "a number",
                bool: "true or false",
                tuple: "a list of names",
            }.get(self.type, "a text")
        if self.may_be_none:
            wanted += f" or {_NONE!r}"
        return SettingsError(f"{where} must be {wanted}, not {value!r}")


OPTIONS: tuple[Option, ...] = (
    Option(
        "strategy",
        str,
        "How schedules are chosen; auto is a portfolio of others.",
        (
            *("auto", "bpor", "dfs", "dpor", "idb", "ipb"),
            *("pct", "pos", "random", "rff", "surw", "uniform"),
        ),
    ),
    Option("executions", int, "The budget in executions, or none.", may_be_none=True, least=1),
    Option(
        "seconds",
        float,
        "The budget in seconds of real time, or none.",
        may_be_none=True,
        positive=True,
    ),
    Option(
        "bound",
        int,
        "The largest number of preemptions (auto, bpor, ipb) or delays (idb), or none.",
        may_be_none=True,
        least=0,
    ),
    Option(
        "depth",
        int,
        "The depth of the bugs that pct aims at; none: 1, 2 and 3 in turn.",
        may_be_none=True,
        least=1,
    ),
    Option("seed", int, "The seed of all random choices."),
    Option(
        "level",
        str,
        "What is a scheduling point: synchronisation only; racy accesses too; all shared accesses.",
        ("sync", "racy", "all"),
    ),
    Option(
        "scope",
        tuple,
        "Add a module to those whose data accesses are seen, or remove one.",
        item="+MODULE|-MODULE",
    ),
    Option(
        "timeouts",
        str,
        "When a timeout can fire: while others could run (early), or only when nothing else can"
        " (late); report: early, but a failure that needs it does not count; short: it counts"
        " if nobody has to stand still for more than a second.",
        ("short", "early", "report", "late"),
    ),
    Option(
        "interpreter",
        str,
        "Whose rules for switching threads are followed.",
        ("free-threaded", "gil"),
    ),
    Option(
        "entropy",
        str,
        "What os.urandom, uuid4 and Random() give: the same in each execution, or real values.",
        ("same", "real"),
    ),
    Option(
        "memory",
        str,
        "Native programs: memory is sequentially consistent (sc), or stores wait in their task's"
        " buffer, as on x86 (tso), or loads of atomics may see older values, as C11 allows"
        " (relaxed).",
        ("sc", "tso", "relaxed"),
        is_native=True,
    ),
    Option(
        "async_order",
        str,
        "Whether asyncio.sleep(0) takes at least one turn of its event loop, or exactly one.",
        ("arrivals", "fifo"),
    ),
    Option(
        "cancel",
        tuple,
        "Let a task of an event loop, by its name or that of its coroutine, be cancelled wherever"
        " it waits; scopes: any within a timeout, wait_for or TaskGroup.",
    ),
    Option(
        "gc",
        bool,
        "Let a garbage collection, which runs finalizers, happen while a task holds a lock.",
    ),
    Option(
        "asyncio_errors",
        str,
        "Errors that asyncio only logs (exceptions that nobody retrieves, and the like): note them,"
        " or let them fail the test.",
        ("note", "fail"),
    ),
    Option(
        "races",
        str,
        "Report data races, let them fail the test, or ignore them.",
        ("report", "fail", "ignore"),
    ),
    Option("keep_going", bool, "Keep exploring after a failure."),
    Option("minimise", bool, "Reduce failures to the fewest preemptions."),
    Option("causes", int, "Executions to find what makes a test fail; 0 switches it off.", least=0),
    Option("causes_seconds", float, "The same in seconds of real time.", positive=True),
    Option(
        "predict",
        int,
        "Executions to check predicted deadlocks and races; 0 switches it off.",
        least=0,
    ),
    Option("max_steps", int, "Steps after which an execution is a livelock.", least=1),
    Option(
        "hang_seconds",
        float,
        "Real seconds without progress after which an execution hangs; 0 switches it off.",
        least=0,
    ),
    Option("workers", int, "Processes that explore at the same time.", least=1),
)
"""All options, in the order in which help texts list them."""

OF_PYTEST = tuple(option for option in OPTIONS if not option.is_native)
"""The options that tests of pytest have."""

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
            raise SettingsError(f"{where}: there is no option {key!r}{_meant(key)}")
        result[option.name] = option.check(value, f"{where}: {key}")
    return result


def _meant(key: str) -> str:
    """What may have been meant by the name of an option that there is not."""
    flags = [option.flag for option in OPTIONS]
    alike = get_close_matches(key.replace("_", "-"), flags, 1)
    return f"; did you mean {alike[0]!r}?" if alike else f"; there are {', '.join(flags)}"


def find_pyproject(start: Path) -> Path | None:
    """The ``pyproject.toml`` of a folder or of the nearest folder above it that has one."""
    for folder in (start, *start.parents):
        candidate = folder / "pyproject.toml"
        if candidate.is_file():
            return candidate
    return None


OF_SESSIONS = frozenset({"budget"})
"""What the table may say of whole sessions of pytest, beside the options of their tests."""


def read_pyproject(path: Path | None) -> dict[str, Any]:
    """What ``[tool.bohrbug]`` of a file says of tests; empty if there is no file or no such table.

    Raises:
        SettingsError: the file is not TOML, or a setting makes no sense.
    """
    table = {name: value for name, value in _table_of(path).items() if name not in OF_SESSIONS}
    return checked(table, f"{display_path(str(path))}, [{TABLE}]")


def read_session_settings(path: Path | None) -> dict[str, Any]:
    """What it says of whole sessions: the values for :data:`OF_SESSIONS`, as they stand there.

    Raises:
        SettingsError: the file is not TOML.
    """
    return {name: value for name, value in _table_of(path).items() if name in OF_SESSIONS}


def _table_of(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    shown = display_path(str(path))
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise SettingsError(f"{shown}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{shown} is not TOML: {error}") from error
    tool = content.get("tool", {})
    table = tool.get("bohrbug", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise SettingsError(f"{shown}: [{TABLE}] must be a table")
    return table
