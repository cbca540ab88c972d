"""Replacing attributes of modules and classes, and putting the originals back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeVar

from bohrbug.runtime.threads.replacement import as_in_c

_Function = TypeVar("_Function", bound=Callable[..., Any])

_MISSING = object()


class Patches:
    """What one module of primitives replaces; filled by decorators, applied as a whole."""

    def __init__(self) -> None:
        self._wanted: list[tuple[Any, str, Any]] = []
        self._originals: list[tuple[Any, str, Any]] = []

    def add(self, owner: Any, name: str, replacement: Any) -> None:
        """Replace ``owner.name`` while installed, by a function that is called like it.

        Programs look at names: tracers call a span after ``__module__`` and ``__qualname__``.
        And classes keep functions in C (``converter = time.localtime``), which don't bind.
        """
        original = getattr(owner, name, None)
        if isinstance(replacement, FunctionType) and _is_ours(replacement) and callable(original):
            _take_names(replacement, original)
        is_in_c = type(original) is BuiltinFunctionType and isinstance(owner, ModuleType)
        if is_in_c and type(replacement) is FunctionType:
            replacement = as_in_c(replacement, original)
        self._wanted.append((owner, name, replacement))

    def method(self, owner: Any, name: str) -> Callable[[_Function], _Function]:
        """Decorator: the function replaces the method ``owner.name``, and looks like it.

        With its name and doc, and to ``inspect``, which mocks with a specification ask, with its
        signature and source.
        """

        def decorate(function: Any) -> Any:
            original = getattr(owner, name)
            _take_names(function, original)
            function.__wrapped__ = original
            self.add(owner, name, function)
            return function

        return decorate

    def parts(self) -> Iterator[object]:
        """What holds originals for us."""
        yield from self._wanted
        yield from self._originals

    def pairs(self) -> Iterator[tuple[Any, str, Any]]:
        """Each owner, with the name of what is replaced and the replacement."""
        return iter(self._wanted)

    def prepare(self) -> None:
        """Called before :meth:`install`, to find out what is to be replaced."""

    def install(self) -> None:
        """Put the replacements in place."""
        self._replace(self._wanted)

    def _replace(self, wanted: Iterable[tuple[Any, str, Any]]) -> None:
        for owner, name, replacement in wanted:
            self._originals.append((owner, name, vars(owner).get(name, _MISSING)))
            setattr(owner, name, replacement)

    def restore(self) -> None:
        """Put the originals back."""
        while self._originals:
            owner, name, original = self._originals.pop()
            if original is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)


def _is_ours(function: FunctionType) -> bool:
    """Whether a function has not got the name of another one yet: it may replace several."""
    return (function.__module__ or "").partition(".")[0] == __package__.partition(".")[0]


def _take_names(function: Any, original: Any) -> None:
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(function, attribute, getattr(original, attribute, None))
