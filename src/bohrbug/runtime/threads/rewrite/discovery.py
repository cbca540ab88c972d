"""Which Python functions run: their code objects, told when each of them begins for the first time.

Three ways lead there, and each tells of every first call: ``sys.monitoring`` on Python 3.12 and
newer, where a code object that is known costs nothing; on 3.11 a function in C that evaluates
frames; and where neither can be had a profile function, which is slow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any, Self

from bohrbug.accelerator import native
from bohrbug.runtime.threads.control import in_another_thread, in_tracer

OWN_FOLDER = __file__.rpartition("bohrbug")[0] + "bohrbug"
"""Our own functions, hooks among them, are never in scope."""

_TOOLS = (4, 3, 5)
"""Ids of ``sys.monitoring`` that are tried; 0 to 2 are for debuggers, coverage and profilers."""


_monitoring: Any = getattr(sys, "monitoring", None)

# A program finds others in their place, see :mod:`bohrbug.runtime.threads.tool_ids`.
real_get_tool: Any = getattr(_monitoring, "get_tool", None)
real_use_tool_id: Any = getattr(_monitoring, "use_tool_id", None)
real_free_tool_id: Any = getattr(_monitoring, "free_tool_id", None)
real_register_callback: Any = getattr(_monitoring, "register_callback", None)

_entered: list[Discovery] = []
"""Those that are entered."""


def has_tool(tool: object) -> bool:
    """Whether an id of ``sys.monitoring`` is used by us."""
    return any(discovery.tool == tool for discovery in _entered)


def give_way(tool: object) -> None:
    """A program is about to use an id of ``sys.monitoring``: whoever of us has it takes another."""
    for discovery in [*_entered]:
        if discovery.tool == tool:
            discovery.change_tool()


def _itself(code: CodeType) -> CodeType:
    return code


class Discovery:
    """Context manager that collects the code objects of all functions entered in this thread.

    Generators, comprehensions, lambdas and class bodies count as functions.

    Parameters:
        codes: collected so far; it may be given to go on with an earlier collection.
        original: what a code object was before it was rewritten; only originals are collected.

    Attributes:
        is_entered: within it.
        tool: its id for ``sys.monitoring``, if that tells it.
    """

    def __init__(
        self,
        codes: Iterable[CodeType] = (),
        original: Callable[[CodeType], CodeType] = _itself,
    ) -> None:
        self._found: dict[int, CodeType] = {id(code): code for code in codes}
        self._fresh: list[tuple[CodeType, str]] = []
        self._original = original
        self._is_listening = True
        self.is_entered = False
        self._noticed: set[int] = set()
        self._has_noticed = False
        self.tool: int | None = None
        self._is_evaluating = False
        self._earlier_profiler: Any = None

    @property
    def has_news(self) -> bool:
        """Whether :meth:`take` or :meth:`take_noticed` would tell of something."""
        return bool(self._fresh) or self._has_noticed

    @property
    def codes(self) -> list[CodeType]:
        """What was collected, in the order of first calls."""
        return list(self._found.values())

    def news(self) -> list[tuple[CodeType, str]]:
        """What :meth:`take` would tell."""
        return list(self._fresh)

    def take(self) -> list[tuple[CodeType, str]]:
        """What was collected since this was asked last, and the names of the modules it is of."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def forget(self, codes: Iterable[CodeType]) -> None:
        """Collect these once more when they begin again."""
        for code in codes:
            self._found.pop(id(code), None)
        self._tell_all_again()

    def listen(self, is_wanted: bool) -> None:
        """Collect what begins from now on, as at the start, or tell of it when it begins again.

        Parameters:
            is_wanted: whether to collect.
        """
        self._is_listening = is_wanted
        if self._is_evaluating:
            native.listen_to_first_calls(is_wanted)

    def take_callers(self) -> None:
        """Collect the functions that have led here: they began before anybody listened."""
        frames = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        for each in reversed(frames):
            self._is_enough(each.f_code, each.f_globals)

    def notice(self, codes: Iterable[CodeType]) -> None:
        """From now on every call of functions with these original code objects is told of.

        Parameters:
            codes: those, and no others.
        """
        self._noticed = {id(code) for code in codes}
        self._tell_all_again()

    def _tell_all_again(self) -> None:
        if self.tool is not None:
            _monitoring.restart_events()
        elif self._is_evaluating:
            native.tell_first_calls(self._started)

    def take_noticed(self) -> bool:
        """Whether one of the functions to notice was called since this was asked last."""
        noticed, self._has_noticed = self._has_noticed, False
        return noticed

    def __enter__(self) -> Self:
        self.is_entered = True
        if self._monitor():
            return self
        if native is not None and native.tell_first_calls(self._started):
            self._is_evaluating = True
            native.listen_to_first_calls(self._is_listening)
        else:
            self._earlier_profiler = sys.getprofile()
            sys.setprofile(self._profile)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.is_entered = False
        if self.tool is not None:
            _monitoring.set_events(self.tool, 0)
            real_register_callback(self.tool, _monitoring.events.PY_START, None)
            real_free_tool_id(self.tool)
            self.tool = None
            _entered.remove(self)
        elif self._is_evaluating:
            native.listen_to_first_calls(False)
            native.tell_first_calls(None)
            self._is_evaluating = False
        else:
            sys.setprofile(self._earlier_profiler)
            self._earlier_profiler = None

    def _is_enough(self, code: CodeType, namespace: dict[str, Any]) -> bool:
        """A function begins; whether no further calls of it have to be told of.

        The ``__new__`` of a named tuple only makes it, and those of our own run all the time.
        """
        module = namespace.get("__name__")
        if code.co_filename.startswith(OWN_FOLDER) or str(module).startswith("namedtuple_"):
            return True
        if not self._is_listening:
            # Methods that dataclasses have got are of no file.
            return str(module).startswith("bohrbug.")
        if in_another_thread():
            # No code of the test; it may be later.
            return False
        original = self._original(code)
        key = id(original)
        if key in self._noticed:
            self._has_noticed = True
            return False
        if key not in self._found:
            self._found[key] = original
            self._fresh.append((original, str(module)))
        return True

    if sys.version_info >= (3, 12):

        def _monitor(self, tool: int | None = None) -> bool:
            monitoring = sys.monitoring
            tool = self._free_tool() if tool is None else tool
            if tool is None:
                return False
            real_use_tool_id(tool, "bohrbug")
            self.tool = tool
            _entered.append(self)
            real_register_callback(tool, monitoring.events.PY_START, self._started)
            monitoring.set_events(tool, monitoring.events.PY_START)
            # Events that an earlier discovery has disabled.
            monitoring.restart_events()
            return True

        def _free_tool(self) -> int | None:
            free = (tool for tool in _TOOLS if real_get_tool(tool) is None)
            return next(free, None)

        def change_tool(self) -> None:
            """Have another id from now on, if one is free."""
            other = self._free_tool()
            if other is not None:
                self.__exit__()
                self.is_entered = self._monitor(other)

        def _started(self, code: CodeType, offset: int) -> Any:
            is_enough = self._is_enough(code, sys._getframe(1).f_globals)
            return sys.monitoring.DISABLE if is_enough else None

    else:

        def _monitor(self) -> bool:
            return False

        def change_tool(self) -> None:
            """There are no tools."""

        def _started(self, code: CodeType, namespace: dict[str, Any]) -> bool:
            # Such as an audit hook of the program, which is called for what our own code does,
            # too: rewritten, it would call itself. Monitoring tells of none by itself.
            return not in_tracer() and self._is_enough(code, namespace)

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self._is_enough(frame.f_code, frame.f_globals)
        if callable(self._earlier_profiler):  # one written in C, such as cProfile, is not
            self._earlier_profiler(frame, event, argument)
