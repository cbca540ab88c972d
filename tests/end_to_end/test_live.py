"""``bohrbug live`` and ``pytest --bohrbug-live``."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import pytest

from tests.end_to_end.conftest import SECONDS, Folder
from tests.end_to_end.live_programs import FINE, POOL, left

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="live rounds need Linux")


def test_a_bug_is_found_in_the_run_itself_and_can_be_replayed(folder: Folder) -> None:
    folder.write("pool.py", POOL + "\n    run(2000)\n    print('over')\n")
    done = folder.bohrbug("live", "pool.py")
    assert done.code == 1
    assert "handed out twice" in done.err
    assert "found by live rounds" in done.err
    assert re.search(r"failed after \d+ rounds? \(\d+ fragments\)", done.err)
    assert "over" not in done.out
    replayed = folder.bohrbug("replay", str(folder.reproduction()), "--times", "3")
    assert replayed.code == 1, replayed.out + replayed.err
    assert "reproduced in 3 of 3 replays" in replayed.out
    assert left(folder) == []


def test_a_debugger_looks_at_the_program_as_it_stands(folder: Folder) -> None:
    folder.write("pool.py", POOL + "\n    run(2000)\n")
    done = folder.bohrbug("live", "--pdb", "pool.py", stdin="p self.used == {connection}\nq\n")
    assert done.code == 1
    assert "AssertionError leaves task" in done.err
    assert "(Pdb) True" in done.out


def test_the_same_seed_tries_the_same(folder: Folder) -> None:
    folder.write("pool.py", POOL + "\n    run(2000)\n")
    for _ in range(2):
        # Where a round begins, real time decides; here it is the first moment there is.
        assert folder.bohrbug("live", "--seed", "5", "pool.py").code == 1
    assert len(folder.reproductions()) == 1


def test_accesses_to_data_become_scheduling_points_while_it_runs(folder: Folder) -> None:
    folder.write(
        "race.py",
        """
        import threading

        class Counter:
            def __init__(self):
                self.value = 0

            def add(self):
                self.value += 1

        counter = Counter()

        def work():
            for _ in range(1500):
                counter.add()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counter.value == 4500, counter.value
        """,
    )
    done = folder.bohrbug("live", "race.py")
    assert done.code == 1, done.out + done.err
    assert folder.content()["growth"]
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert replayed.code == 1, replayed.out + replayed.err


def test_functions_of_modules_are_seen_although_only_fragments_have_called_them(
    folder: Folder,
) -> None:
    folder.write(
        "library.py",
        """
        class Counter:
            def __init__(self):
                self.value = 0

            def add(self):
                self._add(1)

            def _add(self, number):
                self.value += number
        """,
    )
    folder.write(
        "uses.py",
        """
        import threading
        from library import Counter

        counter = Counter()

        def work():
            for _ in range(1500):
                counter.add()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counter.value == 4500, counter.value
        """,
    )
    done = folder.bohrbug("live", "uses.py")
    assert done.code == 1, done.out + done.err
    assert any(functions for _, _, functions, _ in folder.content()["growth"])
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert replayed.code == 1, replayed.out + replayed.err


def test_a_deadlock_is_found(folder: Folder) -> None:
    folder.write(
        "dead.py",
        """
        import threading

        a, b = threading.Lock(), threading.Lock()

        def work(first, second):
            for _ in range(500):
                with first:
                    with second:
                        pass

        threads = [threading.Thread(target=work, args=(a, b)),
                   threading.Thread(target=work, args=(b, a))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """,
    )
    done = folder.bohrbug("live", "dead.py")
    assert done.code == 1
    assert "wait for each other" in done.err
    assert folder.bohrbug("replay", str(folder.reproduction())).code == 1


def test_a_crash_is_told_before_it_happens(folder: Folder) -> None:
    folder.write(
        "crash.py",
        """
        import ctypes, threading

        lock = threading.Lock()
        pointer = 1

        def change():
            global pointer
            for _ in range(300):
                with lock:
                    pointer = None
                    pointer = 1
                with lock:
                    pointer = None
                with lock:
                    pointer = 1

        def use():
            for _ in range(300):
                with lock:
                    is_set = pointer is not None
                if is_set:
                    with lock:
                        if pointer is None:
                            ctypes.string_at(0)

        threads = [threading.Thread(target=change), threading.Thread(target=use)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """,
    )
    done = folder.bohrbug("live", "crash.py")
    assert done.code == -signal.SIGSEGV
    assert "died of SIGSEGV in its next step" in done.err
    assert "Segmentation fault" in done.err
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert replayed.code == -signal.SIGSEGV


def test_with_nothing_to_find_all_is_as_always(folder: Folder) -> None:
    path = folder.write("fine.py", FINE)
    native = folder.run([sys.executable, str(path)])
    log = (folder.path / "log.txt").read_text()
    live = folder.bohrbug("live", "--budget", "90", "fine.py")
    assert (live.code, live.out) == (native.code, native.out)
    assert (folder.path / "log.txt").read_text() == log
    assert live.err.startswith("last\nbohrbug: no failure in ")
    assert not re.search(r"no failure in 0 rounds", live.err)
    assert folder.reproductions() == []
    assert left(folder) == []
    quiet = folder.bohrbug("live", "--quiet", "fine.py")
    assert quiet.err == "last\n"


FOREVER = """
    import threading

    lock = threading.Lock()
    count = 0

    def work():
        global count
        while True:
            with lock:
                count += 1
                if count == 2000:
                    print("well under way", flush=True)

    for _ in range(3):
        threading.Thread(target=work).start()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 3), (signal.SIGKILL, -9)])
