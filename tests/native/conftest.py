from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.plan import Plan
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import runtime_of
from bohrbug.runtime.posix.build import UnsupportedError
from tests.native.building import build, need_native

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def native_build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    need_native()
    folder = tmp_path_factory.mktemp("native")

    def built(name: str, *flags: str) -> Path:
        return build(folder, name, *flags)

    return built


@pytest.fixture(scope="session")
def watching(native_build: Build) -> Build:
    """Builds programs, where the kernel lets them watch their memory."""
    command = Command((str(native_build("fees.c")),), exit_code=0, watch=("balance",))
    with runtime_of(command, ExploreOptions()) as runtime:
        try:
            runtime.execute(Plan())
        except UnsupportedError as error:
            pytest.skip(str(error))
    return native_build
