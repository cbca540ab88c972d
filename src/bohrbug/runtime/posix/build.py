"""The shim and the hooks as shared libraries: those built with the package, or built now."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.machinery
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bohrbug.runtime.folders import OwnFolder
from bohrbug.runtime.posix.tools import LONG_PATIENCE

PACKAGE = Path(__file__).parent.parent.parent
CORE = PACKAGE / "core"
"""What the shim has in common with the accelerator."""
SOURCES = Path(__file__).parent / "shim"
HOOKS = Path(__file__).parent / "hooks"
ALLOCATIONS = Path(__file__).parent / "allocations"
DELAYS = Path(__file__).parent / "delays"
VERSIONS = Path(__file__).parent / "versions"
"""What the libraries that stand for the sanitizer's have in common."""
FLAGS = (
    "-std=gnu11",
    "-D_GNU_SOURCE",
    "-O2",
    "-g",
    "-fPIC",
    "-shared",
    # Processes that are forked find every function looked up already.
    "-Wl,-z,now",
    "-fvisibility=hidden",
    "-fexceptions",
    "-Wall",
    "-Wextra",
)
LIBRARIES = ("-ldl", "-lpthread")
# They stand in for functions whose calls the compiler would else put into their own bodies.
HOOKS_FLAGS = (*FLAGS, "-fno-builtin", "-Wl,-soname,libtsan.so.2")


class UnsupportedError(RuntimeError):
    """Native programs can't be explored here; the message says what is missing."""


def sources(folder: Path = SOURCES) -> list[Path]:
    """The C files of the shim, or of another library."""
    further = {SOURCES: (CORE,), HOOKS: (VERSIONS,), DELAYS: (VERSIONS,)}
    folders = (folder, *further.get(folder, ()))
    return [path for each in folders for path in sorted(each.glob("*.c"))]


@dataclass(frozen=True, slots=True)
class Library:
    """One of the libraries.

    Parameters:
        name: of the module that the package's build makes of it, without the underscore.
        what: as messages call it.
        folder: of its sources.
        flags: for the compiler.
    """

    name: str
    what: str
    folder: Path
    flags: tuple[str, ...]

    def files(self) -> list[Path]:
        """Everything that it is made of; the hooks use headers of the shim."""
        folders = dict.fromkeys((self.folder, SOURCES, CORE))
        headers = [header for folder in folders for header in sorted(folder.glob("*.h"))]
        return [*sources(self.folder), *headers]

    def built_with_the_package(self) -> Path | None:
        """The one that was built when the package was installed, if it still fits."""
        changed = max((path.stat().st_mtime for path in self.files()), default=0.0)
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            candidate = Path(__file__).parent / f"_{self.name}{suffix}"
            # In a checkout the sources may have been changed since.
            if candidate.is_file() and candidate.stat().st_mtime >= changed:
                return candidate
        return None

    def path(self) -> Path:
        """Where it is, built if need be.

        Raises:
            UnsupportedError: there is no C compiler, or it fails.
        """
        built = self.built_with_the_package()
        if built is not None:
            return built
        if not sources(self.folder):
            raise UnsupportedError(
                f"{self.what} for native programs was not built when Bohrbug was installed: "
                "install gcc or clang (Debian: apt install gcc libc6-dev), and install Bohrbug "
                "again"
            )
        digest = hashlib.sha256(repr(self.flags).encode())
        for path in self.files():
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
        folder = _cache_folder()
        target = folder / f"{self.name}-{digest.hexdigest()[:16]}.so"
        if not target.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            self.compile(target)
        return target

    def compile(self, target: Path, extra: tuple[str, ...] = ()) -> None:
        """Compile it.

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
        # It takes long enough for somebody to think that nothing happens.
        print(f"bohrbug: building {self.what} for native programs, once ...", file=sys.stderr)
        with contextlib.closing(OwnFolder("building-", target.parent)) as folder:
            partial = folder.path / target.name
            files = map(str, sources(self.folder))
            try:
                result = subprocess.run(
                    [
                        *(cc, *self.flags, *extra, "-I", str(PACKAGE)),
                        *("-o", str(partial), *files, *LIBRARIES),
                    ],
                    capture_output=True,
                    text=True,
                    timeout=LONG_PATIENCE,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise UnsupportedError(
                    f"{cc} has not compiled {self.what} within {LONG_PATIENCE:g} s"
                ) from error
            if result.returncode:
                raise UnsupportedError(
                    f"{cc} could not compile {self.what}:\n{result.stderr.strip()}"
                )
            partial.replace(target)


SHIM = Library("shim", "the shim", SOURCES, FLAGS)
HOOKS_LIBRARY = Library("hooks", "the library of hooks", HOOKS, HOOKS_FLAGS)
ALLOCATIONS_LIBRARY = Library(
    "allocations", "the library of allocations", ALLOCATIONS, (*FLAGS, "-fno-builtin")
)
DELAYS_LIBRARY = Library("delays", "the library of delays", DELAYS, HOOKS_FLAGS)


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
    _need_linux()
    return SHIM.path()


def _need_linux() -> None:
    if not sys.platform.startswith("linux"):
        raise UnsupportedError(
            f"native programs can be explored on Linux only, and this is {sys.platform}"
        )


@cache
def hooks() -> Path | None:
    """The path of the library that takes the place of the thread sanitizer's; as :func:`shim`.

    ``None`` if it can't be built, which concerns few programs.
    """
    try:
        return HOOKS_LIBRARY.path()
    except UnsupportedError:
        return None


@cache
def allocations() -> Path:
    """The path of the library by which allocations can fail; as :func:`shim`.

    Raises:
        UnsupportedError: it can't be built.
    """
    return ALLOCATIONS_LIBRARY.path()


@cache
def delays() -> Path:
    """The path of the library by which real threads are delayed; as :func:`shim`.

    Raises:
        UnsupportedError: this is not Linux, or it can't be built.
    """
    _need_linux()
    return DELAYS_LIBRARY.path()


def compile_shim(target: Path, extra: tuple[str, ...] = ()) -> None:
    """Compile the shim; see :meth:`Library.compile`."""
    SHIM.compile(target, extra)
