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
    assert "Task 0.1.1 is late: it does not go on here yet; task 0.1.2 goes on first." in done.out
    late, then = done.out.split("-> await asyncio.sleep(0)\n", 1)
    assert "late.py(10)increment()" in late
    # The next line is that of the task that goes on.
    assert "(bohrbug pdb) 0\n" in then
    assert "later()" in then.split("failed: AssertionError")[0]
    assert "reproduced in 1 of 1 replay: AssertionError" in done.out


DEADLOCK = """\
import threading

first = threading.Lock()
second = threading.Lock()


def forwards():
    with first:
        with second:
            pass


def backwards():
    with second:
        with first:
            pass


def test_both():
    threads = [threading.Thread(target=each) for each in (forwards, backwards)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_the_prompt_tells_of_all_tasks_and_why_they_wait(folder: Folder) -> None:
    file = str(folder.write_failing("dead.py", DEADLOCK, "dead:test_both"))
    commands = "tasks\nwhy\nwhy 0\nwhy 0.2\nwhy 0.7\nc\ntasks\nwhy 0\nwhere all\nwhere 0.1\nc\n"
    done = folder.bohrbug("replay", "--pdb", file, stdin=commands, COLUMNS="200")
    assert "reproduced in 1 of 1 replay" in done.out, done.out + done.err
    said = [" ".join(part.split()) for part in done.out.split("(bohrbug pdb) ")]
    assert said[1].startswith("0 MainThread test dead.py:24 blocked: waits for the end of task 0.1")
    assert "▶ 0.1 Thread-1 forwards dead.py:9 preempted: acquire Lock second" in said[1]
    assert "0.2 Thread-2 backwards next: begins" in said[1]
    assert said[2].startswith(
        "Task 0.1 (Thread-1, forwards) is preempted here, before its acquire of Lock second "
        "(dead.py:9): the plan runs task 0.2 (Thread-2, backwards), and task 0.1 does not go on"
    )
    assert said[3].startswith("Task 0 (MainThread, test) waits for the end of task 0.1 (dead.py:24")
    assert "Task 0.1 (Thread-1, forwards) is preempted here" in said[3]
    assert said[4].startswith("Task 0.2 (Thread-2, backwards) is ready, and runs next.")
    assert said[5] == "*** there is no task '0.7' now; there are 0, 0.1, 0.2"
    # Where nobody can go on there is a stop of its own.
    assert "No task can go on: 2 tasks wait for each other. Task 0.2 waits here." in said[6]
    assert "-> with first:" in said[6]
    assert "0.1 Thread-1 forwards dead.py:9 blocked on Lock second, held by 0.2" in said[7]
    assert "▶ 0.2 Thread-2 backwards dead.py:15 blocked on Lock first, held by 0.1" in said[7]
    assert said[8] == (
        "Task 0 (MainThread, test) waits for the end of task 0.1 (dead.py:24), which waits for "
        "Lock second (dead.py:9), held by task 0.2 (Thread-2, backwards; taken at dead.py:14), "
        "which waits for Lock first (dead.py:15), held by task 0.1 (Thread-1, forwards; taken at "
        "dead.py:8). Tasks 0.1 and 0.2 wait for each other."
    )
    for stack in ("dead.py:24 test_both", "dead.py:9 forwards", "dead.py:15 backwards"):
        assert stack in said[9]
    assert "dead.py:9 forwards" in said[10]
    assert "backwards" not in said[10]


TWO_LOST = """\
import threading


class Counters:
    first = second = 0


def add(counters):
    value = counters.first
    counters.first = value + 1
    value = counters.second
    counters.second = value + 1


