"""Which functions of the test are rewritten, and which of these tell their accesses now."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from functools import cache
from types import CodeType
from typing import Any

from bohrbug.model.conditions import FunctionKey
from bohrbug.model.site import site_of
from bohrbug.runtime.threads.heap import all_functions, functions_in
from bohrbug.runtime.threads.rewrite import callables
from bohrbug.runtime.threads.rewrite.functions import Rewriter
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.scope import Scope


def _give_way(one: Rewriter, other: Rewriter, codes: Iterable[CodeType]) -> None:
    """Restore what one has rewritten, and let the other rewrite, in one look at all objects."""
    everywhere = cache(all_functions)
    one.restore(everywhere)
    other.install(codes, everywhere)


class Instrumentation:
    """The rewritten functions of one test.

    Parameters:
        scope: which functions are rewritten.
        breakers: they also tell where a build with the GIL could switch threads.
        accesses: they tell their accesses.

    Attributes:
        codes: original code objects of the functions that the test was found to run.
        has_grown: functions were rewritten since somebody last set it to false.
        has_finalizers: one of the functions is a ``__del__``.
        has_new_made_code: code ran as data that none before was like.
        all_tell: no rewritten function has its original code back for the time being.
        tells_breakers: see ``breakers``.
    """

    def __init__(self, scope: Scope, breakers: bool, accesses: bool = True) -> None:
        self._rewriter = Rewriter(scope, breakers, accesses)
        self.tells_breakers = breakers
        self.codes: list[CodeType] = []
        self.has_grown = False
        self.has_finalizers = False
        self.all_tell = True
        self.has_new_made_code = False
        # Code that ran as it is, as no function that could be rewritten has it, and where.
        self._unfollowed: dict[tuple[CodeType, str], bool] = {}

    def original(self, code: CodeType) -> CodeType:
        """What a code object was before it was rewritten; itself if it never was."""
        return self._rewriter.original(code)

    def of_executed(self, code: CodeType, namespace: dict[str, Any], is_imported: bool) -> CodeType:
        """See :meth:`.Rewriter.of_executed`."""
        made, is_new = self._rewriter.of_executed(code, namespace, is_imported)
        self.has_new_made_code = self.has_new_made_code or is_new
        return made

    def rewrite(self, codes: Iterable[CodeType]) -> list[CodeType]:
        """Rewrite the functions with these code objects; those of them that are new."""
        known = {id(code) for code in self.codes}
        originals = [self._rewriter.original(code) for code in codes]
        fresh = [code for code in originals if id(code) not in known]
        self.codes.extend(fresh)
        self.has_finalizers = self.has_finalizers or any(c.co_name == "__del__" for c in fresh)
        if not fresh:
            return []
        self._rewriter.keep(None)
        self.all_tell = True
        self.has_grown = self._rewriter.install(fresh) > 0
        return fresh

    def find(self, keys: Collection[FunctionKey]) -> list[CodeType]:
        """The original code of functions that exist now, by what names them."""
        modules = [sys.modules.get(module) for module in {key[0] for key in keys}]
        namespaces = [vars(module) for module in modules if module is not None]
        functions = functions_in(namespaces, all_functions())
        codes = {id(code): code for code in (self.original(each.__code__) for each in functions)}
        names = {key[1:] for key in keys}
        return [
            code
            for code in codes.values()
            if (code.co_filename, code.co_qualname, code.co_firstlineno) in names
        ]

    def rewrite_named(self, names: Collection[tuple[str, str, int]]) -> None:
        """Rewrite functions that exist now before any of them is called.

        Parameters:
            names: the file, the qualified name and the first line of each.
        """
        files = {name[0] for name in names}
        modules = {
            name
            for name, module in list(sys.modules.items())
            if getattr(module, "__file__", None) in files
        }
        self.rewrite(self.find([(module, *name) for module in modules for name in names]))

    def is_followed(self, code: CodeType) -> bool:
        """See :meth:`.Rewriter.is_followed`."""
        return self._rewriter.is_followed(code)

    def unfollowed(self, calls: Iterable[tuple[CodeType, str]]) -> list[CodeType]:
        """Which code ran, and goes on to run as it is; the second time it is a caveat.

        Parameters:
            calls: original code objects, :meth:`rewritten <rewrite>` before, and their modules.

        Returns:
            What may be followed the next time it is called.
        """
        fresh = []
        for code, module in calls:
            if not self._rewriter.scope.includes_module(module) or self._rewriter.is_followed(code):
                continue
            key = code, code.co_filename
            if key in self._unfollowed:
                self._unfollowed[key] = True
            else:
                self._unfollowed[key] = False
                fresh.append(code)
        return fresh

    def let_tell(self, wanted: Callable[[CodeType], bool] | None) -> None:
        """Let functions tell their accesses, or give them their original code for the time being.

        Parameters:
            wanted: whether a function with this original code tells its accesses, asked
                only if all do so now; ``None``: all do.
        """
        if wanted is None:
            if not self.all_tell:
                self._rewriter.keep(None)
                self.all_tell = True
        elif self.all_tell:
            self._rewriter.keep(wanted)
            self.all_tell = False

    def note_made(self) -> None:
        """Let :meth:`let_tell` know of the functions that rewritten code has made up to now."""
        self._rewriter.note_made(all_functions())

    def let_all_tell_again(self) -> None:
        """Which functions are wanted has changed: :meth:`let_tell` has to ask again."""
        self._rewriter.keep(None)
        self.all_tell = True

    def restore(self) -> None:
        """Give all functions their original code back."""
        self._rewriter.restore()

    @contextmanager
    def otherwise(self) -> Generator[Instrumentation]:
        """Within it the same functions tell breakers, too, or do not, other than here."""
        other = Instrumentation(self._rewriter.scope, not self.tells_breakers)
        other.codes = self.codes
        try:
            _give_way(self._rewriter, other._rewriter, self.codes)
            other._rewriter.know_executed(self._rewriter)
            yield other
        finally:
            _give_way(other._rewriter, self._rewriter, self.codes)
            self.all_tell = True

    # -- what is rewritten ---------------------------------------------------------

    def places(self) -> list[Place]:
        """All data accesses of the functions that are rewritten so far."""
        return [*self._rewriter.places(), *callables.CALLABLE_PLACES.values()]

    def sources(self) -> list[str]:
        """The files of the functions that are rewritten."""
        return self._rewriter.sources()

    def skipped(self) -> tuple[tuple[str, str], ...]:
        """Functions whose data accesses could not be made visible, each with the reason."""
        reasons = dict(self._rewriter.skipped)
        for (code, _), is_lasting in self._unfollowed.items():
            if is_lasting:
                reasons.setdefault(code, "each execution makes its code anew")
        return tuple(
            (str(site_of((code, 0)) or code.co_qualname), reason)
            for code, reason in reasons.items()
        )
