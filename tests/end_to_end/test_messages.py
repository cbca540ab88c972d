"""Recording and replaying messages, as it is typed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bohrbug.runtime.channels.reading import read_log

from .conftest import Ended, Folder

ORDER = """
import queue, threading

def main():
    work, results = queue.Queue(), queue.Queue()

    def produce(name):
        for number in range(150):
            work.put((name, number))

    def consume():
        while (item := work.get()) is not None:
            results.put(item)

    producers = [threading.Thread(target=produce, args=(n,)) for n in range(4)]
    consumers = [threading.Thread(target=consume) for _ in range(4)]
    for thread in producers + consumers:
        thread.start()
    for thread in producers:
        thread.join()
    for _ in consumers:
        work.put(None)
    for thread in consumers:
        thread.join()
    print([results.get() for _ in range(600)])

import sys
sys.setswitchinterval(1e-5)
main()
"""

PROCESSES = """
import multiprocessing, sys

def produce(name, work):
    for number in range(20):
        work.put((name, number))

def consume(work, results):
    while (item := work.get()) is not None:
        results.put(item)

def talk(end, name):
    end.send(name)
    end.close()

def main(method):
    context = multiprocessing.get_context(method)
    work, results = context.Queue(), context.SimpleQueue()
    producers = [context.Process(target=produce, args=(n, work)) for n in range(2)]
    consumers = [context.Process(target=consume, args=(work, results)) for _ in range(2)]
    for process in producers + consumers:
        process.start()
    for process in producers:
        process.join()
    for _ in consumers:
        work.put(None)
    got = [results.get() for _ in range(40)]
    for process in consumers:
        process.join()
    ends = [context.Pipe(duplex=False) for _ in range(3)]
    talkers = [
        context.Process(target=talk, args=(sender, n)) for n, (_, sender) in enumerate(ends)
    ]
    for process in talkers:
        process.start()
    for _, sender in ends:
        sender.close()
    waiting = [receiver for receiver, _ in ends]
    while waiting:
        for ready in multiprocessing.connection.wait(waiting):
            got.append(ready.recv())
            waiting.remove(ready)
    for process in talkers:
        process.join()
    print(got)

if __name__ == "__main__":
    import multiprocessing.connection
    main(sys.argv[1] if len(sys.argv) > 1 else None)
"""

FLAKY = """
import queue, random, threading, time

inbox = queue.Queue()

def tell(*words):
    time.sleep(random.random() * 0.01)
    for word in words:
        inbox.put(word)

threads = [
    threading.Thread(target=tell, args=("noise", "pay")),
    threading.Thread(target=tell, args=("other", "refund")),
]
for thread in threads:
    thread.start()
paid = False
for _ in range(4):
    word = inbox.get()
    paid = paid or word == "pay"
    assert paid or word != "refund", "refunded before paid"
for thread in threads:
    thread.join()
