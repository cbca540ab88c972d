"""Names of functions, as compilers of C++ and Rust give them."""

from __future__ import annotations

import re

_PARAMETERS = re.compile(r"\((?!\)#)[^()]*\)(?!#)|<[^<>]*>")


def without_parameters(function: str) -> str:
    """A function's name alone: ``Pool::run`` for ``void Pool::run<int>(int) const``."""
    name = function.partition("::operator()")[0]
    # Of a lambda they are part of the name.
    while (shorter := _PARAMETERS.sub("", name)) != name:
        name = shorter
    return name.removesuffix(" const").removeprefix("void ")
