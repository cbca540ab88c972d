"""Other interpreters in this process: what runs there is out of our sight and in one go.

``concurrent.interpreters`` and ``InterpreterPoolExecutor`` (Python 3.14 on) run code in an
interpreter that has modules of its own, so that nothing of it is under control. The workers of such
a pool are tasks as any others; what they have another interpreter do is one step. So each
such call limits the verdict, and who waits there for another task waits for ever.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.late_patches import LatePatches

patches = LatePatches()

NOTE = "ran code in another interpreter, where nothing is controlled"
"""What is noted of each call."""


def _noting(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        if execution is not None:
            execution.trace.uncontrolled.note(NOTE)
        return function(*args, **kwargs)

    return functools.wraps(function)(wrapper)


def _wrap(module: Any) -> None:
    for name, _ in wrapped_alike(module.__name__, CONTROL):
        patches.function(module, name)(_noting(getattr(module, name)))


# Up to Python 3.12 it has another name.
for _module in ("_interpreters", "_xxsubinterpreters"):
    patches.when_imported(_module)(_wrap)


def runs_elsewhere(executor: object) -> bool:
    """Whether the workers of an executor have another interpreter do what is submitted."""
    module = sys.modules.get("concurrent.futures.interpreter")
    return module is not None and isinstance(executor, module.InterpreterPoolExecutor)
