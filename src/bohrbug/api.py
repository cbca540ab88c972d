"""What programs call: ``explore``, ``explored``, ``choose``."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from sys import _getframe
from typing import Any, ParamSpec, Unpack, overload

from bohrbug.exploration.explorer import Explorer
from bohrbug.exploration.options import ExploreOptions, Keywords
from bohrbug.exploration.progress import TellProgress
from bohrbug.exploration.reproduction import reproduction_of
from bohrbug.exploration.result import Failure, Result
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.paths import DIRECTORY
from bohrbug.platforms.threads.coroutine_functions import (
    CoroutineTest,
    as_test,
    is_coroutine_function,
    outside_of_event_loops,
)
from bohrbug.platforms.threads.platform import explorer_of
from bohrbug.runtime.threads.control import controlled

_Parameters = ParamSpec("_Parameters")


class BohrbugFailure(AssertionError):
    """A failure that an exploration found; its text is the report.

    Parameters:
        report: the report.
        result: the whole result.
    """

    def __init__(self, report: str, result: Result) -> None:
        super().__init__(report)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.result)


def explore(
    function: Callable[[], object],
    *,
    name: str | None = None,
    progress: TellProgress | None = None,
    write: bool = False,
    **options: Unpack[Keywords],
) -> Result:
    """Explore a test: execute it under one interleaving after another.

    Its threads are under control wherever they are started, and the test need not be changed::

        result = bohrbug.explore(transfer_in_two_threads, executions=5_000)
        print(result.verdict)

    Parameters:
        function: the test; called without arguments, once for each execution, each
            time from the same initial state. A coroutine function is run with ``asyncio.run``.
        name: its name in reports; by default the function's qualified name.
        progress: called several times a second with the progress so far.
        write: write a reproduction file for each failure.
        options: such as ``executions`` (1,000) and ``seconds`` (30), the budget; ``keep_going``,
            to find more than one failure; ``races="fail"``; ``workers``, the number of processes.
            All: :class:`bohrbug.exploration.options.ExploreOptions`.

    Returns:
        The result, with a verdict, the failures and the data races.

    Raises:
        ValueError: an option makes no sense.
        TypeError: there is no such option, ``function`` can't be called without arguments, or
            calling it executes nothing, as it is a generator function.
    """
    check_test(function, "explore()")
    test = name or _name_of(function)
    surroundings = Surroundings(progress)
    explorer = explorer_of(as_test(function), test, _options(options), surroundings)
    with outside_of_event_loops():
        result = explorer.explore()
    if write:
        for failure in result.reproducible:
            write_reproduction(explorer, failure, target_of(function))
    return result


def check_test(function: Any, caller: str) -> None:
    """Check that a function can be explored.

    Parameters:
        function: the test.
        caller: what explores it, for the message.

    Raises:
        TypeError: it can't be called without arguments, or calling it executes nothing.
    """
    _check_function(function, caller)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Some functions written in C have no signature: calling them tells.
        return
    try:
        signature.bind()
    except TypeError as error:
        raise TypeError(
            f"{caller} calls the function without arguments ({error}): give one that needs none"
        ) from error


def _check_function(function: Any, caller: str) -> None:
    if not callable(function):
        raise TypeError(f"{caller} needs a function to call, not {function!r}")
    called = (function, type(function).__call__)
    generators = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(makes(each) for makes in generators for each in called):
        raise TypeError(f"{caller} takes no generator function: a call of it executes nothing")


def _options(keywords: Keywords) -> ExploreOptions:
    for name in keywords:
        if name not in Keywords.__annotations__:
            known = ", ".join(Keywords.__annotations__)
            raise TypeError(f"there is no option {name!r}; there are {known}")
    return ExploreOptions(**keywords)


def _name_of(function: Callable[..., object]) -> str:
    return str(getattr(function, "__qualname__", repr(function)))


def target_of(function: Callable[[], object]) -> dict[str, Any]:
    """How to find a function again, for a reproduction file."""
    module_name = getattr(function, "__module__", "")
    module = sys.modules.get(module_name)
    return {
        "kind": "function",
        "name": f"{module_name}:{_name_of(function)}",
        "path": getattr(module, "__file__", None),
    }


def write_reproduction(
    explorer: Explorer,
    failure: Failure,
    target: dict[str, Any],
    directory: Path = DIRECTORY,
) -> None:
    """Write the reproduction file of a failure and note its path there."""
    reproduction_of(failure, target, explorer.result.test, explorer.options).write(directory)


@overload
def explored(function: Callable[_Parameters, object], /) -> Callable[_Parameters, Result]: ...


@overload
def explored(
    **options: Unpack[Keywords],
) -> Callable[[Callable[_Parameters, object]], Callable[_Parameters, Result]]: ...


def explored(function: Callable[..., object] | None = None, /, **options: Unpack[Keywords]) -> Any:
    """Decorator: calling the function explores it, and raises if a failure is found.

    Without options ``@explored`` is the same as ``@explored()``.

    Parameters:
        function: the decorated function, where the decorator is used without parentheses.
        options: see :class:`bohrbug.exploration.options.ExploreOptions`.

    Returns:
        The decorator, or the decorated function if there was one; this returns the result.

    Raises:
        BohrbugFailure: from the decorated function, with the report as its text.
        ValueError: an option makes no sense.
        TypeError: there is no such option; from the decorator, as :func:`explore`.
    """
    # Fail here, where the mistake is, and not at the first call.
    _options(options)

    def decorate(
        function: Callable[_Parameters, object],
    ) -> Callable[_Parameters, Result]:
        _check_function(function, "explored()")
        is_coroutine = is_coroutine_function(function)
        test_of = functools.partial(CoroutineTest if is_coroutine else functools.partial, function)

        @functools.wraps(function)
        def wrapper(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> Result:
            result = explore(test_of(*args, **kwargs), name=_name_of(function), **options)
            if result.failures:
                # Without a failure, the modules that write reports need not be loaded.
                from bohrbug.report.text import failure_text

                raise BohrbugFailure(failure_text(result.failures[0]), result)
            return result

        return wrapper

    return decorate if function is None else decorate(function)


def choose(number: int) -> int:
    """A data choice: one of ``range(number)``; an exploration tries them all.

    Like CHESS's ``choose``, it is part of the choice sequence, as the choice of threads is.
    Outside an exploration it returns 0.

    Parameters:
        number: how many values there are, at least 1.

    Raises:
        ValueError: ``number`` is less than 1.
        TypeError: it is not a whole number.
    """
    if not isinstance(number, int):
        raise TypeError(f"choose() needs a whole number, not {number!r}")
    if number < 1:
        raise ValueError(f"choose() needs at least one value, not {number}")
    execution = controlled()
    if execution is None or number == 1:
        return 0
    frame = _getframe(1)
    return execution.choose(number, (frame.f_code, frame.f_lasti))
