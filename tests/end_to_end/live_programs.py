"""Programs that run live, and what they leave."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from tests.end_to_end.conftest import SECONDS, Folder

POOL_CLASS = """
    import threading

    class Pool:
        def __init__(self):
            self.lock = threading.Lock()
            self.free = [0, 1, 2]
            self.used = set()

        def get(self):
            with self.lock:
                if not self.free:
                    return None
                connection = self.free[-1]
            with self.lock:
                if connection in self.free:
                    self.free.remove(connection)
                assert connection not in self.used, "handed out twice"
                self.used.add(connection)
            return connection

        def put(self, connection):
            with self.lock:
                self.used.discard(connection)
                self.free.append(connection)
"""
"""Between two critical sections of ``get`` another thread may take the same connection."""

POOL = f"""{POOL_CLASS}
    def use(pool, times):
        for _ in range(times):
            connection = pool.get()
            if connection is not None:
                pool.put(connection)

    def run(times):
        pool = Pool()
        threads = [threading.Thread(target=use, args=(pool, times)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
"""
"""Three threads that share one."""

FINE = """
    import os, sys, threading

    lock = threading.Lock()
    total = 0
    log = open("log.txt", "w")

    def work(number):
        global total
        for count in range(400):
            with lock:
                total += 1
                if total % 100 == 0:
                    print("done", total)
                    log.write(f"{total}\\n")
                    log.flush()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(1, b"raw\\n")
    print("last", file=sys.stderr)
    sys.exit(7)
"""


def left(folder: Folder) -> list[str]:
    """The processes of a folder that are still there."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                if (entry / "cwd").resolve() == folder.path.resolve():
                    found.append((entry / "cmdline").read_text())
            except OSError:
                continue
    return found


def interrupted(folder: Folder, *words: str) -> tuple[int, str, str]:
    """Run a live command until its program says that it is ready, and press Ctrl-C.

    Parameters:
        folder: where it runs.
        words: the options and the program.

    Returns:
        The exit code, what was printed after that, and the errors.
    """
    process = subprocess.Popen(
        folder.command("live", *words),
        cwd=folder.path,
        env=folder.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    # It may have said so before it waits.
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=SECONDS)
    return process.returncode, output, errors
