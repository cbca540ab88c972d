"""What is compiled; everything else about the project is in pyproject.toml."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

PACKAGE = Path("src", "bohrbug")
CORE = PACKAGE / "core"
ACCELERATOR = PACKAGE / "accelerator"
SHIM = Path("src", "bohrbug", "runtime", "posix", "shim")
HOOKS = Path("src", "bohrbug", "runtime", "posix", "hooks")
ALLOCATIONS = Path("src", "bohrbug", "runtime", "posix", "allocations")
DELAYS = Path("src", "bohrbug", "runtime", "posix", "delays")
VERSIONS = Path("src", "bohrbug", "runtime", "posix", "versions")

ON_LINUX = sys.platform.startswith("linux")
"""Elsewhere nothing is compiled, as nothing was ever tried there: all is done in Python."""

OPTIONAL = os.environ.get("BOHRBUG_REQUIRE_COMPILED", "") in ("", "0")
"""Whether the installation goes on without what can't be compiled; wheels must have it all."""


OPTIMISED = () if "-O" in os.environ.get("CFLAGS", "") else ("-O3",)
"""CFLAGS stand in the place of what Python was built with, the level of optimisation included."""


def files(pattern: str, *folders: Path) -> list[str]:
    """Those in some folders whose names match a pattern."""
    return sorted(path.as_posix() for folder in folders for path in folder.glob(pattern))


def extensions() -> list[Extension]:
    """The accelerator."""
    if not ON_LINUX:
        return []
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        # It counts on the GIL; importing it would switch that on.
        return []
    return [
        Extension(
            "bohrbug.accelerator._accelerator",
            files("*.c", ACCELERATOR, CORE),
            include_dirs=[PACKAGE.as_posix()],
            depends=files("*.h", ACCELERATOR, CORE),
            extra_compile_args=["-std=c11", *OPTIMISED, "-fvisibility=hidden", "-Wall", "-Wextra"],
            optional=OPTIONAL,
        )
    ]


def library(
    name: str,
    *folders: Path,
    shares: tuple[Path, ...] = (),
    flags: tuple[str, ...] = (),
    link_flags: tuple[str, ...] = (),
) -> Extension:
    """A library that native programs load; its flags are those of ``bohrbug.runtime.posix.build``.

    Parameters:
        name: of the library.
        folders: of all of its sources.
        shares: folders of headers that it uses, too.
        flags: for the compiler, beyond those of all libraries.
        link_flags: for the linker.
    """
    return Extension(
        f"bohrbug.runtime.posix.{name}",
        files("*.c", *folders),
        include_dirs=[PACKAGE.as_posix()],
        depends=files("*.h", *folders, *shares),
        define_macros=[("_GNU_SOURCE", None)],
        undef_macros=["_FORTIFY_SOURCE"],
        extra_compile_args=[
            "-std=gnu11",
            # Whatever CFLAGS says: calls of a sanitizer's allocator have to leave no frame of ours,
            # or what the dynamic linker allocates is taken for a leak.
            "-O2",
            "-fvisibility=hidden",
            "-fexceptions",
            *flags,
            "-Wall",
            "-Wextra",
        ],
        extra_link_args=list(link_flags),
        libraries=["dl", "pthread"],
        optional=OPTIONAL,
    )


def libraries() -> list[Extension]:
    """The libraries of native programs: no extensions of Python, but built in the same way."""
    if not ON_LINUX:
        return []
    return [
        library("_shim", SHIM, CORE, link_flags=("-Wl,-z,now",)),
        library(
            "_hooks",
            HOOKS,
            VERSIONS,
            shares=(SHIM, CORE),
            flags=("-fno-builtin",),
            link_flags=("-Wl,-z,now", "-Wl,-soname,libtsan.so.2"),
        ),
        library("_allocations", ALLOCATIONS, flags=("-fno-builtin",)),
        library(
            "_delays",
            DELAYS,
            VERSIONS,
            shares=(SHIM, CORE),
            flags=("-fno-builtin",),
            link_flags=("-Wl,-z,now", "-Wl,-soname,libtsan.so.2"),
        ),
    ]


def options() -> dict[str, dict[str, str]]:
    """A wheel with nothing compiled in it is still one for the platform that it was built on.

    One for any platform would be taken, instead of the sources, by every Linux that has no other.
    """
    return {} if ON_LINUX else {"bdist_wheel": {"plat_name": sysconfig.get_platform()}}


setup(ext_modules=[*extensions(), *libraries()], options=options())