"""


def python(folder: Folder, *arguments: str) -> list[str]:
    return [folder.command()[0], *arguments]


def record(folder: Folder, *command: str, options: tuple[str, ...] = ()) -> Ended:
    return folder.bohrbug("record", "-o", "log", *options, "--", *python(folder, *command))


def replay(folder: Folder, *command: str, options: tuple[str, ...] = ()) -> Ended:
    return folder.bohrbug("replay-messages", "log", *options, "--", *python(folder, *command))


def test_threads(folder: Folder) -> None:
    folder.write("order.py", ORDER)
    recorded = record(folder, "order.py")
    assert recorded.code == 0, recorded.err
    assert "2,408 events" in recorded.err
    for _ in range(3):
        replayed = replay(folder, "order.py")
        assert replayed.code == 0, replayed.err
        assert replayed.out == recorded.out


@pytest.mark.skipif(sys.version_info < (3, 14), reason="no interpreters in executors")
def test_interpreters_of_an_executor_take_no_part_but_its_threads_do(folder: Folder) -> None:
    folder.write(
        "interpreters.py",
        """
        import random, time
        from concurrent import interpreters
        from concurrent.futures import InterpreterPoolExecutor, as_completed

        def work(number):
            import queue
            inner = queue.Queue()
            inner.put(number)
            time.sleep(random.random() * 0.02)
            return inner.get()

        if __name__ == "__main__":
            interpreters.create().call(work, 0)
            with InterpreterPoolExecutor(3) as pool:
                futures = [pool.submit(work, number) for number in range(9)]
                print([future.result() for future in as_completed(futures)])
        """,
    )
    recorded = record(folder, "interpreters.py")
    assert recorded.code == 0, recorded.err
    log = read_log(folder.path / "log")
    assert set(log.processes) == {"0"}
    assert set(log.tasks) == {"0", "0.1", "0.2", "0.3"}
    for _ in range(3):
        replayed = replay(folder, "interpreters.py")
        assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


@pytest.mark.slow
@pytest.mark.parametrize("method", [None, "fork", "spawn", "forkserver"])
def test_processes(folder: Folder, method: str | None) -> None:
    """Without a method it is Python's default: the fork server since Python 3.14, on Linux."""
    folder.write("processes.py", PROCESSES)
    command = ("processes.py", *([method] if method else []))
    recorded = record(folder, *command)
    assert recorded.code == 0, recorded.err
    processes = read_log(folder.path / "log").processes
    assert set(processes) == {"0", *(f"0.{n}" for n in range(1, 8))}
    for _ in range(2):
        replayed = replay(folder, *command)
        assert replayed.code == 0, replayed.err
        assert replayed.out == recorded.out


IN_TURN = """
import multiprocessing, random, sys, time

def work(name, turn):
    for _ in range(8):
        turn.put(name)
        for word in ("enters", "leaves"):
            with open("order", "a") as file:
                print(name, word, file=file)
            time.sleep(random.random() * 0.002)
        turn.get()

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    turn = getattr(context, sys.argv[2])(1)
    processes = [context.Process(target=work, args=(name, turn)) for name in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
"""


@pytest.mark.parametrize("pure", ["", "1"])
@pytest.mark.parametrize(
    ("method", "kind"), [("fork", "Queue"), ("fork", "JoinableQueue"), ("spawn", "Queue")]
)
def test_a_bounded_queue_of_processes_holds_as_many_as_when_it_was_recorded(
    folder: Folder, method: str, kind: str, pure: str
) -> None:
    """A queue with space for one is a lock."""
    folder.write("turn.py", IN_TURN)
    order = folder.path / "order"
    folder.environment["BOHRBUG_PURE_PYTHON"] = pure
    assert record(folder, "turn.py", method, kind).code == 0
    recorded = order.read_text().splitlines()
    assert [line.replace("enters", "leaves") for line in recorded[::2]] == recorded[1::2]
    order.unlink()
    assert replay(folder, "turn.py", method, kind).code == 0
    assert order.read_text().splitlines() == recorded


def test_what_can_not_be_pickled_leaves_its_space_in_a_bounded_queue(folder: Folder) -> None:
    folder.write(
        "unpicklable.py",
        """
        import multiprocessing
        work = multiprocessing.Queue(1)
        work.put(lambda: None)
        for number in range(3):
            work.put(number)
            print(work.get())
        """,
    )
    recorded = record(folder, "unpicklable.py")
    assert recorded.code == 0, recorded.err
    replayed = replay(folder, "unpicklable.py", options=("--patience", "2"))
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


def test_subprocesses_take_part_with_the_id_of_a_child(folder: Folder) -> None:
    folder.write("child.py", "import queue\nq = queue.Queue()\nq.put(1)\nq.get()\n")
    folder.write(
        "parent.py",
        """
        import subprocess, sys
        subprocess.run([sys.executable, "child.py"], check=True)
        subprocess.run([sys.executable, "child.py"], check=True, env={})
        """,
    )
    recorded = record(folder, "parent.py")
    assert recorded.code == 0, recorded.err
    log = read_log(folder.path / "log")
    assert set(log.processes) == {"0", "0.1", "0.2"}
    assert {task: len(events) for task, events in log.tasks.items()} == {"0.1": 2, "0.2": 2}
    assert replay(folder, "parent.py").code == 0


