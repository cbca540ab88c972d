"""``bohrbug live --native-threads``."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Ended, Folder
from tests.end_to_end.live_programs import FINE, POOL, interrupted, left

COUNTER = """
    import threading, time

    class Counter:
        value = 0

        def add(self):
            self.value += 1

    counter = Counter()

    def work():
        until = time.monotonic() + 5
        while time.monotonic() < until:
            for _ in range(100):
                counter.add()
                done[threading.get_ident()] += 1

    done = {}

    def begin():
        done[threading.get_ident()] = 0
        ready.wait()
        work()

    ready = threading.Barrier(3)
    threads = [threading.Thread(target=begin) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == sum(done.values()), "lost updates"
"""
"""Lost updates, which no build with the GIL has here."""

CHECK_THEN_ACT = """
    import threading, time

    class Shop:
        def __init__(self):
            self.stock = {}
            self.made = set()

        def make(self, name):
            assert name not in self.made, "two of them"
            self.made.add(name)
            return [name]

        def get(self, name):
            if name not in self.stock:
                self.stock[name] = self.make(name)
            return self.stock[name]

    shop = Shop()

    def work():
        until = time.monotonic() + 6
        while time.monotonic() < until:
            time.sleep(0.0005)
            name = str(time.monotonic() // 0.02)
            shop.get(name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""
"""A call is between the check and the act, so that the GIL makes no difference."""


def run(folder: Folder, *arguments: str) -> Ended:
    return folder.bohrbug("live", "--native-threads", *arguments)


def test_a_bug_is_found_in_the_run_itself(folder: Folder) -> None:
    folder.write("pool.py", POOL + "\n    run(100_000)\n    print('over')\n")
    done = run(folder, "pool.py")
    assert done.code == 1, done.out + done.err
    assert "FAILED: a failed assertion left Thread-" in done.err
    assert "handed out twice" in done.err
    assert "There is no file to replay" in done.err
    # The threads are real ones, and the others go on.
    assert "over" in done.out
    assert re.search(r"bohrbug: \d+ failures? in \d+ windows?", done.err)
    assert not (folder.path / ".bohrbug").exists()
    assert left(folder) == []


def test_a_program_without_a_bug_does_what_it_always_does(folder: Folder) -> None:
    folder.write("fine.py", FINE)
    done = run(folder, "fine.py")
    assert done.code == 7
    assert done.out.count("done") == 12
    assert "raw" in done.out
    assert "last" in done.err
    assert "bohrbug: no failure in" in done.err
    assert "holds" not in done.err
    quiet = run(folder, "-q", "fine.py")
    assert "bohrbug: no failure" not in quiet.err or "race: on" in quiet.err


def test_delays_are_told_with_what_they_lead_to(folder: Folder) -> None:
    folder.write("shop.py", CHECK_THEN_ACT)
    done = run(folder, "--seed", "3", "shop.py")
    assert done.code == 1, done.err
    assert "two of them" in done.err
    # The main thread may have been delayed, too, where it starts the others.
    assert re.search(
        r"Delays in force just before.*\n(?: +MainThread .*\n)*"
        r" +Thread-\d \(work\) (paused|gave way)",
        done.err,
    )
    assert "Seed 3." in done.err
    assert "It may need free-threaded Python" in done.err


def test_races_are_caught_in_traps(folder: Folder) -> None:
    folder.write("counter.py", COUNTER)
    done = run(folder, "counter.py")
    assert re.search(r"race: on Counter\.value, caught \d+ times?", done.err), done.err
    assert re.search(r"was about to (read|write) it at counter\.py:8 in Counter\.add", done.err)
    assert re.search(
        r"came meanwhile to (read|write) it at counter\.py:8 in Counter\.add", done.err
    )
    assert re.search(r"value before: \d+; after the other's access: \d+", done.err)


@pytest.mark.parametrize("seed", ["0", "1"])
def test_by_the_rules_of_the_gil_nothing_happens_that_it_prevents(
    folder: Folder, seed: str
) -> None:
    folder.write("counter.py", COUNTER)
    done = run(folder, "--interpreter", "gil", "--seed", seed, "counter.py")
    assert done.code == 0, done.err
    assert re.search(r"[1-9]\d* traps?, which caught 0 races", done.err)


def test_by_the_rules_of_the_gil_the_others_are_found(folder: Folder) -> None:
    folder.write("shop.py", CHECK_THEN_ACT)
    # Real threads promise nothing: on a busy machine, one run in some fifty finds nothing.
    for seed in range(3):
        done = run(folder, "--interpreter", "gil", "--seed", str(seed), "shop.py")
        if done.code != 0:
            break
    assert done.code == 1, done.err
    assert "two of them" in done.err
    assert "free-threaded" not in done.err


def test_a_deadlock_ends_the_run_with_all_stacks(folder: Folder) -> None:
    folder.write(
        "dead.py",
        """
        import threading

        one, other = threading.Lock(), threading.Lock()
        both = threading.Barrier(2)

        def take(first, second):
            with first:
                both.wait()
                with second:
                    pass

        for pair in ((one, other), (other, one)):
            threading.Thread(target=take, args=pair).start()
        """,
    )
    done = run(folder, "--hang-seconds", "1", "dead.py")
    assert done.code == 1
    assert "deadlock: all 3 threads wait for locks, and nothing moved for 1 s" in done.err
    assert done.err.count("in take\n") == 2
    assert "click" not in done.err
    assert left(folder) == []


def test_waiting_for_the_outside_is_no_deadlock(folder: Folder) -> None:
    folder.write(
        "waiting.py",
        """
        import threading, time

        done = threading.Event()

        def work():
            time.sleep(2.5)
            done.set()

        threading.Thread(target=work).start()
        done.wait()
        print("over")
        """,
    )
    done = run(folder, "--hang-seconds", "0.5", "waiting.py")
    assert done.code == 0, done.err
    assert "over" in done.out


def test_a_crash_is_told_by_who_outlives_it(folder: Folder) -> None:
    folder.write(
        "crash.py",
        """
        import ctypes, threading, time

        def work(number):
            time.sleep(0.2)
            if number:
                ctypes.string_at(0)

        for number in range(2):
            threading.Thread(target=work, args=(number,)).start()
        """,
    )
    done = run(folder, "crash.py")
    assert done.code == 1
    assert "FAILED: the program crashed: Segmentation fault (SIGSEGV)" in done.err
    assert "Fatal Python error" in done.err
    assert "Seed 0." in done.err
    assert left(folder) == []


def test_the_script_itself_fails(folder: Folder) -> None:
    folder.write("wrong.py", "print('first')\nraise ValueError('wrong')\n")
    done = run(folder, "wrong.py")
    assert done.code == 1
    assert "FAILED: ValueError left the main thread: ValueError: wrong" in done.err
    assert 'wrong.py", line 2' in done.err


def test_a_function_of_a_module(folder: Folder) -> None:
    folder.write(
        "shop.py",
        CHECK_THEN_ACT.replace("\n    threads = ", "\n    def main():\n        threads = ")
        .replace("\n    for thread", "\n        for thread")
        .replace("\n        thread.", "\n            thread."),
    )
    done = run(folder, "shop:main")
    assert done.code == 1, done.out + done.err
    assert "two of them" in done.err


def test_ctrl_c_ends_it(folder: Folder) -> None:
    folder.write(
        "server.py",
        """
        import threading, time

        def work():
            while True:
                time.sleep(0.01)

        for _ in range(2):
            threading.Thread(target=work).start()
        print("ready", flush=True)
        while True:
            time.sleep(0.01)
        """,
    )
    code, _, errors = interrupted(folder, "--native-threads", "server.py")
    assert code == 3, errors
    assert "bohrbug: interrupted: no failure up to then" in errors
    assert left(folder) == []


def test_a_signal_that_ends_the_program(folder: Folder) -> None:
    folder.write("ended.py", "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    assert run(folder, "ended.py").code == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--window", "50"], "--window is for rounds"),
        (["--fragments", "2"], "--fragments is for rounds"),
        (["-j", "2"], "-j is for rounds"),
        (["--pdb"], "--pdb is for rounds"),
        (["--level", "all"], "--level is for programs under control"),
        (["--timeouts", "late"], "--timeouts is for programs under control"),
        (["--exit-code", "1"], "--exit-code is for native programs"),
        (["--allow-misuse", "relock"], "--allow-misuse is for programs under control"),
        (["--budget", "0"], "budget must be from 1 to 99"),
    ],
)
def test_options_that_mean_nothing_here(folder: Folder, options: list[str], message: str) -> None:
    folder.write("fine.py", FINE)
    done = run(folder, *options, "fine.py")
    assert done.code == 2
    assert message in done.err


def test_what_it_is_not_for(folder: Folder) -> None:
    folder.write("fine.py", FINE)
    for option in (["--interpreter", "gil"], ["--hang-seconds", "3"]):
        done = folder.bohrbug("live", *option, "fine.py")
        assert (done.code, f"{option[0]} needs --native-threads" in done.err) == (2, True)
    missing = run(folder, "nowhere.py")
    assert (missing.code, "there is no file nowhere.py" in missing.err) == (2, True)


def test_children_are_left_alone(folder: Folder) -> None:
    folder.write(
        "children.py",
        """
        import os, threading, time

        class Box:
            value = 0

        box = Box()

        def work():
            until = time.monotonic() + 1
            while time.monotonic() < until:
                box.value += 1

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                for _ in range(1000):
                    box.value += 1
                os._exit(5)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        for thread in threads:
            thread.join()
        print("over")
        """,
    )
    done = run(folder, "children.py")
    assert (done.code, done.out.strip()) == (0, "over"), done.err
    assert Path(folder.path / "children.py").exists()
