"""What is outside of a program that runs live: files, children, clients."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import pytest

from tests.end_to_end.conftest import SECONDS, Folder
from tests.end_to_end.live_programs import POOL, left

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="live rounds need Linux")


def test_files_and_children_are_the_programs_own(folder: Folder) -> None:
    (folder.path / "lines.txt").write_text("".join(f"{number}\n" for number in range(900)))
    folder.write(
        "reads.py",
        """
        import os, signal, threading

        told = []
        signal.signal(signal.SIGCHLD, lambda number, frame: told.append(number))
        lock = threading.Lock()
        source = open("lines.txt", "rb", buffering=0)
        seen = []

        def work():
            for _ in range(300):
                with lock:
                    line = b""
                    while not line.endswith(b"\\n"):
                        line += source.read(1)
                    seen.append(int(line))
                with lock:
                    pass

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seen) == list(range(900))
        assert told == []
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("no children", sorted(os.listdir("/proc/self/fd"), key=int)[-1])
        """,
    )
    native = folder.run([sys.executable, "reads.py"])
    done = folder.bohrbug("live", "--budget", "90", "reads.py")
    assert done.code == 0, done.err
    assert done.out.startswith("no children")
    assert native.out.startswith("no children")
    assert "ended where they would have been seen outside" in done.err


def test_a_copy_finds_that_it_is_the_process_that_was_copied(folder: Folder) -> None:
    folder.write(
        "process.py",
        """
        import os, threading
        from os import getpid

        lock = threading.Lock()
        process = os.getpid()

        def work():
            for _ in range(300):
                with lock:
                    assert os.getpid() == getpid() == process

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """,
    )
    done = folder.bohrbug("live", "--budget", "90", "process.py")
    assert done.code == 0, done.err
    assert "failed" not in done.err


SERVER = """
    import socketserver, threading

    lock = threading.Lock()
    answered = 0

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            global answered
            for line in self.rfile:
                with lock:
                    answered += 1
                if line == b"stop\\n":
                    threading.Thread(target=self.server.shutdown).start()
                    return
                self.wfile.write(b"you said " + line)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
    server.server_close()
    print("answered", answered)
"""


def test_clients_of_a_server_see_no_fragment(folder: Folder) -> None:
    folder.write("server.py", SERVER)
    command = folder.command("live", "--budget", "80", "server.py")
    with subprocess.Popen(
        command,
        cwd=folder.path,
        env=folder.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        wrong: list[bytes] = []

        def ask(number: int) -> None:
            with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
                file = connection.makefile("rwb")
                for count in range(60):
                    line = b"%d %d\n" % (number, count)
                    file.write(line)
                    file.flush()
                    answer = file.readline()
                    if answer != b"you said " + line:
                        wrong.append(answer)
                connection.shutdown(socket.SHUT_WR)
                wrong.extend(file.readlines())

        clients = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
            connection.sendall(b"stop\n")
        out, err = process.communicate(timeout=SECONDS)
    assert wrong == []
    assert process.returncode == 0, err
    assert out == "answered 241\n"
    assert "ended where they would have been seen outside" in err
    assert left(folder) == []


WAITED_FOR = """
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    child.communicate(b"go on\\n")
"""

HAS_ENDED = """
    child = subprocess.Popen([sys.executable, "-c", ""])
    while open(f"/proc/{child.pid}/stat").read().split()[2] != "Z":
        pass
    child.wait()
"""


@pytest.mark.parametrize("child", [WAITED_FOR, HAS_ENDED], ids=["waited for", "has ended"])
def test_a_failure_of_what_talks_to_the_outside_says_that_a_replay_may_differ(
    folder: Folder, child: str
) -> None:
    folder.write("talks.py", f"{POOL}\n    import subprocess, sys{child}    run(2000)\n")
    done = folder.bohrbug("live", "talks.py")
    assert done.code == 1
    assert "A replay may differ: it has met what is outside" in done.err
