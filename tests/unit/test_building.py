"""What setup.py has compiled, by platform and interpreter."""

from __future__ import annotations

import runpy
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
LIBRARIES = ["_shim", "_hooks", "_allocations", "_delays"]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What setuptools is told, when setup.py has run."""
    told: dict[str, Any] = {}
    setuptools = types.ModuleType("setuptools")
    vars(setuptools)["Extension"] = lambda name, sources, **others: (name, sources, others)
    vars(setuptools)["setup"] = told.update
    monkeypatch.setitem(sys.modules, "setuptools", setuptools)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("BOHRBUG_REQUIRE_COMPILED", raising=False)
    monkeypatch.chdir(ROOT)
    return told


def compiled(told: dict[str, Any]) -> list[str]:
    runpy.run_path("setup.py")
    return [name.rpartition(".")[2] for name, _, _ in told["ext_modules"]]


def without_the_gil(monkeypatch: pytest.MonkeyPatch, disabled: int | None) -> None:
    real = sysconfig.get_config_var
    monkeypatch.setattr(
        sysconfig,
        "get_config_var",
        lambda name: disabled if name == "Py_GIL_DISABLED" else real(name),
    )


def test_on_linux_all_is(told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    without_the_gil(monkeypatch, None)
    assert compiled(told) == ["_accelerator", *LIBRARIES]
    assert "bdist_wheel" not in told["options"]
    assert all(sources for _, sources, _ in told["ext_modules"])


def test_without_the_gil_only_the_libraries_are(
    told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_gil(monkeypatch, 1)
    assert compiled(told) == LIBRARIES


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_nothing_is_and_the_wheel_is_not_for_linux(
    told: dict[str, Any], monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(sysconfig, "get_platform", lambda: f"{platform}-1.0-arch")
    assert compiled(told) == []
    assert told["options"]["bdist_wheel"]["plat_name"] == f"{platform}-1.0-arch"


@pytest.mark.parametrize(("setting", "optional"), [(None, True), ("0", True), ("1", False)])
def test_wheels_can_require_all_of_it(
    told: dict[str, Any], monkeypatch: pytest.MonkeyPatch, setting: str | None, optional: bool
) -> None:
    if setting is not None:
        monkeypatch.setenv("BOHRBUG_REQUIRE_COMPILED", setting)
    compiled(told)
    assert {others["optional"] for _, _, others in told["ext_modules"]} == {optional}
