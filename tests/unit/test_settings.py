"""Settings in ``pyproject.toml``."""

from __future__ import annotations

from pathlib import Path

import pytest

from bohrbug.settings import SettingsError, read_pyproject


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[tool.bohrbug", b"a = " + b"[" * 100_000])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match=r"pyproject\.toml is not TOML: "):
        read_pyproject(file)
