"""Code that is executed as data: what ``exec``, ``eval``, imports and reloads are given.

Each execution of a test may make such code anew, so that its functions were never seen before.
It is recognised as what an earlier execution has run, and rewritten before it runs again.
"""

from __future__ import annotations
import __future__

import builtins
import sys
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from types import CodeType
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

Follow = Callable[[CodeType, dict[str, Any], bool], CodeType]

follow: Follow | None = None
"""Given the code, its globals, and whether it is imported, what is to be run in its place."""

_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag


def _standing_for(original: Any, mode: str) -> Callable[..., Any]:
    def run(source: Any, /, *arguments: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        names = ("globals", "locals")
        given = {**dict(zip(names, arguments, strict=False)), **keywords}
        if len(arguments) > len(names) or (keywords.keys() & set(names[: len(arguments)])):
            return original(source, *arguments, **keywords)
        frame: Any = sys._getframe(1)
        namespace, local = given.pop("globals", None), given.pop("locals", None)
        if namespace is None:
            namespace = frame.f_globals
            if local is None:
                local = frame.f_locals
                # From Python 3.13 on a function's are a proxy, of which exec takes a copy.
                if frame.f_code.co_flags & CO_OPTIMIZED and not isinstance(local, dict):
                    local = dict(local)
        if local is None:
            local = namespace
        if isinstance(namespace, dict):
            # Else it would get those of our modules, see ``bohrbug.own_names``.
            dict.setdefault(namespace, "__builtins__", frame.f_builtins)
        if isinstance(source, str | bytes):
            if mode == "eval":
                source = (
                    source.lstrip(b" \t") if isinstance(source, bytes) else source.lstrip(" \t")
                )
            flags = frame.f_code.co_flags & _FUTURES
            source = compile(source, "<string>", mode, flags=flags, dont_inherit=True)
        execution = controlled()
        if execution is not None and follow is not None and type(source) is CodeType:
            source = follow(source, namespace, bool(execution.atomic))
        return original(source, namespace, local, **given)

    return run


patches.add(builtins, "exec", _standing_for(exec, "exec"))
patches.add(builtins, "eval", _standing_for(eval, "eval"))
