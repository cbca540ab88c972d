"""What the filters of warnings say that pytest has set for the running test."""

from __future__ import annotations

import warnings

import pytest

_WARNER = "_pytest.threadexception"
"""The module of pytest that warns."""


def ignores_exceptions_of_thread(name: str) -> bool:
    """Whether an exception that leaves a thread is what a test, or its project, ignores.

    pytest warns of such an exception.  Only filters of this very warning count: who ignores all
    warnings need not know of threads that die.

    Parameters:
        name: of the thread, which filters may match.
    """
    text = f"Exception in thread {name}"
    for action, message, category, module, line in warnings.filters:
        if category is not pytest.PytestUnhandledThreadExceptionWarning or line:
            continue
        if all(part is None or part.match(of) for part, of in ((message, text), (module, _WARNER))):
            return action == "ignore"
    return False
