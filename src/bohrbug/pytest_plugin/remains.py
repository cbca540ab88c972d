"""What executions that failed leave behind: its end makes no noise.

Objects of a program may complain when they die halfway: coroutines that do not end when they are
closed, nurseries with children.  pytest would warn of that, or let the next execution or test
fail for it.
"""

from __future__ import annotations

import gc
import sys
import warnings
from types import TracebackType
from typing import Any, Self

from bohrbug.runtime.threads.control import controlled


class Remains:
    """A context for executions of one item.

    Attributes:
        are_left: an execution has failed.
    """

    def __init__(self) -> None:
        self.are_left = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = sys.unraisablehook
        sys.unraisablehook = self._tell
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.are_left:
            with warnings.catch_warnings(action="ignore"):
                gc.collect()
        sys.unraisablehook = self._before

    def _tell(self, unraisable: Any) -> None:
        """What dies within an execution is a matter of that execution, unless it is cut off."""
        execution = controlled()
        is_remains = self.are_left if execution is None else execution.aborting
        if not is_remains:
            self._before(unraisable)
