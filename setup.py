"""What is compiled; everything else about the project is in pyproject.toml."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

ACCELERATOR = Path("src", "bohrbug", "accelerator")
SHIM = Path("src", "bohrbug", "runtime", "posix", "shim")
HOOKS = Path("src", "bohrbug", "runtime", "posix", "hooks")
ALLOCATIONS = Path("src", "bohrbug", "runtime", "posix", "allocations")


def extensions() -> list[Extension]:
    """The accelerator; without a compiler the installation goes on without it."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        # It counts on the GIL; importing it would switch that on.
        return []
    sources = sorted(path.as_posix() for path in ACCELERATOR.glob("*.c"))
    headers = sorted(path.as_posix() for path in ACCELERATOR.glob("*.h"))
    arguments = (
        [] if sys.platform == "win32" else ["-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra"]
    )
    return [
        Extension(
            "bohrbug.accelerator._accelerator",
            sources,
            depends=headers,
            extra_compile_args=arguments,
            optional=True,
        )
    ]


def shim() -> list[Extension]:
    """The libraries that native programs load: no extensions of Python, but built in the same way.

    Their flags are those of ``bohrbug.runtime.posix.build``.
    """
    if not sys.platform.startswith("linux"):
        return []
    return [
        Extension(
            "bohrbug.runtime.posix._shim",
            sorted(path.as_posix() for path in SHIM.glob("*.c")),
            depends=sorted(path.as_posix() for path in SHIM.glob("*.h")),
            define_macros=[("_GNU_SOURCE", None)],
            undef_macros=["_FORTIFY_SOURCE"],
            extra_compile_args=[
                "-std=gnu11",
                "-fvisibility=hidden",
                "-fexceptions",
                "-Wall",
                "-Wextra",
            ],
            libraries=["dl", "pthread"],
            optional=True,
        ),
        Extension(
            "bohrbug.runtime.posix._hooks",
            sorted(path.as_posix() for path in HOOKS.glob("*.c")),
            depends=sorted(path.as_posix() for path in (*SHIM.glob("*.h"), *HOOKS.glob("*.h"))),
            define_macros=[("_GNU_SOURCE", None)],
            undef_macros=["_FORTIFY_SOURCE"],
            extra_compile_args=[
                "-std=gnu11",
                "-fvisibility=hidden",
                "-fexceptions",
                "-fno-builtin",
                "-Wall",
                "-Wextra",
            ],
            extra_link_args=["-Wl,-soname,libtsan.so.2"],
            libraries=["dl", "pthread"],
            optional=True,
        ),
        Extension(
            "bohrbug.runtime.posix._allocations",
            sorted(path.as_posix() for path in ALLOCATIONS.glob("*.c")),
            define_macros=[("_GNU_SOURCE", None)],
            undef_macros=["_FORTIFY_SOURCE"],
            extra_compile_args=[
                "-std=gnu11",
                "-fvisibility=hidden",
                "-fexceptions",
                "-fno-builtin",
                "-Wall",
                "-Wextra",
            ],
            libraries=["dl", "pthread"],
            optional=True,
        ),
    ]


setup(ext_modules=[*extensions(), *shim()])
