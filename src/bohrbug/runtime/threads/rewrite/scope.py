"""Which functions are rewritten: decided by the name of the module they are defined in.

But for a few functions, see :mod:`.shared_state`.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType

from bohrbug.runtime.threads.rewrite.shared_state import SHARED_STATE
from bohrbug.settings import change_of_scope

TRUSTED_MODULES: tuple[str, ...] = (
    # Their primitives are controlled as a whole; what they do inside is no business of the test.
    *("threading", "_threading_local", "queue", "concurrent.futures", "multiprocessing"),
    *("asyncio", "trio", "greenlet", "gevent", "eventlet"),
    # They have locks of their own, run everywhere, and would drown the accesses of the test.
    *(
        "logging",
        "warnings",
        "_py_warnings",
        "contextlib",
        "abc",
        "_py_abc",
        "enum",
        "types",
        "typing",
    ),
    *("typing_extensions", "codecs", "encodings", "locale", "re", "sre_compile", "sre_parse"),
    *("reprlib", "copyreg"),
    # Importing.
    *("importlib", "_frozen_importlib", "_frozen_importlib_external", "zipimport", "pkgutil"),
    *("runpy", "site"),
    # Looking at code.
    *("inspect", "traceback", "linecache", "tokenize", "token", "ast", "dis", "opcode"),
    "annotationlib",
    *("pdb", "bdb", "cmd", "code", "codeop", "trace", "tracemalloc", "faulthandler"),
    # What runs and watches tests.
    *("unittest", "doctest", "pytest", "_pytest", "pluggy", "iniconfig", "xdist", "execnet"),
    *(
        "pytest_timeout",
        "pytest_cov",
        "pytest_asyncio",
        "pytest_trio",
        "anyio",
        "hypothesis",
        "coverage",
    ),
    # Ourselves, and what rewrites: that runs while tasks do.
    *("bohrbug", "bytecode"),
)
"""Modules, with all modules in them, whose functions are left as they are."""


class Scope:
    """Which modules' functions are rewritten.

    Everything is, third-party packages and the standard library included, but for
    :data:`TRUSTED_MODULES`. A name stands for a module and all modules in it; of several names
    that match, the longest decides.

    Parameters:
        changes: ``"+logging"`` (or ``"logging"``) adds a module to the scope, ``"-requests"`` takes
            it away; ``"-"`` alone takes everything away that no other name adds.

    Raises:
        ValueError: a change names nothing.
    """

    def __init__(self, changes: Iterable[str] = ()) -> None:
        self._default = True
        self._rules: dict[str, bool] = dict.fromkeys(TRUSTED_MODULES, False)
        self._answers: dict[str, bool] = {}
        self._exceptions = SHARED_STATE
        for change in changes:
            name, included = change_of_scope(change)
            if name:
                self._rules[name] = included
                self._exceptions = frozenset(
                    known for known in self._exceptions if known[0] != name
                )
            else:
                self._default = False
                self._exceptions = frozenset()

    def includes_module(self, name: str) -> bool:
        """Whether functions of the module of that dotted name are rewritten."""
        answer = self._answers.get(name)
        if answer is None:
            answer = self._answers[name] = self._decide(name)
        return answer

    def _decide(self, name: str) -> bool:
        prefix = name
        while prefix:
            rule = self._rules.get(prefix)
            if rule is not None:
                return rule
            prefix = prefix.rpartition(".")[0]
        return self._default

    def includes(self, function: FunctionType) -> bool:
        """Whether a function is rewritten."""
        # Code that is executed in a dict of its own has no module.
        name = function.__globals__.get("__name__", "")
        if not isinstance(name, str):
            return False
        return self.includes_module(name) or (name, function.__qualname__) in self._exceptions
