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


LATE = """\
import asyncio


class Account:
    balance = 0


async def increment(account):
    balance = account.balance
    await asyncio.sleep(0)
    account.balance = balance + 1


async def later(account):
    for _ in range(3):
        await asyncio.sleep(0)
    await increment(account)


async def main():
    account = Account()
    await asyncio.gather(increment(account), later(account))
    assert account.balance == 2


if __name__ == "__main__":
    asyncio.run(main())
"""


def test_a_replay_stops_in_the_coroutine_that_is_late(folder: Folder) -> None:
    folder.write("late.py", LATE)
    assert folder.bohrbug("run", "-q", "late.py").code == 1
    commands = "p balance\nnext\ncontinue\ncontinue\ncontinue\n"
    done = folder.bohrbug("replay", "--pdb", str(folder.reproduction()), stdin=commands)
    assert "Task 0.2.1 is late: it does not go on here yet; task 0.2.2 goes on first." in done.out
    late, then = done.out.split("-> await asyncio.sleep(0)\n", 1)
    assert "late.py(10)increment()" in late
    # The next line is that of the task that goes on.
    assert "(bohrbug pdb) 0\n" in then
    assert "later()" in then.split("failed: AssertionError")[0]
    assert "reproduced in 1 of 1 replay: AssertionError" in done.out
