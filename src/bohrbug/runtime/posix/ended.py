"""How executions end, and what they print."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ended:
    """How the first process of an execution ended.

    Parameters:
        code: its exit code; ``-number`` if it died of a signal.
        hung: it made no progress for too long and was killed.
        interrupted: the user stopped it.
        seconds: how long it made no progress, for ``hung``.
        stopped: it hung because a signal had stopped the process whose turn it was.
    """

    code: int
    hung: bool = False
    interrupted: bool = False
    seconds: float = 0.0
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Printed:
    """What an execution printed.

    Parameters:
        stdout: to standard output.
        stderr: to standard error.
    """

    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """All of it, as one text."""
        return (self.stdout + self.stderr).decode("utf-8", "replace")
