"""Log records under control: where somebody looks at them, the locks of handlers are the program's.

The module ``logging`` is trusted, and its locks are no business of a test.  But a test may look
at what its tasks have logged: at a list that its own handler fills, at a stream or a file, at
the records of ``assertLogs`` or of pytest's ``caplog``.  There the order of the records matters,
and the lock of the handler keeps the tasks apart that it is called in.

A handler of the program may call ``logging`` again while its lock is held, which takes the lock of
the module; whoever configures logging takes them the other way round (gh-88105).  So where there is
such a handler, the lock of the module is the program's, too.
"""

from __future__ import annotations

import atexit
import logging
import sys
from collections.abc import Callable
from sys import _getframe
from types import BuiltinFunctionType, FunctionType
from typing import Any

from bohrbug.runtime.threads.captured import Captured
from bohrbug.runtime.threads.control import controlled, outside_internal_modules
from bohrbug.runtime.threads.locks import RealRLock, RLock
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.rewrite.attributes import is_stored
from bohrbug.runtime.threads.rewrite.callables import tell_call
from bohrbug.runtime.threads.synchronizers import place_of

patches = Patches()

_handle = logging.Handler.handle
_emit = logging.StreamHandler.emit
_disabled_up_to = vars(logging.Manager)["disable"].fget
_is_enabled_for = logging.Logger.isEnabledFor
_make_lock = logging.Handler.createLock


_logging = vars(logging)


class _Lasting:
    """Whether handlers of the program were there before the exploration."""

    are_there = False


def enter() -> None:
    """An exploration begins: look for handlers that were there before."""
    # Not among all that there are: garbage of earlier tests says nothing of this one.
    loggers = [logging.root, *list(logging.root.manager.loggerDict.values())]
    _Lasting.are_there = any(
        _is_of_program(handler)
        for logger in loggers
        if isinstance(logger, logging.Logger)
        for handler in logger.handlers
    )


def begin() -> None:
    """An execution begins: forget that the last one had handlers of the program."""
    _lend_module_lock(_Lasting.are_there)


def _lend_module_lock(is_lent: bool) -> None:
    lock = _logging.get("_lock")
    if isinstance(lock, RLock):
        lock._internal = not is_lent


@atexit.register
def _give_back_module_lock() -> None:
    """Handlers may outlive this module, and take the lock when they die."""
    if isinstance(_logging.get("_lock"), RLock):
        _logging["_lock"] = RealRLock()


def _is_of_program(handler: logging.Handler) -> bool:
    """Whether the class of a handler is the program's, or a library's."""
    return type(handler).__module__.partition(".")[0] not in ("logging", "_pytest")


def _is_looked_at(handler: logging.Handler) -> bool:
    """Whether the program may see in which order a handler gets its records."""
    if type(handler).__module__.startswith("_pytest."):
        return handler is Captured.handler
    if isinstance(handler, logging.StreamHandler):
        stream = handler.stream
        return stream is not None and stream not in (
            sys.stdout,
            sys.stderr,
            sys.__stdout__,
            sys.__stderr__,
        )
    # What a handler of the library passes records on to, a queue or another handler, is looked at.
    return _is_of_program(handler) or type(handler).__module__ == "logging.handlers"


def _instead_of(original: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function that says, as do its frames, that it is the one of the library.

    Who looks for the place that has logged goes up the stack, behind all frames of ``logging``: by
    the names of their modules, as structlog does, or by those of their files, as handlers do that
    pass records on to loguru.
    """

    def looking_alike(function: Callable[..., Any]) -> Callable[..., Any]:
        theirs = original.__code__
        code = function.__code__.replace(
            co_filename=theirs.co_filename,
            co_name=theirs.co_name,
            co_qualname=theirs.co_qualname,
            co_firstlineno=theirs.co_firstlineno,
        )
        return FunctionType(code, {**globals(), "__name__": "logging"}, original.__name__)

    return looking_alike


def _are_levels_set() -> bool:
    """Whether the program is known to have code that changes which records are wanted."""
    return is_stored("level") or is_stored("disabled") or is_stored("disable")


@patches.method(logging.Logger, "isEnabledFor")
@_instead_of(_is_enabled_for)
def _wrapped_is_enabled_for(self: Any, level: Any) -> Any:
    execution = controlled()
    if execution is not None and _are_levels_set() and not execution.is_alone():
        # The library keeps the answer, and so does not always look at what it depends on.
        tell_call(getattr, (self, "disabled"))
        # These are rewritten, and tell for themselves.
        _disabled_up_to(self.manager)
        logging.Logger.getEffectiveLevel(self)
    return _is_enabled_for(self, level)


@patches.method(logging.Handler, "createLock")
@_instead_of(_make_lock)
def _create_lock(self: Any) -> None:
    _make_lock(self)
    execution = controlled()
    if execution is not None and isinstance(self.lock, RLock):
        self.lock._register(execution, place_of(outside_internal_modules(_getframe(1))))
        if _is_of_program(self):
            self.lock._lend()
            _lend_module_lock(True)


@patches.method(logging.Handler, "handle")
@_instead_of(_handle)
def _wrapped_handle(self: Any, record: Any) -> Any:
    # Up to Python 3.12 a handler need not have a lock: then nothing orders what it does.
    if controlled() is not None and isinstance(self.lock, RLock) and _is_looked_at(self):
        self.lock._lend()
        if _is_of_program(self):
            _lend_module_lock(True)
    return _handle(self, record)


@patches.method(logging.StreamHandler, "emit")
@_instead_of(_emit)
def _wrapped_emit(self: Any, record: Any) -> None:
    # The lock of the handler is held: whoever looks at the stream without it races.
    if controlled() is not None and _is_looked_at(self):
        write = getattr(self.stream, "write", None)
        if type(write) is BuiltinFunctionType:
            tell_call(write, ("",))
    _emit(self, record)
