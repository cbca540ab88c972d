"""The command that looks, after each execution of a native program, at what it has left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence

from bohrbug.model.outcome import PASSED, Outcome, OutcomeKind


def outcome_of_check(command: Sequence[str], seconds: float) -> Outcome:
    """Run a check; an execution after which it does not exit with 0 has failed.

    Parameters:
        command: its words.
        seconds: of real time that it may take; 0 for no limit. After that it is killed, with all
            that it has started in its process group, and nothing is known of the execution.

    Raises:
        OSError: it can't be started.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # What a shell has started holds its output open, and must end with it.
        process_group=0,
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds or None)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return Outcome(OutcomeKind.HANG, f"the check has not ended within {seconds:g} s")
    if process.returncode == 0:
        return PASSED
    said = output.decode("utf-8", "replace").strip().splitlines()
    words = f": {said[-1]}" if said else ""
    return Outcome(
        OutcomeKind.ASSERTION,
        f"the check exits with {process.returncode}{words}",
        exception="check",
    )