def test_a_sitecustomize_of_the_user_is_imported(folder: Folder) -> None:
    folder.write("sitecustomize.py", "print('mine')\n")
    folder.write("script.py", "import sitecustomize\nprint(sitecustomize.__file__)\n")
    path = f"{folder.path}{os.pathsep}{folder.environment['PYTHONPATH']}"
    done = folder.run(
        folder.command("record", "-q", "--", *python(folder, "script.py")), PYTHONPATH=path
    )
    assert done.out.splitlines()[-2:] == ["mine", str(folder.path / "sitecustomize.py")]


def test_exit_codes_are_those_of_the_command(folder: Folder) -> None:
    assert record(folder, "-c", "import sys; sys.exit(5)").code == 5
    killed = record(folder, "-c", "import os; os.kill(os.getpid(), 9)")
    assert killed.code == 128 + 9
    assert "signal SIGKILL" in killed.err
    assert folder.bohrbug("record", "--", "no-such-program").code == 2
    folder.write("x.txt", "no log")
    assert folder.bohrbug("record", "-o", "x.txt/log", "--", "true").code == 2
    assert folder.bohrbug("replay-messages", "x.txt", "--", "true").code == 2
    assert folder.bohrbug("messages", "x.txt").code == 2


def test_a_command_without_python_is_told_of(folder: Folder) -> None:
    done = folder.bohrbug("record", "-o", "log", "--", "true")
    assert done.code == 0
    assert "no Python process of the command took part" in done.err


def test_kill_9_leaves_what_was_recorded(folder: Folder) -> None:
    folder.write(
        "endless.py",
        """
        import queue
        channel = queue.Queue()
        for number in range(5_000):
            channel.put(number)
        print("ready", flush=True)
        channel2 = queue.Queue()
        channel2.get()
        """,
    )
    command = folder.command("record", "-o", "log", "--", *python(folder, "endless.py"))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=folder.path, env=folder.environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        log = folder.path / "log"
        deadline = time.monotonic() + 60
        while read_log(log).events < 5_000 and time.monotonic() < deadline:
            time.sleep(0.02)
        (child,) = _children(process.pid)
        os.kill(child, signal.SIGKILL)
        process.wait()
    found = read_log(log)
    assert found.events == 5_000
    assert found.damage is None


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("catches", [False, True])
def test_an_interrupt_ends_a_replay_as_an_interrupt(folder: Folder, catches: bool) -> None:
    folder.write(
        "slow.py",
        f"""
        import os, queue, threading, time

        def put():
            for number in range(10):
                time.sleep(60 * (number == 3 and "SLOW" in os.environ))
                channel.put(number)

        channel = queue.Queue()
        threading.Thread(target=put, daemon=True).start()
        try:
            for number in range(10):
                print(channel.get(), flush=True)
        except {"KeyboardInterrupt" if catches else "ValueError"}:
            pass
        """,
    )
    assert record(folder, "slow.py").code == 0
    command = folder.command(
        "replay-messages", "--times", "3", "log", "--", *python(folder, "slow.py")
    )
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder.path,
        env={**folder.environment, "SLOW": "1"},
        start_new_session=True,
        text=True,
    ) as process:
        assert process.stdout is not None
        heard = [process.stdout.readline() for _ in range(3)]
        if "" not in heard:
            os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert heard == ["0\n", "1\n", "2\n"], errors
    assert process.returncode == 130, errors
    # The fourth receive may have begun to wait.
    assert re.search("interrupted after [67] of 20 events", errors)
    assert "desynchronised" not in errors


