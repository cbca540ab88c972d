"""Replays that stop in pdb."""

from __future__ import annotations

import pytest

from .conftest import Folder
from .programs import LOST_UPDATE

SCRIPT = LOST_UPDATE + "\nif __name__ == '__main__':\n    test_add()\n"


@pytest.mark.slow
def test_a_replay_reproduces_100_of_100_times_whatever_is_done_in_pdb(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    assert folder.bohrbug("run", "-q", "counter.py").code == 1
    # At the preemption: look at a variable, make two steps in whichever task runs, go on.
    commands = "p self.value\nnext\nstep\nwhere\ncontinue\n" + "continue\n"
    done = folder.bohrbug(
        "replay", "--pdb", "--times=100", str(folder.reproduction()), stdin=commands * 130
    )
    assert done.code == 1, done.out[-2000:] + done.err
    assert "reproduced in 100 of 100 replays: AssertionError" in done.out
    assert done.out.count("is preempted here") == 100
    assert done.out.count("failed: AssertionError") == 100
