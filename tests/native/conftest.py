from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.building import build, need_native

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def native_build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    need_native()
    folder = tmp_path_factory.mktemp("native")

    def built(name: str, *flags: str) -> Path:
        return build(folder, name, *flags)

    return built
