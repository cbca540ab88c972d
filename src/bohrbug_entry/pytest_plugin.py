"""The plugin that pytest loads: Bohrbug's, or the one that says why there is none."""

from bohrbug_entry.pythons import refusal

if refusal():
    from bohrbug_entry.refused_plugin import *  # noqa: F403
else:
    from bohrbug.pytest_plugin import pytest_addoption, pytest_configure

    __all__ = ["pytest_addoption", "pytest_configure"]
