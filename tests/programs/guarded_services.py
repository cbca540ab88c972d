"""Programs around archives, messages, servers and sums, each with a lock or a stand-in for one.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import calendar
import email.message
import gzip
import html.parser
import io
import logging
import logging.handlers
import multiprocessing
import multiprocessing.shared_memory
import os
import queue
import random
import socket
import socketserver
import threading
import types
import zipfile
from collections.abc import Callable

from tests.programs.guarding import Guard
from tests.programs.together import together


def sum_of_the_accounts(guard: Guard) -> None:
    """What is on its way from one account to the other is in neither."""
    accounts = {"a": 1, "b": 0}
    sums: list[int] = []

    def transfer() -> None:
        with guard:
            accounts["a"] -= 1
            accounts["b"] += 1

    def add_up() -> None:
        with guard:
            total = sum(accounts.values())
        sums.append(total)

    together(transfer, add_up)
    assert sums == [1]


def text_joined_from_a_list(guard: Guard) -> None:
    """One word is new, the other one is not."""
    words = ["a", "a"]
    texts: list[str] = []

    def join() -> None:
        with guard:
            text = "".join(word.upper() for word in words)
        texts.append(text)

    def change() -> None:
        with guard:
            words[0] = "b"
            words[1] = "b"

    together(join, change)
    assert texts[0] in ("AA", "BB")


def members_of_an_archive(guard: Guard) -> None:
    """ValueError: another member is open for writing."""
    with zipfile.ZipFile(io.BytesIO(), "w") as archive:

        def work(name: str) -> None:
            with guard, archive.open(zipfile.ZipInfo(name), "w") as member:
                member.write(b"x")

        together(lambda: work("a"), lambda: work("b"))
        assert sorted(archive.namelist()) == ["a", "b"]


def bytes_in_a_compressed_file(guard: Guard) -> None:
    """Bytes of the other task come in between."""
    stream = io.BytesIO()

    with gzip.GzipFile(fileobj=stream, mode="wb") as file:

        def work(byte: bytes) -> None:
            with guard:
                file.write(byte)
                file.write(byte)

        together(lambda: work(b"a"), lambda: work(b"b"))
    assert gzip.decompress(stream.getvalue()) in (b"aabb", b"bbaa")


def header_of_a_message(guard: Guard) -> None:
    """The message has two of it."""
    message = email.message.Message()
    message["To"] = "nobody"

    def work(to: str) -> None:
        with guard:
            del message["To"]
            message["To"] = to

    together(lambda: work("a"), lambda: work("b"))
    assert len(message.get_all("To", [])) == 1


def parser_that_both_feed(guard: Guard) -> None:
    """Half a tag is followed by half another one."""

    class Parser(html.parser.HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.tags: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.tags.append(tag)

    parser = Parser()

    def work(tag: str) -> None:
        with guard:
            parser.feed(f"<{tag}")
            parser.feed(">")

    together(lambda: work("a"), lambda: work("b"))
    assert sorted(parser.tags) == ["a", "b"]


def requests_to_a_server(guard: Guard) -> None:
    """A request is not counted: each has a thread of its own."""
    state = types.SimpleNamespace(n=0)

    class Count(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with guard:
                state.n += 1

    class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
        daemon_threads = False

    with Server(("127.0.0.1", 0), Count) as server:
        clients = [socket.create_connection(server.server_address) for _ in range(2)]
        for _ in clients:
            server.handle_request()
        for client in clients:
            client.close()
    assert state.n == 2


def numbers_drawn_again(guard: Guard) -> None:
    """The other task has drawn in between, and the number is another one."""
    draws = random.Random(1)
    pairs: list[tuple[float, float]] = []

    def work() -> None:
        with guard:
            state = draws.getstate()
            first = draws.random()
            draws.setstate(state)
            pair = first, draws.random()
        pairs.append(pair)

    together(work, work)
    assert all(first == second for first, second in pairs)


def bytes_in_a_pipe(guard: Guard) -> None:
    """Bytes of the other task come in between."""
    read, write = os.pipe()

    def work(byte: bytes) -> None:
        with guard:
            os.write(write, byte)
            os.write(write, byte)

    try:
        together(lambda: work(b"a"), lambda: work(b"b"))
        assert os.read(read, 4) in (b"aabb", b"bbaa")
    finally:
        os.close(read)
        os.close(write)


def first_day_of_the_week(guard: Guard) -> None:
    """The week begins as the other task has it."""
    before = calendar.firstweekday()

    def work(day: int) -> None:
        with guard:
            calendar.setfirstweekday(day)
            assert calendar.firstweekday() == day

    try:
        together(lambda: work(0), lambda: work(6))
    finally:
        calendar.setfirstweekday(before)


def locals_that_are_counted(guard: Guard) -> None:
    """One of two threads is not counted: each makes its own values, and counts in one place."""
    state = types.SimpleNamespace(n=0)

    class Local(threading.local):
        def __init__(self) -> None:
            state.n += 1

    local = Local()

    def work() -> None:
        with guard:
            assert not vars(local)

    together(work, work)
    assert state.n == 3


def proxy_looked_at_twice(guard: Guard) -> None:
    """There is one more the second time."""
    table = {"a": 1}
    proxy = types.MappingProxyType(table)

    def look() -> None:
        with guard:
            assert list(proxy) == list(proxy.keys())

    def add() -> None:
        with guard:
            table["b"] = 2

    together(look, add)


def record_for_a_listener(guard: Guard) -> None:
    """The record is between those of the other task."""
    records: queue.Queue[logging.LogRecord] = queue.Queue()
    logger = logging.Logger("guarded")
    logger.addHandler(logging.handlers.QueueHandler(records))

    def work(text: str) -> None:
        with guard:
            logger.warning(text)
            logger.warning(text)

    together(lambda: work("a"), lambda: work("b"))
    texts = "".join(records.get().getMessage() for _ in range(4))
    assert texts in ("aabb", "bbaa")


def records_kept_for_another_handler(guard: Guard) -> None:
    """The record is between those of the other task."""

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage())

    texts: list[str] = []
    memory = logging.handlers.MemoryHandler(10, target=Keeping())
    logger = logging.Logger("guarded")
    logger.addHandler(memory)

    def work(text: str) -> None:
        with guard:
            logger.warning(text)
            logger.warning(text)

    together(lambda: work("a"), lambda: work("b"))
    memory.close()
    assert "".join(texts) in ("aabb", "bbaa")


def formatter_of_a_handler(guard: Guard) -> None:
    """The text is made by the formatter of the other task."""
    handler = logging.Handler()
    record = logging.LogRecord("program", logging.INFO, "", 1, "message", (), None)

    def write(prefix: str) -> None:
        with guard:
            handler.setFormatter(logging.Formatter(f"{prefix} %(message)s"))
            text = handler.format(record)
        assert text.startswith(prefix)

    together(lambda: write("one"), lambda: write("another"))


def message_kept_in_a_record(guard: Guard) -> None:
    """What a formatter keeps in the record takes the place of what was there."""
    record = logging.LogRecord("program", logging.INFO, "", 1, "message", (), None)
    formatter = logging.Formatter()

    def keep() -> None:
        with guard:
            record.message = "kept"
            kept = record.message
        assert kept == "kept"

    def write() -> None:
        with guard:
            formatter.format(record)

    together(keep, write)


def number_in_a_shareable_list(guard: Guard) -> None:
    """One of two increments is lost."""
    numbers = multiprocessing.shared_memory.ShareableList([0])

    def count() -> None:
        with guard:
            numbers[0] += 1

    try:
        together(count, count)
        assert numbers[0] == 2
    finally:
        numbers.shm.close()
        numbers.shm.unlink()


def value_whose_lock_is_not_held(guard: Guard) -> None:
    """One of two increments is lost: the lock of the value is held by each half of them."""
    value = multiprocessing.Value("i", 0)

    def count() -> None:
        with guard:
            value.value += 1

    together(count, count)
    assert value.value == 2


def function_whose_globals_have_no_name(guard: Guard) -> None:
    """One of two increments is lost, by a function whose globals have no name."""
    namespace: dict[str, Callable[[list[int]], None]] = {}
    exec("def count(counts):\n    counts[0] += 1\n", namespace)
    counts = [0]

    def work() -> None:
        with guard:
            namespace["count"](counts)

    together(work, work)
    assert counts == [2]
