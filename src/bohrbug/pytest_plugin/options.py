"""From ``pyproject.toml``, ini file, command line and marker to the options of one test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.settings import (
    BY_NAME,
    OF_PYTEST,
    SettingsError,
    checked,
    read_pyproject,
    read_session_settings,
)

_MARKER = "@pytest.mark.bohrbug"


def session_settings(config: pytest.Config) -> dict[str, Any]:
    """What holds for all tests: the command line wins over the ini file, that over the table.

    Raises:
        pytest.UsageError: a setting makes no sense.
    """
    try:
        table = read_pyproject(_pyproject(config))
        # What is for native programs of the same project says nothing of tests.
        given = {name: value for name, value in table.items() if not BY_NAME[name].is_native}
        settings: dict[str, Any] = {"timeouts": "report", **given}
        for option in OF_PYTEST:
            name = f"bohrbug_{option.name}"
            text = config.getini(name)
            if text:
                settings[option.name] = option.parse(text, name)
            typed = config.getoption(name)
            if typed is not None:
                text = " ".join(typed) if isinstance(typed, list) else typed
                settings[option.name] = option.parse(text, f"--bohrbug-{option.flag}")
        ExploreOptions(**settings).check_for_python()
    except ValueError as error:
        raise pytest.UsageError(f"bohrbug: {error}") from error
    return settings


def of_sessions(config: pytest.Config) -> dict[str, Any]:
    """What ``[tool.bohrbug]`` says of whole sessions.

    Raises:
        pytest.UsageError: it can't be read.
    """
    try:
        return read_session_settings(_pyproject(config))
    except SettingsError as error:
        raise pytest.UsageError(f"bohrbug: {error}") from error


def _pyproject(config: pytest.Config) -> Path | None:
    path = config.rootpath / "pyproject.toml"
    return path if path.is_file() else None


def options_of(
    item: pytest.Item, settings: dict[str, Any], usual: ExploreOptions
) -> ExploreOptions:
    """The options of one test; its markers win, the nearest first.

    Parameters:
        item: the test.
        settings: what holds for all tests.
        usual: the options of tests without a marker, which follow from the settings.

    Raises:
        pytest.UsageError: a marker makes no sense.
    """
    markers = list(item.iter_markers("bohrbug"))
    if not markers:
        return usual
    merged = dict(settings)
    for marker in reversed(markers):
        where = f"{item.nodeid}: {_MARKER}"
        if marker.args:
            raise pytest.UsageError(f"{where} takes named options only, not {marker.args[0]!r}")
        named = dict(marker.kwargs)
        # An invariant is a function: only a marker can give one.
        invariant = named.pop("invariant", None)
        try:
            merged.update(checked(named, where))
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from error
        if invariant is not None:
            if not callable(invariant):
                raise pytest.UsageError(f"{where}: invariant must be a function")
            merged["invariant"] = invariant
    try:
        options = ExploreOptions(**merged)
        options.check_for_python()
        return options
    except ValueError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from error
