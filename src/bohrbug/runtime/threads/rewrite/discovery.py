"""Which Python functions run: their code objects, collected while a block of code runs."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any, Self


class Discovery:
    """Context manager that collects the code objects of all functions entered in this thread.

    The first call of each function costs a little, later calls nothing on Python 3.12 and newer
    (``sys.monitoring``); on 3.11 it is a profile function, which passes on to one set before.
    Generators, comprehensions, lambdas and class bodies count as functions. Other threads are not
    looked at on 3.11; on newer versions their functions may be collected too.

    Parameters:
        codes: collected so far; it may be given to go on with an earlier collection.

    Raises:
        RuntimeError: on entering, if all tool ids of ``sys.monitoring`` are taken.
    """

    def __init__(self, codes: set[CodeType] | None = None) -> None:
        self._found: dict[int, CodeType] = {id(code): code for code in codes or ()}
        self._tool: int | None = None
        self._earlier_profiler: Any = None

    @property
    def codes(self) -> list[CodeType]:
        """What was collected, in the order of first calls."""
        return list(self._found.values())

    if sys.version_info >= (3, 12):

        def __enter__(self) -> Self:
            monitoring = sys.monitoring
            # 0 to 2 and 5 are reserved for debuggers, coverage, profilers and optimizers.
            for tool in (3, 4, 5, 2, 1, 0):
                if monitoring.get_tool(tool) is None:
                    break
            else:
                raise RuntimeError("all tool ids of sys.monitoring are taken")
            monitoring.use_tool_id(tool, "bohrbug")
            self._tool = tool
            monitoring.register_callback(tool, monitoring.events.PY_START, self._started)
            monitoring.set_events(tool, monitoring.events.PY_START)
            # Events that an earlier discovery has disabled.
            monitoring.restart_events()
            return self

        def _started(self, code: CodeType, offset: int) -> Any:
            self._found[id(code)] = code
            return sys.monitoring.DISABLE

        def __exit__(self, *exc_info: object) -> None:
            assert self._tool is not None
            monitoring = sys.monitoring
            monitoring.set_events(self._tool, 0)
            monitoring.register_callback(self._tool, monitoring.events.PY_START, None)
            monitoring.free_tool_id(self._tool)
            self._tool = None

    else:

        def __enter__(self) -> Self:
            self._earlier_profiler = sys.getprofile()
            sys.setprofile(self._profile)
            return self

        def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
            if event == "call":
                self._found[id(frame.f_code)] = frame.f_code
            if callable(self._earlier_profiler):  # one written in C, such as cProfile, is not
                self._earlier_profiler(frame, event, argument)

        def __exit__(self, *exc_info: object) -> None:
            sys.setprofile(self._earlier_profiler)
            self._earlier_profiler = None