def test_strict_stops_and_keep_going_goes_on(folder: Folder) -> None:
    folder.write("script.py", "import queue\nq = queue.Queue()\nq.put(1)\nprint(q.get())\n")
    assert record(folder, "script.py").code == 0
    folder.write("script.py", "import queue\nq = queue.Queue()\nq.put(1)\nprint(q.get(False))\n")
    strict = replay(folder, "script.py")
    assert strict.code == 3
    assert strict.out == ""
    assert "task 0, event 2 at script.py:4" in strict.err
    assert "the log says   recv on queue.Queue 0/0" in strict.err
    assert "the program    came to try_recv on queue.Queue 0/0" in strict.err
    going = replay(folder, "script.py", options=("--keep-going",))
    assert going.code == 0
    assert going.out == "1\n"
    assert "desynchronised" in going.err


def test_a_strict_replay_that_stops_leaves_no_process(folder: Folder) -> None:
    folder.write(
        "parent.py",
        """
        import multiprocessing, os, queue, subprocess, sys

        def child(jobs):
            subprocess.Popen([sys.executable, "grandchild.py"])
            print("pid", os.getpid(), flush=True)
            jobs.get()

        if __name__ == "__main__":
            jobs = multiprocessing.get_context("spawn").Queue()
            process = multiprocessing.get_context("spawn").Process(target=child, args=(jobs,))
            process.start()
            mine = queue.Queue()
            mine.put(1)
            mine.get(block="DIFFERS" not in os.environ)
            jobs.put(1)
            process.join()
        """,
    )
    folder.write(
        "grandchild.py",
        """
        import os, time
        print("pid", os.getpid(), flush=True)
        time.sleep(600 * ("DIFFERS" in os.environ))
        """,
    )
    assert record(folder, "parent.py").code == 0
    replayed = folder.run(
        folder.command("replay-messages", "log", "--", *python(folder, "parent.py")), DIFFERS="1"
    )
    assert replayed.code == 3, replayed.err
    for line in replayed.out.splitlines():
        number = int(line.split()[1])
        # SIGTERM was sent before the command came back; how soon it is heard is up to the machine.
        deadline = time.monotonic() + 60
        while _runs(number) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not _runs(number)


