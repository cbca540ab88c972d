"""Data accesses made visible by rewriting the bytecode of functions.

:class:`Rewriter` rewrites functions in a :class:`Scope`; :func:`set_sink` says who is told of the
accesses; :class:`Discovery` finds the functions that a block of code runs.
"""

from bohrbug.runtime.threads.rewrite.callables import instrumented_callable
from bohrbug.runtime.threads.rewrite.discovery import Discovery
from bohrbug.runtime.threads.rewrite.functions import Rewriter
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.scope import TRUSTED_MODULES, Scope
from bohrbug.runtime.threads.rewrite.tell import AccessSink, set_sink

__all__ = [
    "TRUSTED_MODULES",
    "AccessSink",
    "Discovery",
    "Place",
    "Rewriter",
    "Scope",
    "instrumented_callable",
    "set_sink",
]
