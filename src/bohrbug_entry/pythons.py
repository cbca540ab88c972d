"""Which Pythons Bohrbug supports; the metadata of the package and CI are held to this table."""

import sys

SUPPORTED = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
"""Major and minor versions of CPython, from the oldest to the newest.

Bohrbug rewrites bytecode, which is another one in each minor version.
"""

_IMPLEMENTATIONS = {"cpython": "CPython", "pypy": "PyPy"}


def refusal() -> str:
    """Why this Python is not supported, in one sentence; empty if it is."""
    name = sys.implementation.name
    if name == "cpython" and tuple(sys.version_info[:2]) in SUPPORTED:
        return ""
    *others, newest = (f"{major}.{minor}" for major, minor in SUPPORTED)
    version = ".".join(map(str, sys.version_info[:3]))
    return (
        f"Bohrbug supports CPython {', '.join(others)} and {newest}, "
        f"and this is {_IMPLEMENTATIONS.get(name, name)} {version}"
    )
