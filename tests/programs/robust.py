"""Programs that must neither break nor hang the tool; each passes natively."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import gc
import importlib
import itertools
import logging
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from urllib.request import urlopen

import pytest

from tests.programs.together import together


def prints() -> None:
    together(*(lambda n=n: print("thread", n, flush=True) for n in range(3)))


def forks() -> None:
    def child() -> None:
        pid = os.fork()
        if pid == 0:
            with threading.Lock():
                thread = threading.Thread(target=time.sleep, args=(0.001,))
                thread.start()
                thread.join()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7

    together(child, lambda: time.sleep(0.01))


def forks_and_falls_off_the_end() -> None:
    statuses = []

    def child() -> None:
        pid = os.fork()
        if pid:
            statuses.append(os.waitpid(pid, 0)[1])

    together(child)
    assert statuses == [0]


def forks_in_the_root() -> None:
    pid = os.fork()
    if pid:
        assert os.waitpid(pid, 0)[1] == 0


def starts_subprocesses() -> None:
    def run() -> None:
        code = "import sys; sys.stdout.write(sys.stdin.read() * 2)"
        done = subprocess.run(
            [sys.executable, "-S", "-c", code],
            input="ab",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stdout == "abab"

    together(run, run)


def talks_to_a_subprocess() -> None:
    received = []
    with subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdout = process.stdout
        reader = threading.Thread(target=lambda: received.append(stdout.read()))
        reader.start()
        process.stdin.write("over there")
        process.stdin.close()
        reader.join()
    assert received == ["over there"]
    assert process.returncode == 0


def polls_a_subprocess() -> None:
    process = subprocess.Popen(["sleep", "0.02"])
    while process.poll() is None:
        time.sleep(0.01)
    assert process.returncode == 0
    child = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "0.02")
    looks = 0
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        looks += 1
        time.sleep(0.01)
    assert looks < 100, "virtual time runs ahead of the child"


def uses_the_shell() -> None:
    assert subprocess.check_output(["echo", "x"]) == b"x\n"
    assert os.waitstatus_to_exitcode(os.system("exit 3")) == 3
    with os.popen("echo hello") as stream:
        assert stream.read() == "hello\n"


def loses_patience_with_a_subprocess() -> None:
    process = subprocess.Popen(["sleep", "60"])
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL


def _send_five(connection: object) -> None:
    connection.send(5)  # type: ignore[attr-defined]


def uses_multiprocessing() -> None:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_send_five, args=(there,))
    process.start()
    assert here.recv() == 5
    process.join()
    assert process.exitcode == 0
    here.close()
    there.close()


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def logs() -> None:
    logger = logging.getLogger("bohrbug.tests.robustness")
    logger.propagate = False
    handler = _Lines()
    logger.addHandler(handler)
    try:
        together(*(lambda n=n: logger.warning("from %d", n) for n in range(3)))
    finally:
        logger.removeHandler(handler)
    assert sorted(handler.lines) == ["from 0", "from 1", "from 2"]


def catches_warnings() -> None:
    # Not safe with threads, in real Python neither: only that nothing breaks.
    before = warnings.filters[:]

    def warn() -> None:
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            # It is an error by the filters of whoever tests, should the other have put them back.
            with suppress(UserWarning):
                warnings.warn("careful", stacklevel=1)

    try:
        together(warn, warn)
    finally:
        warnings.filters[:] = before  # type: ignore[index]


_variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)


def uses_context_variables() -> None:
    seen = []

    def change(value: int) -> None:
        _variable.set(value)
        time.sleep(0)
        seen.append(_variable.get() == value)

    together(*(lambda n=n: change(n) for n in range(1, 4)))
    assert seen == [True] * 3
    assert _variable.get() == 0


def runs_asyncio_in_a_thread() -> None:
    results = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        event = asyncio.Event()
        thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(event.set))
        thread.start()
        await event.wait()
        await asyncio.sleep(1_000)
        results.append(await loop.run_in_executor(None, lambda: 42))
        thread.join()

    together(lambda: asyncio.run(main()))
    assert results == [42]


def runs_two_event_loops() -> None:
    async def main() -> int:
        first, second = await asyncio.gather(
            asyncio.sleep(100, result=1), asyncio.sleep(50, result=2)
        )
        return int(first + second)

    results: list[int] = []
    together(*[lambda: results.append(asyncio.run(main()))] * 2)
    assert results == [3, 3]


def serves_with_asyncio() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello\n")
        assert await reader.read() == b"HELLO\n"
        writer.close()
        await writer.wait_closed()
        server.close()

    together(lambda: asyncio.run(main()))


def exits_in_a_thread() -> None:
    together(lambda: sys.exit("no failure, says Thread"), lambda: _thread.exit())


def recurses_too_deep() -> None:
    def recurse(depth: int) -> int:
        return recurse(depth + 1) + 1

    def survive() -> None:
        with pytest.raises(RecursionError):
            recurse(0)

    together(survive, survive)


def starts_fifty_threads() -> None:
    lock = threading.Lock()
    total = [0]

    def add() -> None:
        with lock:
            total[0] += 1

    together(*[add] * 50)
    assert total == [50]


def shares_a_generator() -> None:
    numbers = itertools.count()
    lock = threading.Lock()
    taken = []

    def generate() -> Iterator[int]:
        while True:
            yield next(numbers)

    shared = generate()

    def take() -> None:
        for _ in range(3):
            with lock:
                taken.append(next(shared))

    together(take, take)
    assert sorted(taken) == list(range(6))


class _Node:
    pass


def has_weakref_callbacks() -> None:
    lock = threading.Lock()
    called = []

    def note(reference: object) -> None:
        with lock:
            called.append(reference)

    def drop() -> None:
        node = _Node()
        reference = weakref.ref(node, note)
        del node
        assert reference() is None

    together(drop, drop)
    assert len(called) == 2


class _Closing:
    closed = 0
    lock = threading.Lock()

    def __del__(self) -> None:
        with _Closing.lock:
            _Closing.closed += 1


def has_finalizers_with_locks() -> None:
    _Closing.closed = 0

    def drop() -> None:
        thing = _Closing()
        del thing

    together(drop, drop)
    assert _Closing.closed == 2


def has_finalizers_run_by_the_collector() -> None:
    _Closing.closed = 0

    def drop() -> None:
        thing = _Closing()
        thing.itself = thing  # type: ignore[attr-defined]
        del thing
        gc.collect()

    together(drop, drop)
    # A collection that begins while another one runs a finalizer does nothing.
    assert _Closing.closed >= 1


def raises_exceptions_in_cycles() -> None:
    def fail() -> None:
        try:
            raise ValueError("caught")
        except ValueError as error:
            first = error
        second = KeyError("also")
        first.__cause__, second.__cause__ = second, first
        try:
            raise first
        except ValueError as error:
            assert error is first

    together(fail, fail)


def uses_temporary_files() -> None:
    def write() -> None:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as file:
            file.write("text")
            file.seek(0)
            Path(folder, "name").write_text(file.read())
            assert Path(folder, "name").read_text() == "text"

    together(write, write)


def imports_the_same_module() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "fresh_module_of_robustness.py").write_text(
            "import threading\nlock = threading.Lock()\nwith lock:\n    value = 1\n"
        )
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        found = []
        try:
            together(
                *[lambda: found.append(importlib.import_module("fresh_module_of_robustness"))] * 2
            )
        finally:
            sys.path.remove(folder)
            sys.modules.pop("fresh_module_of_robustness", None)
        assert found[0] is found[1]
        assert found[0].value == 1


def has_its_own_nondeterminism() -> None:
    lock = threading.Lock()
    nodes = {_Node() for _ in range(5)}
    order = []

    def walk() -> None:
        for node in nodes:
            if id(node) >> 4 & 1 or random.SystemRandom().random() < 0.5:
                with lock:
                    order.append(node)

    together(walk, walk)


def talks_through_a_socket_pair() -> None:
    left, right = socket.socketpair()
    received = []

    def send() -> None:
        for number in range(3):
            left.sendall(b"%d" % number)
        left.close()

    def receive() -> None:
        while data := right.recv(1):
            received.append(data)

    together(send, receive)
    right.close()
    assert b"".join(received) == b"012"


def serves_http() -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"found")

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with urlopen(f"http://127.0.0.1:{server.server_port}/", timeout=10) as answer:
            assert answer.read() == b"found"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def sets_an_alarm() -> None:
    handled = []

    def handle(number: int, frame: FrameType | None) -> None:
        handled.append(threading.current_thread() is threading.main_thread())

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        thread = threading.Thread(target=time.sleep, args=(0.1,))
        thread.start()
        thread.join()
        assert handled == [True]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_interrupted_by_an_alarm() -> None:
    class AlarmError(Exception):
        pass

    def handle(number: int, frame: FrameType | None) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGALRM, handle)
    lock = threading.Lock()
    lock.acquire()
    try:
        with pytest.raises(AlarmError):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            lock.acquire()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


PASSING = (
    prints,
    forks,
    forks_and_falls_off_the_end,
    forks_in_the_root,
    starts_subprocesses,
    talks_to_a_subprocess,
    polls_a_subprocess,
    uses_the_shell,
    loses_patience_with_a_subprocess,
    uses_multiprocessing,
    logs,
    catches_warnings,
    uses_context_variables,
    runs_asyncio_in_a_thread,
    runs_two_event_loops,
    serves_with_asyncio,
    exits_in_a_thread,
    recurses_too_deep,
    starts_fifty_threads,
    shares_a_generator,
    has_weakref_callbacks,
    has_finalizers_with_locks,
    has_finalizers_run_by_the_collector,
    raises_exceptions_in_cycles,
    uses_temporary_files,
    imports_the_same_module,
    has_its_own_nondeterminism,
    talks_through_a_socket_pair,
    serves_http,
    sets_an_alarm,
    is_interrupted_by_an_alarm,
)