def test_nothing_is_left_of_a_run_that_is_ended(
    folder: Folder, number: signal.Signals, code: int
) -> None:
    folder.write("forever.py", FOREVER)
    with subprocess.Popen(
        folder.command("live", "--budget", "90", "forever.py"),
        cwd=folder.path,
        env=folder.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "well under way\n"
        process.send_signal(number)
        # Copies have the pipes, too: they end only when the last of them is gone.
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == code, err
    if number == signal.SIGINT:
        assert "interrupted: no failure up to then in" in err
    # The signal by which copies end with the run may take a moment.
    deadline = time.monotonic() + 5
    while left(folder) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert left(folder) == []


def test_a_long_run_keeps_its_last_steps_only(folder: Folder) -> None:
    late = POOL.replace("assert connection not in self.used", "assert len(self.used) < 9")
    folder.write(
        "long.py",
        late + "\n    run(1500)\n    assert False, 'at the end'\n",
    )
    done = folder.bohrbug("live", "--history", "500", "--rounds", "3", "long.py")
    assert done.code == 1
    assert "It can't be replayed" in done.err
    assert "--history" in done.err
    assert "bohrbug replay" not in done.err
    assert folder.reproductions() == []


def test_what_is_forgotten_changes_nothing(folder: Folder) -> None:
    """Neither who has its turn when loops yield and time passes, nor what is joined."""
    folder.write(
        "turns.py",
        """
        import queue, threading, time

        done = []
        numbers = queue.Queue(3)
        changed = threading.Condition()
        turn = 0

        def spin(own):
            global turn
            for _ in range(150):
                while turn % 3 != own:
                    time.sleep(0)
                done.append(own)
                turn += 1

        def wait(own):
            for _ in range(150):
                with changed:
                    changed.wait(0.01)
                    done.append(own)
                try:
                    numbers.put(own, timeout=0.02)
                except queue.Full:
                    done.append(-own)

        def take():
            for _ in range(120):
                time.sleep(0.015)
                done.append(10 + numbers.get())
                with changed:
                    changed.notify()

        for _ in range(2):
            threads = [threading.Thread(target=spin, args=(own,)) for own in range(3)]
            threads += [threading.Thread(target=wait, args=(own,)) for own in (3, 4)]
            threads += [threading.Thread(target=take)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        print(done)
        """,
    )
    without = ("live", "--seconds", "0.0001", "turns.py")
    whole = folder.bohrbug(*without)
    short = folder.bohrbug(without[0], "--history", "50", *without[1:])
    assert whole.code == 0, whole.err
    assert short.out == whole.out
    steps = [re.findall(r"([\d,]+) steps", done.err) for done in (short, whole)]
    assert steps[0] == steps[1] != []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--budget", "0", "fine.py"), "budget must be from 1 to 99"),
        (("--window", "0", "fine.py"), "window must be at least 1"),
        (("no.py",), "there is no file no.py"),
        (("--attach", "fine.py"), "is not a valid integer range"),
        (("--attach", "1", "fine.py"), "--attach is for a process that runs already"),
        (("--attach", "1", "--native-threads"), "--native-threads is for one that bohrbug starts"),
    ],
)
def test_what_can_not_be_done_is_said(
    folder: Folder, arguments: tuple[str, ...], words: str
) -> None:
    folder.write("fine.py", "print('not run')")
    done = folder.bohrbug("live", *arguments)
    assert done.code == 2
    assert words in done.err
    assert "not run" not in done.out


def test_pytest_runs_each_test_once(folder: Folder) -> None:
    folder.write(
        "test_pool.py",
        POOL
        + """
    calls = []

    class Fixed(Pool):
        def get(self):
            with self.lock:
                if not self.free:
                    return None
                connection = self.free.pop()
                assert connection not in self.used
                self.used.add(connection)
                return connection

    def test_bad():
        run(2000)

    def test_good(capfd):
        calls.append(1)
        print("seen once")
        use_it = Fixed()
        threads = [threading.Thread(target=use, args=(use_it, 500)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert capfd.readouterr().out == "seen once\\n"
        assert calls == [1]
""",
    )
    done = folder.pytest("--bohrbug-live", "-v", "--bohrbug-live-fragments", "3")
    assert done.code == 1
    assert "test_bad FAILED" in done.out
    assert "found by live rounds" in done.out
    assert re.search(r"test_good PASSED \(no failure in \d+ rounds? \(\d+ fragments?\)\)", done.out)
    assert re.search(r"2 tests run live: \d+ rounds", done.out)
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert replayed.code == 1, replayed.out
    assert "reproduced in 1 of 1 replay" in replayed.out


def test_pytest_refuses_what_makes_no_sense(folder: Folder) -> None:
    folder.write("test_it.py", "def test_it(): pass")
    both = folder.pytest("--bohrbug", "--bohrbug-live")
    assert both.code == 4
    assert "neither explored nor replayed" in both.err
    assert folder.pytest("--bohrbug-live", "--bohrbug-live-budget", "0").code == 4
