"""Which functions are rewritten: decided by the name of the module they are defined in.

But for a few functions, see :data:`SHARED_STATE`.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType

TRUSTED_MODULES: tuple[str, ...] = (
    # Their primitives are controlled as a whole; what they do inside is no business of the test.
    *("threading", "_threading_local", "queue", "concurrent.futures", "multiprocessing"),
    *("asyncio", "greenlet", "gevent", "eventlet"),
    # threading keeps its threads in a WeakSet.
    "_weakrefset",
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
    *("pytest_timeout", "pytest_cov", "pytest_asyncio", "anyio", "hypothesis", "coverage"),
    # Ourselves.
    *("bohrbug", "bytecode", "rich", "click", "pygments"),
)
"""Modules, with all modules in them, whose functions are left as they are."""

SHARED_STATE = frozenset(
    {
        ("logging", "Logger.addHandler"),
        ("logging", "Logger.removeHandler"),
        ("warnings", "catch_warnings.__enter__"),
        ("warnings", "catch_warnings.__exit__"),
        # From Python 3.14 on.
        ("_py_warnings", "catch_warnings.__enter__"),
        ("_py_warnings", "catch_warnings.__exit__"),
        ("contextlib", "_RedirectStream.__enter__"),
        ("contextlib", "_RedirectStream.__exit__"),
        *(("contextlib", f"_BaseExitStack.{name}") for name in ("pop_all", "_push_exit_callback")),
        ("contextlib", "ExitStack.__exit__"),
        ("contextlib", "AsyncExitStack.__aexit__"),
        ("contextlib", "chdir.__enter__"),
        ("contextlib", "chdir.__exit__"),
        # What threads that forget about the loop share with it.
        ("asyncio.locks", "Event.is_set"),
        ("asyncio.locks", "Event.set"),
        ("asyncio.locks", "Event.wait"),
        ("asyncio.queues", "Queue._get"),
        ("asyncio.queues", "Queue._put"),
        ("asyncio.queues", "Queue.empty"),
        # In which order mocks are called.
        ("unittest.mock", "CallableMixin._increment_mock_call"),
    }
)
"""Functions of trusted modules that are rewritten: tasks meet in what they change.

Each is named by its module and its qualified name.
"""


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
            text = change.strip()
            included = not text.startswith("-")
            name = text[1:] if text[:1] in ("+", "-") else text
            if name:
                if not all(part.isidentifier() for part in name.split(".")):
                    raise ValueError(f"scope: {change!r} names no module")
                self._rules[name] = included
                self._exceptions = frozenset(
                    known for known in self._exceptions if known[0] != name
                )
            elif text == "-":
                self._default = False
                self._exceptions = frozenset()
            else:
                raise ValueError(f"scope: {change!r} names no module")

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
        name = function.__globals__.get("__name__")
        if not isinstance(name, str):
            return False
        return self.includes_module(name) or (name, function.__qualname__) in self._exceptions
