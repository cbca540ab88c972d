"""Rewritten code put into function objects, and taken out again.

The code is exchanged in place, so that whoever holds a reference to a function calls the rewritten
one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from bohrbug.runtime.threads.heap import (
    Functions,
    all_functions,
    functions_in,
    functions_running,
)
from bohrbug.runtime.threads.rewrite import (
    attributes,
    builtins_table,
    classes,
    given_back,
    halfway,
    made_silently,
    themselves,
    unknown,
    with_statements,
    wrappers,
)
from bohrbug.runtime.threads.rewrite.hooks import Globals
from bohrbug.runtime.threads.rewrite.module_globals import (
    GlobalsView,
    stored_attributes,
    stored_globals,
)
from bohrbug.runtime.threads.rewrite.operands import Operands
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.rewriter import rewrite
from bohrbug.runtime.threads.rewrite.scope import Scope


class Rewriter:
    """Rewrites functions in scope and can undo it.

    Parameters:
        scope: which functions are rewritten; the default scope if not given.
        breakers: also tell where a GIL build could switch threads.
        accesses: tell accesses, see :func:`~.rewriter.rewrite`.
    """

    def __init__(
        self, scope: Scope | None = None, breakers: bool = False, accesses: bool = True
    ) -> None:
        self.scope = scope if scope is not None else Scope()
        self.breakers = breakers
        self.accesses = accesses
        self._views: dict[int, GlobalsView] = {}
        self._originals: dict[int, CodeType] = {}
        self._changed: dict[int, weakref.ref[FunctionType]] = {}
        # Those that have their original code for the time being, with that and their own.
        self._silenced: list[tuple[weakref.ref[FunctionType], CodeType, CodeType]] = []
        self._installed = False
        # What was executed as data: one code object for all that are equal, and it rewritten.
        self._executed: dict[tuple[CodeType, str], CodeType] = {}
        self._templates: dict[int, tuple[CodeType, GlobalsView]] = {}
        # What was made of it for one execution, or executed and has nothing to tell.
        self._bound: dict[int, weakref.ref[CodeType]] = {}

    @property
    def skipped(self) -> dict[CodeType, str]:
        """Code objects that could not be rewritten, with the reason."""
        return {
            code: reason for view in self._views.values() for code, reason in view.skipped.items()
        }

    def install(
        self, codes: Iterable[CodeType], everywhere: Callable[[], Functions] = all_functions
    ) -> int:
        """Rewrite all functions in scope that have one of these code objects.

        Functions that rewritten ones make later, such as closures, are rewritten as well.

        Parameters:
            codes: original code objects; those already rewritten are passed over.
            everywhere: gives all functions.

        Returns:
            How many functions were changed.
        """
        wanted = [code for code in codes if id(code) not in self._originals]
        if not wanted:
            return 0
        known = everywhere()
        functions = [each for each in functions_running(wanted, known) if self.scope.includes(each)]
        for function in functions:
            # Before any of them is rewritten: what one stores, another one reads.
            _note_stored(self.original(function.__code__))
        self.note_made(known)
        self._make_views((function.__globals__ for function in functions), known)
        return sum(self.install_function(function) for function in functions)

    def note_made(self, known: Functions) -> None:
        """Functions that rewritten code has made, among all that there are, are changed ones, too.

        Parameters:
            known: all functions.
        """
        for function in functions_running(list(self._made()), known):
            self._changed[id(function)] = weakref.ref(function)

    def install_function(self, function: FunctionType) -> bool:
        """Rewrite one function, in scope or not; whether its code changed."""
        original = function.__code__
        if id(original) in self._originals:
            return False
        code = self.rewritten(original, function.__globals__)
        if code is original:
            return False
        function.__code__ = code
        self._changed[id(function)] = weakref.ref(function)
        self._installed = True
        return True

    def rewritten(self, code: CodeType, namespace: dict[str, Any]) -> CodeType:
        """The rewritten form of a code object such as that of a script.

        Parameters:
            code: the original; it comes back as it is if it can't be rewritten.
            namespace: the globals it runs with.
        """
        view = self._view(namespace)
        before = len(view.made)
        result = self._rewrite(code, view)
        if len(view.made) != before:
            for original, made in list(view.made.values())[before:]:
                self._originals[id(made)] = original
        return result

    def _rewrite(self, code: CodeType, view: GlobalsView) -> CodeType:
        return rewrite(code, view, breakers=self.breakers, accesses=self.accesses)

    def of_executed(
        self, code: CodeType, namespace: dict[str, Any], is_imported: bool
    ) -> tuple[CodeType, bool]:
        """What is to be run in place of code that ``exec``, or an import, is given.

        Parameters:
            code: which may be made anew each time.
            namespace: its globals.
            is_imported: no other task runs within; only the functions in it are rewritten.

        Returns:
            The code, and whether none like it was seen before, so that it runs as it is.
        """
        module = namespace.get("__name__", "")
        has_nested = any(isinstance(constant, CodeType) for constant in code.co_consts)
        if (
            not isinstance(module, str)
            or module.startswith("namedtuple_")
            or not self.scope.includes_module(module)
        ):
            return code, False
        if not (has_nested or (code.co_names and not is_imported)):
            self._bound[id(code)] = weakref.ref(code, partial(self._forget, id(code)))
            return code, False
        key = (code, code.co_filename)
        known = self._executed.get(key)
        if known is None:
            self._executed[key] = code
            _note_stored(code)
            return code, True
        template, view = self._template(known)
        made = self._bind(template, view.holder, Globals(namespace))
        if is_imported:
            made = known.replace(co_consts=made.co_consts[: len(known.co_consts)])
            self._remember(made, known)
        self._installed = True
        return made, False

    def know_executed(self, other: Rewriter) -> None:
        """Rewrite what ran as data for another rewriter, too, before it runs again."""
        for key, code in other._executed.items():
            self._executed.setdefault(key, code)
            self._template(self._executed[key])

    def _template(self, code: CodeType) -> tuple[CodeType, GlobalsView]:
        """Code rewritten so that it fits all globals, and the view by which it was."""
        found = self._templates.get(id(code))
        if found is None:
            # Nothing is bound yet when it begins, and what it binds itself may be anything.
            view = GlobalsView({}, frozenset(stored_globals(code) | set(code.co_names)))
            # It may be the code itself that imports weakref.
            view.has_weak_references = True
            found = self._templates[id(code)] = self._rewrite(code, view), view
            self._views[id(code)] = view
            self._originals.update((id(made), original) for original, made in view.made.values())
        return found

    def _bind(self, template: CodeType, holder: Globals, namespace: Globals) -> CodeType:
        """A template with the globals that it runs with in the place of those it was made for."""
        constants = tuple(
            self._bind(constant, holder, namespace)
            if isinstance(constant, CodeType)
            else (namespace if constant is holder else constant)
            for constant in template.co_consts
        )
        if all(new is old for new, old in zip(constants, template.co_consts, strict=True)):
            return template
        made = template.replace(co_consts=constants)
        self._remember(made, self.original(template))
        return made

    def _remember(self, made: CodeType, original: CodeType) -> None:
        key = id(made)
        self._originals[key] = original
        self._bound[key] = weakref.ref(made, partial(self._forget, key))

    def _forget(self, key: int, _: object) -> None:
        self._originals.pop(key, None)
        self._bound.pop(key, None)

    def is_followed(self, code: CodeType) -> bool:
        """Whether functions with this original code tell their accesses, or need not, or can't.

        Those that can't are in :attr:`skipped`.
        """
        key = id(code)
        return (
            key in self._bound
            or any(key in view.made for view in self._views.values())
            # To hash code takes as long as the code is.
            or any(code in view.skipped for view in self._views.values() if view.skipped)
            # A copy of code that was rewritten.
            or any(isinstance(constant, Place) for constant in code.co_consts)
        )

    def original(self, code: CodeType) -> CodeType:
        """What a code object was before it was rewritten; itself if it never was."""
        return self._originals.get(id(code), code)

    def keep(self, wanted: Callable[[CodeType], bool] | None) -> None:
        """Let only some of the functions that were changed run their rewritten code.

        Parameters:
            wanted: whether a function with this original code tells its accesses;
                ``None``: all do.
        """
        for reference, original, code in self._silenced:
            function = reference()
            if function is not None and function.__code__ is original:
                function.__code__ = code
        self._silenced.clear()
        if wanted is None:
            return
        for reference in self._changed.values():
            function = reference()
            if function is None:
                continue
            code = function.__code__
            original = self.original(code)
            if code is original or wanted(original):
                continue
            # What is called in the middle of its accesses tells of them, and may be wanted.
            if not halfway.has_intervals(code):
                self._silenced.append((reference, original, code))
                function.__code__ = original

    def restore(self, everywhere: Callable[[], Functions] = all_functions) -> None:
        """Give all functions their original code back, those that rewritten code made included.

        Parameters:
            everywhere: gives all functions.
        """
        if not self._installed:
            return
        for reference in self._changed.values():
            function = reference()
            if function is not None:
                function.__code__ = self.original(function.__code__)
        self._changed.clear()
        self._silenced.clear()
        bound = [code for code in (each() for each in self._bound.values()) if code is not None]
        for function in functions_running([*self._made(), *bound], everywhere()):
            function.__code__ = self.original(function.__code__)
        self._installed = False
        attributes.forget_classes()
        builtins_table.forget_classes()
        unknown.forget_classes()
        given_back.forget_classes()
        made_silently.forget_classes()
        themselves.forget_classes()
        with_statements.forget_classes()
        wrappers.forget_classes()
        classes.forget_classes()

    def places(self) -> list[Place]:
        """All data accesses in rewritten code."""
        return [
            constant
            for made in self._made()
            for constant in made.co_consts
            if isinstance(constant, Place)
        ]

    def sources(self) -> list[str]:
        """The files that rewritten code is from."""
        return sorted({made.co_filename for made in self._made()})

    def _made(self) -> Iterator[CodeType]:
        for view in self._views.values():
            for _, made in view.made.values():
                yield made

    def _view(self, namespace: dict[str, Any]) -> GlobalsView:
        if id(namespace) not in self._views:
            self._make_views([namespace], all_functions())
        return self._views[id(namespace)]

    def _make_views(self, namespaces: Iterable[dict[str, Any]], everywhere: Functions) -> None:
        """Find out which globals the functions of some modules store, among all that there are."""
        fresh = {id(each): each for each in namespaces if id(each) not in self._views}
        if not fresh:
            return
        names: dict[int, set[str]] = {key: set() for key in fresh}
        seen: set[int] = set()
        for function in functions_in(list(fresh.values()), everywhere):
            code = self.original(function.__code__)
            if id(code) not in seen:
                seen.add(id(code))
                names[id(function.__globals__)] |= _stored_globals(code)
        for key, namespace in fresh.items():
            told = (
                *(self.breakers, self.accesses, attributes.stores_parts_of_functions()),
                *(bool(attributes.STORED_SPECIAL_METHODS), attributes.is_stored("__bases__")),
                Operands.are_there(),
            )
            view = self._views[key] = _view_of(namespace, frozenset(names[key]), told)
            self._originals.update((id(made), original) for original, made in view.made.values())


def _note_stored(code: CodeType) -> None:
    """Methods of the names under which some code stores attributes are data from now on."""
    for name in stored_attributes(code):
        attributes.note_stored(name)


_CODES_KEPT = 50_000
"""Code objects of which it is kept which globals they store."""

# By identity, as comparing code objects takes long; each is kept, so that no other gets its id.
_stored: dict[int, tuple[CodeType, frozenset[str]]] = {}


def _stored_globals(code: CodeType) -> frozenset[str]:
    """What :func:`~bohrbug.runtime.threads.rewrite.module_globals.stored_globals` finds, kept."""
    known = _stored.get(id(code))
    if known is None:
        if len(_stored) >= _CODES_KEPT:
            _stored.clear()
        known = _stored[id(code)] = code, frozenset(stored_globals(code))
    return known[1]


_VIEWS_KEPT = 500
"""Views that are kept, with the code rewritten for them, for the next explorations."""

_views: dict[tuple[int, tuple[bool, ...]], GlobalsView] = {}


def _view_of(
    namespace: dict[str, Any], stored: frozenset[str], told: tuple[bool, ...]
) -> GlobalsView:
    """The view of a namespace, with all that was rewritten for it before, if that still holds.

    Tests of a suite run much the same functions, and rewriting one takes about a millisecond.

    Parameters:
        namespace: the globals.
        stored: those that functions store.
        told: whether breakers, and whether accesses are told, and what else code depends on.
    """
    key = (id(namespace), told)
    # Taken out to be put in at the end: the oldest goes first.
    view = _views.pop(key, None)
    if view is None or not view.holds(namespace, stored):
        view = GlobalsView(namespace, stored)
    _views[key] = view
    if len(_views) > _VIEWS_KEPT:
        del _views[next(iter(_views))]
    return view
