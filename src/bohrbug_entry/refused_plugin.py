"""The pytest plugin for a Python that is not supported.

Without Bohrbug's options the tests run as ever, under one line in the header that says what is
missing.  It is no warning, which ``-W error`` would make fatal.  With its options the user wants
what can't be done: pytest ends with the same sentence, and not with an "unrecognized argument".
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from bohrbug_entry.pythons import refusal

__all__ = ["pytest_configure", "pytest_load_initial_conftests", "pytest_report_header"]


def pytest_load_initial_conftests(early_config: Any, parser: Any, args: list[str]) -> None:
    """Refuse our options; know our settings in the ini file, for ``--strict-config``.

    Raises:
        pytest.UsageError: an option of Bohrbug was given.
    """
    ours = [argument for argument in args if argument.startswith("--bohrbug")]
    if ours:
        raise pytest.UsageError(f"{ours[0]}: {refusal()}")
    with warnings.catch_warnings():
        # Deprecated for reading values, for which we would have to know the names.
        warnings.simplefilter("ignore")
        names = list(getattr(early_config, "inicfg", ()))
    for name in names:
        if name.startswith("bohrbug_"):
            parser.addini(name, "Has no effect on this Python.")


def pytest_configure(config: Any) -> None:
    """Know our marker, for ``--strict-markers``."""
    config.addinivalue_line("markers", "bohrbug: has no effect on this Python")


def pytest_report_header() -> str:
    """The one line that says what is missing."""
    return f"bohrbug: not active. {refusal()}"
