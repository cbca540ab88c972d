"""Waiting for children by the functions of ``os``."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

import bohrbug

ENDS_WITH_ITS_INPUT = "import sys; sys.stdin.read()"


@pytest.mark.parametrize("options", [os.WEXITED, os.WEXITED | os.WNOWAIT])
def test_other_tasks_run_while_one_waits_by_waitid(options: int) -> None:
    """The child ends only when another task lets it."""

    def test() -> None:
        child = subprocess.Popen([sys.executable, "-c", ENDS_WITH_ITS_INPUT], stdin=subprocess.PIPE)
        assert child.stdin is not None
        other = threading.Thread(target=child.stdin.close)
        assert os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG) is None
        other.start()
        found = os.waitid(os.P_PID, child.pid, options)
        assert found is not None
        assert found.si_pid == child.pid
        other.join()
        child.wait()

    result = bohrbug.explore(test, executions=2)
    assert not result.failures, result.failures


def test_waitid_of_no_child_raises_at_once() -> None:
    def test() -> None:
        with pytest.raises(ChildProcessError):
            os.waitid(os.P_PID, os.getpid(), os.WEXITED)

    assert not bohrbug.explore(test).failures
