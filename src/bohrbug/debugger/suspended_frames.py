"""Trace functions in frames that stand in suspended greenlets."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType
from typing import Any

_monitoring: Any = getattr(sys, "monitoring", None)

_TOOLS = (5, 4, 3)
"""Ids of ``sys.monitoring`` that are tried: those that nobody has by name."""


def tell_lines_of(codes: Iterable[CodeType]) -> None:
    """Let a trace function that was just set be told of the lines of code that is running.

    From Python 3.12 on the interpreter looks for such code only on the stacks of threads, and not
    on those of greenlets. It also looks at a code object whose own events change.

    Parameters:
        codes: which greenlets are executing.
    """
    if _monitoring is None:
        return
    tool = next((each for each in _TOOLS if _monitoring.get_tool(each) is None), None)
    if tool is None:
        # Three tools of others; then lines are told from the next call of each function on.
        return
    _monitoring.use_tool_id(tool, "bohrbug debugger")
    try:
        for code in codes:
            _monitoring.set_local_events(tool, code, _monitoring.events.LINE)
            _monitoring.set_local_events(tool, code, 0)
    finally:
        _monitoring.free_tool_id(tool)
