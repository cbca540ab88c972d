"""``bohrbug live --attach``: rounds in a service that runs already."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.end_to_end.conftest import SECONDS, Ended, Folder
from tests.end_to_end.live_programs import POOL_CLASS, left

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="live rounds need Linux")

SERVER = f"""{POOL_CLASS}
    import http.server, sys
    import bohrbug.live

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            try:
                connection = pool.get()
            except AssertionError as error:
                bohrbug.live.failed(error)
                connection = None
            body = b"hello"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            print("in a handler", flush=True)
            if connection is not None:
                pool.put(connection)

        def log_message(self, *arguments):
            pass

    bohrbug.live.start()
    pool = Pool()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, file=sys.stderr, flush=True)
    server.serve_forever()
"""
"""The pool, behind HTTP."""

QUIET = """
    import sys, threading, time
    import bohrbug.live

    bohrbug.live.start()
    print("ready", file=sys.stderr, flush=True)
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                pass
            time.sleep(0)

    for _ in range(2):
        threading.Thread(target=work).start()
"""
"""Nothing is wrong with it; two threads can run at any time, so that there can be rounds."""


@contextmanager
def running(folder: Folder, text: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """A service; with it the first line that it writes to its error output."""
    folder.write("service.py", text)
    with subprocess.Popen(
        [sys.executable, "service.py"],
        cwd=folder.path,
        env=folder.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as service:
        try:
            assert service.stderr is not None
            yield service, service.stderr.readline().strip()
        finally:
            service.kill()


def attach(folder: Folder, service: subprocess.Popen[str], *options: str) -> Ended:
    return folder.bohrbug("live", "--attach", str(service.pid), *options)


class Clients:
    """Ask a server again and again, until they are told to end.

    Attributes:
        wrong: answers that were not right, and errors.
        right: how many were right.
    """

    def __init__(self, port: int, count: int) -> None:
        self.wrong: list[object] = []
        self.right = 0
        self._port = port
        self._is_over = False
        self._threads = [threading.Thread(target=self._ask) for _ in range(count)]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._is_over = True
        for thread in self._threads:
            thread.join()

    def ask(self) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("GET", "/")
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _ask(self) -> None:
        while not self._is_over:
            try:
                found = self.ask()
            except (OSError, http.client.HTTPException) as error:
                self.wrong.append(error)
                return
            if found == (200, b"hello"):
                self.right += 1
            else:
                self.wrong.append(found)


def test_a_bug_shows_in_a_server_under_load_which_then_goes_on(folder: Folder) -> None:
    with running(folder, SERVER) as (service, port), Clients(int(port), 4) as clients:
        # Its output is as long as the number of requests.
        printed: list[str] = []
        assert service.stdout is not None
        reader = threading.Thread(target=printed.extend, args=(service.stdout,))
        reader.start()
        for _ in range(2):
            done = attach(folder, service, "--seconds", "100")
            assert done.code == 1, done.out + done.err
            assert f"attached to service.py (process {service.pid}, Python 3." in done.err
            assert "handed out twice" in done.err
            assert "found by live rounds" in done.err
            assert "It can't be replayed: the service ran before anybody attached" in done.err
            assert re.search(r"failed after \d+ rounds? \(\d+ fragments\)", done.err)
            assert "detached; the service goes on" in done.err
            before = clients.right
            for _ in range(20):
                assert clients.ask() == (200, b"hello")
            assert clients.right >= before
        clients.__exit__()
        assert clients.wrong == []
        service.send_signal(signal.SIGINT)
        reader.join(SECONDS)
        # A fragment prints nowhere: as many lines as there were answers.
        assert len(printed) == clients.right + 40
        assert service.wait(SECONDS) != 0
        assert "KeyboardInterrupt" in (service.stderr.read() if service.stderr else "")
    assert left(folder) == []


def test_ctrl_c_detaches_and_a_second_one_is_refused_meanwhile(folder: Folder) -> None:
    with running(folder, QUIET) as (service, line):
        assert line == "ready"
        command = folder.command("live", "--attach", str(service.pid), "--budget", "50")
        with subprocess.Popen(
            command,
            cwd=folder.path,
            env=folder.environment,
            stderr=subprocess.PIPE,
            text=True,
        ) as first:
            assert first.stderr is not None
            assert "Ctrl-C detaches" in first.stderr.readline()
            second = attach(folder, service)
            assert second.code == 2
            assert f"process {first.pid} is attached to it already" in second.err
            first.send_signal(signal.SIGINT)
            said = first.stderr.read()
            assert first.wait(SECONDS) == 3
            assert "interrupted: no failure up to then in" in said
        third = attach(folder, service, "--rounds", "3", "--seed", "7", "--fragments", "2")
        assert third.code == 0, third.err
        assert "no failure in 3 rounds (6 fragments)" in third.err
        assert attach(folder, service, "--rounds", "1", "-q").err == ""
        assert service.poll() is None


def test_one_that_attaches_and_is_killed_leaves_the_service_as_it_was(folder: Folder) -> None:
    with running(folder, QUIET) as (service, _):
        command = folder.command("live", "--attach", str(service.pid))
        with subprocess.Popen(
            command, cwd=folder.path, env=folder.environment, stderr=subprocess.PIPE, text=True
        ) as first:
            assert first.stderr is not None
            first.stderr.readline()
            first.kill()
        deadline = time.monotonic() + SECONDS
        while (done := attach(folder, service, "--rounds", "1")).code == 2:
            # It takes a moment until that is known.
            assert "is attached to it already" in done.err
            assert time.monotonic() < deadline
        assert done.code == 0, done.err


def test_accesses_to_data_are_seen_while_somebody_is_attached(folder: Folder) -> None:
    text = """
        import sys, threading, time
        import bohrbug.live

        class Counter:
            def __init__(self):
                self.value = 0
                self.lock = threading.Lock()

            def add(self):
                before = self.value
                self.value = before + 1
                if self.value != before + 1:
                    raise ValueError("lost an update")

        def work():
            while True:
                for _ in range(20):
                    try:
                        counter.add()
                    except ValueError as error:
                        bohrbug.live.failed(error)
                    with counter.lock:
                        pass
                # Never all of them at once: there is always one more that could run.
                time.sleep(0)

        bohrbug.live.start()
        counter = Counter()
        print("ready", file=sys.stderr, flush=True)
        for _ in range(3):
            threading.Thread(target=work).start()
    """
    with running(folder, text) as (service, _):
        for _ in range(2):
            done = attach(folder, service, "--budget", "60", "--seconds", "100")
            assert done.code == 1, done.err
            assert "lost an update" in done.err
            assert "Counter.value" in done.err
        synchronisation = attach(folder, service, "--level", "sync", "--rounds", "5")
        assert synchronisation.code == 0, synchronisation.err


def test_a_deadlock_is_told_and_a_signal_still_ends_the_service(folder: Folder) -> None:
    text = """
        import signal, sys, threading, time
        import bohrbug.live

        bohrbug.live.start()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
        a, b = threading.Lock(), threading.Lock()

        def work(first, second):
            while True:
                for _ in range(20):
                    with first:
                        with second:
                            pass
                # Never both at once: there is always one that could run.
                time.sleep(0)

        threads = [
            threading.Thread(target=work, args=locks, daemon=True) for locks in ((a, b), (b, a))
        ]
        for thread in threads:
            thread.start()
        print("ready", file=sys.stderr, flush=True)
        for thread in threads:
            thread.join()
    """
    with running(folder, text) as (service, _):
        done = attach(folder, service, "--budget", "60", "--seconds", "100")
        assert done.code == 1, done.err
        assert "deadlock" in done.err
        service.terminate()
        assert service.wait(SECONDS) == 9


def test_a_service_lives_in_real_time_and_its_threads_may_fail(folder: Folder) -> None:
    folder.write(
        "service.py",
        """
        import datetime, os, queue, subprocess, threading, time
        import bohrbug.live

        before = time.monotonic()
        bohrbug.live.start()
        assert 0 < time.monotonic() - before < 60
        assert abs(datetime.datetime.now().timestamp() - time.time()) < 1
        first, second = os.urandom(16), os.urandom(16)
        assert first != second

        def sleep():
            began = time.monotonic()
            time.sleep(0.5)
            took = time.monotonic() - began
            print("slept", 0.5 <= took < 5, flush=True)

        def fail():
            raise ValueError("as it happens")

        threads = [threading.Thread(target=each) for each in (sleep, fail)]
        for thread in threads:
            thread.start()
        try:
            queue.Queue().get(timeout=0.2)
        except queue.Empty:
            print("empty", flush=True)
        # Nobody waits for anything, and time passes all the same.
        lock = threading.Lock()
        while threads[0].is_alive():
            with lock:
                pass
        print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout.strip())
        child = os.fork()
        if not child:
            os._exit(4)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        threading.Thread(target=lambda: (time.sleep(0.1), print("last"))).start()
        raise SystemExit(7)
        """,
    )
    done = folder.run([sys.executable, "service.py"])
    assert done.lines == ["empty", "slept True", "child", "4", "last"]
    assert done.code == 7
    assert "ValueError: as it happens" in done.err


def test_it_can_be_stopped_and_started_again(folder: Folder) -> None:
    folder.write(
        "service.py",
        """
        import threading, time
        import bohrbug.live

        for _ in range(2):
            bohrbug.live.start()
            event = threading.Event()
            thread = threading.Thread(target=event.wait)
            thread.start()
            try:
                bohrbug.live.stop()
            except RuntimeError as error:
                print(error)
            event.set()
            thread.join()
            bohrbug.live.stop()
            print(type(threading.Lock()).__module__)
        bohrbug.live.failed(ValueError("nobody wants to know"))
        try:
            bohrbug.live.stop()
        except RuntimeError as error:
            print(error)
        """,
    )
    done = folder.run([sys.executable, "service.py"])
    assert done.code == 0, done.err
    alive = "threads that run under control can't leave it: call bohrbug.live.stop() when they"
    assert [line.partition(alive)[1] or line for line in done.lines] == [
        *(alive, "_thread") * 2,
        "bohrbug.live.start() was not called",
    ]


def test_what_is_known_of_threads_that_have_ended_does_not_pile_up(folder: Folder) -> None:
    folder.write(
        "service.py",
        """
        import threading
        import bohrbug.live

        def kilobytes():
            return int(open("/proc/self/statm").read().split()[1]) * 4

        def work():
            lock, event = threading.Lock(), threading.Event()
            with lock:
                event.set()

        bohrbug.live.start()
        for turn in range(5):
            for _ in range(2_000):
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
            if not turn:
                before = kilobytes()
        print(1024 * (kilobytes() - before) // 8_000)
        """,
    )
    done = folder.run([sys.executable, "service.py"])
    assert done.code == 0, done.err
    assert int(done.out) < 150, "bytes for each thread"


WRONG = {
    "twice": ("bohrbug.live.start(); bohrbug.live.start()", "was called already"),
    "threads": (
        (
            "import threading, time\n"
            "threading.Thread(target=time.sleep, args=(30,), daemon=True, name='early').start()\n"
            "bohrbug.live.start()"
        ),
        r"threads that run already can't come under control.*\(early\)",
    ),
    "bare thread": (
        (
            "import _thread, time\n"
            "_thread.start_new_thread(time.sleep, (30,)); time.sleep(0.5)\n"
            "bohrbug.live.start()"
        ),
        "1 that the module threading does not know",
    ),
    "another thread": (
        (
            "import threading\n"
            "thread = threading.Thread(target=bohrbug.live.start)\n"
            "thread.start(); thread.join(); raise SystemExit(1)"
        ),
        r"bohrbug.live.start\(\) is for the main thread",
    ),
    "a lock of before": (
        (
            "import threading\n"
            "def main():\n"
            "    early = threading.Lock()\n"
            "    bohrbug.live.start()\n"
            "main()"
        ),
        "the variable early of main .*service.py:5.* that was made before",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_start_says_why_it_can_not_be(folder: Folder, name: str) -> None:
    program, expected = WRONG[name]
    (folder.path / "service.py").write_text(f"import bohrbug.live\n{program}\n", encoding="utf-8")
    done = folder.run([sys.executable, "service.py"])
    assert done.code == 1
    assert re.search(expected, done.err), done.err
    assert "ServiceError" in done.err


def test_start_is_not_for_what_is_under_control(folder: Folder) -> None:
    folder.write("service.py", "import bohrbug.live\nbohrbug.live.start()\n")
    for command in ("run", "live"):
        done = folder.bohrbug(command, "service.py")
        assert done.code == 1
        assert "this process is under Bohrbug's control already" in done.out + done.err


def test_attaching_to_what_is_no_service_says_so(folder: Folder) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        done = folder.bohrbug("live", "--attach", str(other.pid))
        assert (done.code, done.err) == (
            2,
            f"bohrbug: process {other.pid} has not called bohrbug.live.start()\n",
        )
        other.kill()
    gone = folder.bohrbug("live", "--attach", str(other.pid))
    assert (gone.code, gone.err) == (2, f"bohrbug: there is no process {other.pid}\n")


def test_options_that_a_service_has_decided_upon_are_refused(folder: Folder) -> None:
    for options, expected in (
        (("--entropy", "real"), "--entropy is for programs that bohrbug starts"),
        (("--pdb",), "--pdb is for programs that bohrbug starts"),
        (("--history", "9"), "--history is for programs that bohrbug starts"),
        (("service.py",), "give no program"),
        (("--window", "0"), "window must be at least 1"),
    ):
        done = folder.bohrbug("live", "--attach", str(os.getpid()), *options)
        assert done.code == 2
        assert expected in done.err
