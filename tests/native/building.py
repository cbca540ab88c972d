"""Programs of the tests, compiled once in a test session."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bohrbug.runtime.posix.build import UnsupportedError, compiler, shim
from bohrbug.runtime.posix.starting import supported_here

_COMPILER = "--compiler="
"""Instead of a flag: the compiler for a C program."""

PROGRAMS = Path(__file__).parent / "programs"


def need_native() -> None:
    """Skip where native programs can't be controlled."""
    if not supported_here() or compiler() is None:
        pytest.skip("needs Linux and a C compiler")
    try:
        shim()
    except UnsupportedError as error:
        pytest.skip(str(error))


def _command(source: Path, target: Path, flags: tuple[str, ...]) -> list[str]:
    if source.suffix == ".rs":
        return [_tool("rustc"), "-g", "-o", str(target), str(source)]
    if source.suffix == ".cpp":
        return [_tool("g++"), "-std=c++20", "-g", "-O1", "-o", str(target), str(source), *flags]
    named = next((flag for flag in flags if flag.startswith(_COMPILER)), "")
    cc = _tool(named.removeprefix(_COMPILER)) if named else compiler()
    assert cc is not None
    flags = tuple(flag for flag in flags if flag != named)
    common = ["-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", "-pthread"]
    return [cc, *common, *flags, "-o", str(target), str(source)]


def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name}")
    return path


_IN_NAMES = str.maketrans("=/", "__")
"""What stands in names of files for what flags have."""


def build(folder: Path, name: str, *flags: str) -> Path:
    """Compile a program of the tests; the same one only once.

    Parameters:
        folder: where to put it.
        name: of the source file.
        flags: for the compiler, such as ``-DFIXED``, or ``--compiler=clang``.
    """
    source = PROGRAMS / name
    target = folder / "".join([source.stem, *(flag.translate(_IN_NAMES) for flag in flags)])
    if not target.exists():
        result = subprocess.run(
            _command(source, target, flags), capture_output=True, text=True, check=False
        )
        if result.returncode and source.suffix != ".c":
            pytest.skip(f"can't be compiled here: {result.stderr.strip().splitlines()[-1]}")
        assert result.returncode == 0, result.stderr
    return target
