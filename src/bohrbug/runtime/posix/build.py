"""The shim as a shared library: the one that was built with the package, or one built now."""

from __future__ import annotations

import hashlib
import importlib.machinery
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parent / "shim"
FLAGS = (
    "-std=gnu11",
    "-D_GNU_SOURCE",
    "-O2",
    "-g",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fexceptions",
    "-Wall",
    "-Wextra",
)
LIBRARIES = ("-ldl", "-lpthread")


class UnsupportedError(RuntimeError):
    """Native programs can't be explored here; the message says what is missing."""


def sources() -> list[Path]:
    """The C files of the shim."""
    return sorted(SOURCES.glob("*.c"))


def _built_with_the_package() -> Path | None:
    changed = max((path.stat().st_mtime for path in _all_files()), default=0.0)
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        candidate = Path(__file__).parent / f"_shim{suffix}"
        # In a checkout the sources may have been changed since.
        if candidate.is_file() and candidate.stat().st_mtime >= changed:
            return candidate
    return None


def _all_files() -> list[Path]:
    return [*sources(), *sorted(SOURCES.glob("*.h"))]


def _cache_folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "bohrbug"


def compiler() -> str | None:
    """The C compiler: ``$CC``, or the first one found."""
    named = os.environ.get("CC", "").split()
    return next(
        (path for name in [*named, "cc", "gcc", "clang"] if (path := shutil.which(name))), None
    )


@cache
def shim() -> Path:
    """The path of the shim, built if need be.

    A library that was built with the package is taken as it is.  Else, in a checkout, it is
    compiled once for each state of its sources, into ``$XDG_CACHE_HOME/bohrbug``.

    Raises:
        UnsupportedError: this is not Linux, or there is no C compiler.
    """
    if not sys.platform.startswith("linux"):
        raise UnsupportedError(
            f"native programs can be explored on Linux only, and this is {sys.platform}"
        )
    built = _built_with_the_package()
    if built is not None:
        return built
    if not sources():
        raise UnsupportedError(
            "the shim for native programs was not built when Bohrbug was installed: install gcc or "
            "clang (Debian: apt install gcc libc6-dev), and install Bohrbug again"
        )
    digest = hashlib.sha256(repr(FLAGS).encode())
    for path in _all_files():
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    folder = _cache_folder()
    target = folder / f"shim-{digest.hexdigest()[:16]}.so"
    if not target.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        compile_shim(target)
    return target


def compile_shim(target: Path, extra: tuple[str, ...] = ()) -> None:
    """Compile the shim.

    Parameters:
        target: the library to write; it appears only when it is complete.
        extra: further flags for the compiler.

    Raises:
        UnsupportedError: there is no C compiler, or it fails.
    """
    cc = compiler()
    if cc is None:
        raise UnsupportedError(
            "native programs need a C compiler once, to build the shim: install gcc or clang "
            "(Debian: apt install gcc libc6-dev), or set CC"
        )
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        partial = Path(folder) / target.name
        result = subprocess.run(
            [cc, *FLAGS, *extra, "-o", str(partial), *map(str, sources()), *LIBRARIES],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise UnsupportedError(f"{cc} could not compile the shim:\n{result.stderr.strip()}")
        partial.replace(target)