def test_not_both():
    counters = Counters()
    threads = [threading.Thread(target=add, args=(counters,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (counters.first, counters.second) != (1, 1)
"""


def test_a_replay_stops_at_each_preemption_that_matters(folder: Folder) -> None:
    file = str(folder.write_failing("two.py", TWO_LOST, "two:test_not_both"))
    done = folder.bohrbug("replay", "--pdb", file, stdin="c\n" * 9)
    stops = done.out.count("is preempted here")
    assert stops >= 2, done.out
    # On to the last one at once, of which it is told that it is the last.
    commands = "next first\nlp\nnp\nnext preemption\nlast preemption\nc\nnp\nc\n"
    done = folder.bohrbug("replay", "--pdb", file, stdin=commands)
    assert "next takes nothing, or: next preemption; not 'first'" in done.out
    assert done.out.count("is preempted here") == 2
    assert done.out.count("no further preemption comes in the plan") == 2
    assert "no preemption that matters is still to come" in done.out
    assert "the execution ends here" in done.out.split("failed: AssertionError")[1]
    assert "reproduced in 1 of 1 replay" in done.out
    # One after the other: each is a stop of its own.
    done = folder.bohrbug("replay", "--pdb", file, stdin="np\n" * stops + "c\n" * 2)
    assert done.out.count("is preempted here") == stops
    assert "no further preemption" in done.out


def test_breakpoints_hit_and_what_is_evaluated_is_of_the_task(folder: Folder) -> None:
    file = str(folder.write_failing("two.py", TWO_LOST, "two:test_not_both"))
    commands = (
        "lock = __import__('threading').RLock(); lock.acquire(); lock.release()\n"
        "tasks = 7\np tasks + 1\ntasks + 2\nlp\nb two.py:22\nc\np counters.first\nwhy\nc\nc\n"
    )
    done = folder.bohrbug("replay", "--pdb", file, stdin=commands)
    assert "un-acquired" not in done.out
    assert "(bohrbug pdb) 8\n(bohrbug pdb) 9\n" in done.out, done.out
    stopped = done.out.split("Breakpoint 1 at ")[1]
    assert stopped.splitlines()[2] == "-> assert (counters.first, counters.second) != (1, 1)"
    assert "Task 0 (MainThread, test) runs." in done.out
    assert "reproduced in 1 of 1 replay" in done.out


TRIO = """\
import trio


async def take(first, second):
    async with first:
        await trio.lowlevel.checkpoint()
        async with second:
            pass


async def main():
    first, second = trio.Lock(), trio.Lock()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(take, first, second)
        nursery.start_soon(take, second, first)


def test_main():
    trio.run(main)
"""


def test_tasks_of_trio_are_told_of(folder: Folder) -> None:
    pytest.importorskip("trio")
    file = str(folder.write_failing("locks.py", TRIO, "locks:test_main"))
    commands = "tasks\nwhy 0.1.1\nwhere 0.1\nc\n"
    done = folder.bohrbug("replay", "--pdb", file, stdin=commands, COLUMNS="200")
    said = done.out.split("(bohrbug pdb) ")
    assert "0.1 main" in said[1], done.out + done.err
    assert "blocked on the end of task 0.1.1 and task 0.1.2" in said[1]
    assert "0.1.2 take" in said[1]
    assert "Task 0.1.1 (take) holds Lock #2 (taken at locks.py:5) and waits for Lock #1" in said[2]
    assert "(take; taken at locks.py:5), which waits for Lock #2" in " ".join(said[2].split())
    assert "locks.py:13  main" in said[3]


def test_the_prompt_tells_of_tasks_of_event_loops(folder: Folder) -> None:
    folder.write("late.py", LATE)
    assert folder.bohrbug("run", "-q", "late.py").code == 1
    commands = "tasks\nwhy\nwhere 0.1.2\nc\nc\nc\nc\n"
    file = str(folder.reproduction())
    done = folder.bohrbug("replay", "--pdb", file, stdin=commands, COLUMNS="200")
    said = done.out.split("(bohrbug pdb) ")
    assert "runs an event loop" in said[1], done.out
    assert "late: resume" in said[1]
    assert "blocked on the end of task 0.1.1 and task 0.1.2" in said[1]
    assert "Task 0.1.1 (increment) is late here, before its resume (late.py:10)" in said[2]
    assert "late.py:16  later" in said[3]


EARLY = """\
import threading


def test_patience():
    ready = threading.Event()
    thread = threading.Thread(target=ready.set)
    thread.start()
    in_time = ready.wait(0.5)
    thread.join()
    assert in_time
"""


def test_a_timeout_that_fires_early_is_a_stop(folder: Folder) -> None:
    file = str(folder.write_failing("early.py", EARLY, "early:test_patience"))
    done = folder.bohrbug(
        "replay", "--pdb", file, stdin="tasks\nwhy\nwhy 0.1\nc\nc\n", COLUMNS="150"
    )
    said = [" ".join(part.split()) for part in done.out.split("(bohrbug pdb) ")]
    assert said[0].startswith("Task 0 (MainThread) waits here, and its timeout fires early."), said
    assert "0 MainThread test early.py:8 next: wait Event ready; its timeout fires" in said[1]
    assert said[2] == (
        "Task 0 (MainThread, test) waits for Event ready (early.py:8); another task has to set it. "
        "Its timeout fires next."
    )
    assert said[3].startswith("Task 0.1 (Thread-1, Event.set) is ready: the plan runs task 0 (Main")
    assert "reproduced in 1 of 1 replay" in done.out


MONITORED = """
import queue
import threading

def test_monitored():
    stop, items = threading.Event(), queue.Queue()

    def monitor():
        while not stop.wait(0.1):
            pass

    threading.Thread(target=monitor, daemon=True).start()
    items.get()
    stop.set()
"""


def test_pdb_stops_where_a_task_waits_for_ever_beside_one_that_goes_on(folder: Folder) -> None:
    file = str(folder.write_failing("program.py", MONITORED, "program:test_monitored"))
    done = folder.bohrbug("replay", "--pdb", file, stdin="p type(items)\nc\n")
    assert "No task can go on: task 0 waits for ever. Task 0 waits here." in done.out
    assert "queue.Queue" in done.out