def _runs(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_replay_that_would_wait_for_ever_is_ended(folder: Folder) -> None:
    folder.write(
        "script.py",
        """
        import os, queue, threading
        q = queue.Queue()
        if not os.environ.get("LAZY"):
            threading.Thread(target=q.put, args=(1,)).start()
        else:
            threading.Thread(target=q.put, args=(2,), daemon=True)
            q.put(2)
        print(q.get())
        """,
    )
    assert record(folder, "script.py").code == 0
    lazy = folder.run(
        folder.command(
            "replay-messages", "log", "--patience", "0.5", "--", *python(folder, "script.py")
        ),
        LAZY="1",
    )
    assert lazy.code == 3, lazy.err


def test_record_until_and_the_exchange_that_decides(folder: Folder) -> None:
    folder.write("flaky.py", FLAKY)
    flaky = python(folder, "flaky.py")
    passed = folder.bohrbug("record", "-o", "pass", "--until", "pass", "--", *flaky)
    failed = folder.bohrbug("record", "-o", "fail", "--until", "fail", "--", *flaky)
    assert (passed.code, failed.code) == (0, 1)
    assert folder.bohrbug("replay-messages", "pass", "--times", "5", "--", *flaky).code == 0
    assert folder.bohrbug("replay-messages", "fail", "--times", "5", "--", *flaky).code == 1
    assert folder.bohrbug("messages", "diff", "pass", "pass").code == 0
    parted = folder.bohrbug("messages", "diff", "pass", "fail")
    assert parted.code == 1
    assert "The first event that differs" in parted.out
    decided = folder.bohrbug("messages", "diff", "pass", "fail", "--", *flaky)
    assert decided.code == 1, decided.err
    assert "✗ fails   recv on queue.Queue 0/0: received #2 of 0.2" in decided.out


def test_until_gives_up(folder: Folder) -> None:
    done = record(folder, "-c", "pass", options=("--until", "fail", "--max", "2"))
    assert done.code == 3
    assert "did not fail in 2 runs" in done.err


def test_messages_shows_and_saves(folder: Folder) -> None:
    folder.write("order.py", ORDER)
    record(folder, "order.py")
    shown = folder.bohrbug(
        "messages", "log", "--chart", "--mermaid", "chart.mmd", "--trace-events", "chart.json"
    )
    assert shown.code == 0, shown.err
    assert "queue.Queue 0/0" in shown.out
    assert (folder.path / "chart.mmd").read_text().startswith("sequenceDiagram")
    assert json.loads((folder.path / "chart.json").read_text())["traceEvents"]


def test_pytest_records_and_replays_each_test(folder: Folder) -> None:
    folder.write(
        "test_flaky.py",
        """
        import random, time
        from concurrent.futures import ThreadPoolExecutor, as_completed

        def work(number):
            time.sleep(random.random() * 0.005)
            return number

        def test_order():
            with ThreadPoolExecutor(2) as pool:
                futures = [pool.submit(work, number) for number in range(2)]
                assert [f.result() for f in as_completed(futures)] == [0, 1]

        def test_quiet():
            pass
        """,
    )
    for _ in range(60):
        done = folder.pytest("-q", "--bohrbug-record", "logs", "--bohrbug-record-only", "pass")
        if done.code == 0:
            break
    assert done.code == 0
    assert len(list((folder.path / "logs").iterdir())) == 2
    for _ in range(4):
        replayed = folder.pytest("-q", "--bohrbug-replay-messages", "logs")
        assert replayed.code == 0, replayed.out
        assert "2 tests replayed, 0 desynchronised, 0 without a log" in replayed.out


def test_pytest_reports_a_desynchronisation(folder: Folder) -> None:
    test = "import queue\n\ndef test_it():\n    q = queue.Queue()\n    q.put(1)\n    q.{}\n"
    folder.write("test_it.py", test.format("get()"))
    assert folder.pytest("-q", "--bohrbug-record", "logs").code == 0
    folder.write("test_it.py", test.format("get_nowait()"))
    strict = folder.pytest("-q", "--bohrbug-replay-messages", "logs")
    assert strict.code == 1
    assert "the replay is desynchronised" in strict.out
    going = folder.pytest(
        "-q", "--bohrbug-replay-messages", "logs", "--bohrbug-messages-keep-going"
    )
    assert going.code == 0
    assert "1 test replayed, 1 desynchronised" in going.out
    both = folder.pytest("--bohrbug", "--bohrbug-record", "logs")
    assert both.code == 4


EDITED = """
import {module} as module, os, {threading} as threading

def send(name, work):
    for number in range(20):
        work.put((name, number))
        if name == 1 and number == 10 and os.environ.get("EDIT") == "less":
            break

def receive(work, results):
    while (item := work.get()) is not None:
        results.put(item)
    results.put(None)

def main():
    work, results = module.Queue(), module.Queue()
    senders = [threading.{start}(target=send, args=(n, work)) for n in range(3)]
    receivers = [threading.{start}(target=receive, args=(work, results)) for _ in range(2)]
    for one in senders + receivers:
        one.start()
    for one in senders:
        one.join()
    for _ in receivers:
        work.put(None)
    got = []
    while got.count(None) < 2:
        got.append(results.get())
    for one in receivers:
        one.join()
    print(got)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_happens_in_a_replay_is_recorded(folder: Folder, processes: bool) -> None:
    names = {"module": "queue", "threading": "threading", "start": "Thread"}
    if processes:
        names = dict.fromkeys(("module", "threading"), "multiprocessing") | {"start": "Process"}
    folder.write("edited.py", EDITED.format(**names))
    recorded = record(folder, "edited.py")
    assert recorded.code == 0, recorded.err
    options = ("--keep-going", "--patience", "4", "--record-alternate", "other", "log")
    script = python(folder, "edited.py")
    replayed = folder.bohrbug("replay-messages", *options, "--", *script, EDIT="less")
    assert replayed.code == 0, replayed.err
    assert replayed.out.count("(") == 51
    again = folder.bohrbug("replay-messages", "other", "--", *script, EDIT="less")
    assert (again.code, again.out) == (0, replayed.out), again.err
    assert folder.bohrbug("messages", "diff", "log", "other").code == 1
