"""Which debugger a replay in pytest is looked into with."""

from __future__ import annotations

import pytest

from bohrbug.debugger.addresses import address_of
from bohrbug.debugger.choice import DebuggerChoice


def debugger_of(config: pytest.Config) -> DebuggerChoice:
    """What the command line says of it.

    Raises:
        pytest.UsageError: it makes no sense.
    """
    text = config.getoption("bohrbug_debugpy")
    with_pdb = bool(config.getoption("usepdb", False))
    if text is None:
        return DebuggerChoice(pdb=with_pdb)
    if with_pdb:
        raise pytest.UsageError("--pdb and --bohrbug-debugpy are two debuggers: give one of them")
    try:
        return DebuggerChoice(address=address_of(text))
    except ValueError as error:
        raise pytest.UsageError(f"--bohrbug-debugpy: {error}") from None
