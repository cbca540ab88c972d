"""Tests in which an earlier run found no failure, and that are as they were: not explored again."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bohrbug
from bohrbug.accelerator import native
from bohrbug.exploration.held import FILE, Held, HeldTests
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.pytest_plugin.dependencies import Digests, Files, FilesBehind, is_still_found
from bohrbug.pytest_plugin.distributions import distributions_in

KEPT = frozenset({VerdictKind.HOLDS, VerdictKind.HOLDS_WITHIN_BOUND, VerdictKind.NO_FAILURE_FOUND})
"""Verdicts that are kept; that a test failed is kept where its failures can be replayed.

Of an inconclusive test nothing is known: another session may see more of it.
"""

_NAMES = (
    "verbose color tbstyle reportchars durations durations_min showlocals xmlpath junitprefix"
    " basetemp file_or_dir keyword markexpr lf failedfirst newfirst cacheclear cacheshow stepwise"
    " maxfail numprocesses maxprocesses dist distload loadgroup loadscopereorder tx px testrunuid"
    " maxschedchunk maxworkerrestart looponfail rsyncdir rsyncignore usepdb usepdb_cls no_header"
    " no_summary fold_skipped code_highlight traceconfig debug collectonly deselect ignore"
    " ignore_glob pastebin bohrbug_again bohrbug_budget bohrbug_html bohrbug_sarif bohrbug_times"
    " bohrbug_forget bohrbug_debugpy"
)
_HOW_IT_IS_SHOWN = frozenset(_NAMES.split())
"""Options of pytest on which it does not depend what a test does."""

HeldFiles = Mapping[str, tuple[str, str]]
"""See :class:`~bohrbug.exploration.held.Held`."""

_wall = time.time


def unchanged_tests_of(config: pytest.Config) -> UnchangedTests | None:
    """What earlier runs have kept; ``None`` if nothing is to be remembered, or used."""
    if config.getoption("bohrbug_no_memory") or not config.getini("bohrbug_memory"):
        return None
    return UnchangedTests(config)


class UnchangedTests:
    """Which tests are as they were when no failure was found in them.

    A verdict depends on the files of the code that ran, on what is installed, and on options; files
    that a test only reads are not known.

    Parameters:
        config: of pytest.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests = HeldTests(config.rootpath / FILE)
        self._digests = Digests()
        self._behind = FilesBehind()
        self._modules_of: dict[tuple[int, ...], frozenset[ModuleType]] = {}
        self._same: dict[tuple[int, int, int], bool] = {}
        self._within_root: dict[str, str] = {}
        self._held_files: dict[int, tuple[Files, HeldFiles]] = {}
        self._digests_of_options: dict[int, tuple[ExploreOptions, str]] = {}

    @property
    def trouble(self) -> str:
        """Why nothing can be kept, or ""."""
        return self._tests.trouble or ""

    def told_of(self, item: pytest.Function, options: ExploreOptions) -> dict[str, Any] | None:
        """What was told of a test that is as it was then; ``None`` if it has to be explored.

        With when that was, and the executions and seconds that it took.
        """
        if self._config.getoption("bohrbug_again") or self._config.getoption("bohrbug_forget"):
            return None
        held = self._tests.recall(item.nodeid)
        if held is None or held.conditions != self._conditions(options):
            return None
        now = self._files_now(self._behind.of(self._modules(item), ()))
        if not self._are_as_then(now, held.files):
            return None
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(held.explored))
        then = held.told["executions"], held.told["seconds"]
        return {**held.told, "executions": 0, "seconds": 0.0, "unchanged": when, "then": then}

    def _are_as_then(self, now: HeldFiles, files: HeldFiles) -> bool:
        """Whether files have the same contents, none comes before one of them, and none is new.

        New is a further ``conftest.py``, say, or a module that another one imports by now.
        """
        # The files live as long as what was read; what is imported meanwhile may be another one.
        key = id(now), id(files), len(sys.modules)
        known = self._same.get(key)
        if known is None:
            paths = {str(self._config.rootpath / file): held for file, held in files.items()}
            known = self._same[key] = now.keys() <= files.keys() and all(
                self._digests.of(path) == digest and is_still_found(name, path)
                for path, (digest, name) in paths.items()
            )
        return known

    def keep(
        self,
        item: pytest.Function,
        options: ExploreOptions,
        result: Result,
        told: dict[str, Any],
        sources: Iterable[str],
    ) -> None:
        """Keep the verdict of a test, or forget what was kept.

        Parameters:
            item: the test.
            options: with which it was explored.
            result: what came of it.
            told: the same as plain data, see :func:`.summary.report_data`.
            sources: files of the functions that were followed.
        """
        if result.interrupted or not _is_worth_keeping(result):
            self._tests.forget(item.nodeid)
            return
        files = self._files_now(self._behind.of(self._modules(item), sources))
        self._tests.keep(item.nodeid, Held(self._conditions(options), files, told, _wall()))

    def forget(self, item: pytest.Item) -> None:
        """A test has failed when it ran once: it is explored the next time."""
        self._tests.forget(item.nodeid)

    def flush(self) -> None:
        """At the end of the session: write all that is kept."""
        self._tests.flush()

    def _files_now(self, files: Files) -> HeldFiles:
        """Files with the digests of their contents; the same object for the same files."""
        known = self._held_files.get(id(files))
        if known is None:
            found = {
                self._name_of(file): (self._digests.of(file), name) for file, name in files.items()
            }
            # Together with the files, so that no others get their identity.
            known = self._held_files[id(files)] = files, found
        return known[1]

    def _name_of(self, file: str) -> str:
        known = self._within_root.get(file)
        if known is None:
            known = self._within_root[file] = _within(self._config.rootpath, file)
        return known

    def _modules(self, item: pytest.Function) -> frozenset[ModuleType]:
        """The test's own module, those of its fixtures, and plugins of the project."""
        definitions = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009  (is private)
        plugins = self._config.pluginmanager.get_plugins()
        # Fixtures last as long as the session: no others get their identity.
        fixtures = [each for several in definitions.values() for each in several]
        key = id(item.module), len(plugins), *map(id, fixtures)
        known = self._modules_of.get(key)
        if known is None:
            of_fixtures = [inspect.getmodule(each.func) for each in fixtures]
            found = (item.module, *of_fixtures, *plugins)
            known = frozenset(each for each in found if isinstance(each, ModuleType))
            self._modules_of[key] = known
        return known

    def _conditions(self, options: ExploreOptions) -> str:
        """A digest of all that a verdict depends on and that is in no file."""
        known = self._digests_of_options.get(id(options))
        if known is None:
            known = self._digests_of_options[id(options)] = options, self._digest_of(options)
        return known[1]

    def _digest_of(self, options: ExploreOptions) -> str:
        named = {
            field.name: getattr(options, field.name)
            for field in dataclasses.fields(options)
            # A function, whose file is looked at; and the time of this run.
            if field.name not in ("invariant", "epoch", "uptime")
        }
        parts = [*self._surroundings, sorted((name, repr(value)) for name, value in named.items())]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @cached_property
    def _surroundings(self) -> list[Any]:
        config = self._config
        given = {
            name: repr(value)
            for name, value in vars(config.option).items()
            if name not in _HOW_IT_IS_SHOWN
        }
        ini = "" if config.inipath is None else self._digests.of(str(config.inipath))
        return [
            [sys.version, *_system(), bohrbug.__version__, native is not None],
            # Without assertions, say, or without the GIL.
            [list(sys.flags), sorted(map(repr, sys._xoptions.items())), _has_gil()],
            [_within(config.rootpath, each) for each in sys.path],
            sorted(each for each in os.environ.items() if each[0].startswith("PYTHON")),
            distributions_in(sys.path),
            sorted(given.items()),
            ini,
            _own_changes(),
        ]


def _is_worth_keeping(result: Result) -> bool:
    """Whether a verdict need not be looked for again."""
    if result.failures:
        return all(failure.reproduction is not None for failure in result.failures)
    return result.verdict.kind in KEPT


def _system() -> list[str]:
    """What ``platform.platform()`` tells of the system, for which that starts a process."""
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in _CONFSTR else None
    return [platform.system(), platform.release(), platform.machine(), libc or ""]


_CONFSTR: Mapping[str, int] = getattr(os, "confstr_names", {})


def _has_gil() -> bool:
    asked: Any = getattr(sys, "_is_gil_enabled", None)
    return asked is None or bool(asked())


def _own_changes() -> int:
    """When a file of Bohrbug itself was changed last, where it runs from a checkout."""
    own = Path(bohrbug.__file__).parent
    if "site-packages" in own.parts:
        return 0
    found = 0
    for folder, _, names in os.walk(own):
        for name in names:
            if name.endswith(".py"):
                found = max(found, os.stat(os.path.join(folder, name)).st_mtime_ns)
    return found


def _within(root: Path, file: str) -> str:
    """A path that is the same in another checkout, where it is in this one."""
    try:
        return str(Path(file).relative_to(root))
    except ValueError:
        return file
