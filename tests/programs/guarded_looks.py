"""Programs that look into primitives and into objects of the library, which others change.

Each has a lock that it takes or a stand-in that guards nothing: with a lock it is correct, without
one some interleaving breaks it.
"""

from __future__ import annotations

import ast
import concurrent.futures
import io
import logging
import logging.handlers
import mmap
import queue
import re
import reprlib
import select
import selectors
import socket
import sqlite3
import ssl
import threading
import warnings
from collections.abc import Callable

from tests.programs.guarding import Guard, counted
from tests.programs.together import together


def _alike_twice(guard: Guard, look: Callable[[], object], change: Callable[[], object]) -> None:
    """Two looks in a row see the same."""
    seen: list[object] = []

    def work() -> None:
        with guard:
            seen.extend([look(), look()])

    def other() -> None:
        with guard:
            change()

    together(other, work)
    assert seen[0] == seen[1]


def _used_unless_over(
    guard: Guard,
    is_over: Callable[[], object],
    use: Callable[[], object],
    end: Callable[[], object],
) -> None:
    """One task uses something that has not come to its end, as far as it can see."""

    def work() -> None:
        with guard:
            if not is_over():
                use()

    def other() -> None:
        with guard:
            end()

    together(other, work)


class _Keeping(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


# -- primitives ------------------------------------------------------------------------


def attribute_of_a_thread(guard: Guard) -> None:
    """One of two increments is lost: the program keeps a number in a thread."""
    thread = threading.Thread()
    thread.number = 0  # type: ignore[attr-defined]

    def count() -> None:
        thread.number += 1  # type: ignore[attr-defined]

    counted(guard, count, lambda: thread.number)  # type: ignore[attr-defined]


def attribute_of_an_executor(guard: Guard) -> None:
    """One of two increments is lost: the program keeps a number in an executor."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        executor.number = 0  # type: ignore[attr-defined]

        def count() -> None:
            executor.number += 1  # type: ignore[attr-defined]

        counted(guard, count, lambda: executor.number)  # type: ignore[attr-defined]


def items_of_a_queue_gone_through(guard: Guard) -> None:
    """The deque changes during iteration."""
    items: queue.Queue[int] = queue.Queue()
    items.put(1)
    items.put(2)

    def look() -> None:
        with guard:
            for _ in items.queue:
                pass

    def get() -> None:
        with guard:
            items.get()

    together(look, get)


def queue_emptied_behind_its_back(guard: Guard) -> None:
    """The item is gone before it is got."""
    items: queue.Queue[int] = queue.Queue()
    items.put(1)

    def get() -> None:
        with guard:
            if items.qsize():
                items.get_nowait()

    def clear() -> None:
        with guard:
            items.queue.clear()

    together(clear, get)


def room_of_a_queue(guard: Guard) -> None:
    """The queue has less room than it had when it was asked."""
    items: queue.Queue[int] = queue.Queue(2)
    items.put(1)

    def put() -> None:
        with guard:
            if not items.full():
                items.put_nowait(2)

    def shrink() -> None:
        with guard:
            items.maxsize = 1

    together(shrink, put)


def text_of_a_lock(guard: Guard) -> None:
    """The text of a lock tells that it was released."""
    lock = threading.Lock()

    def use() -> None:
        with lock:
            pass

    _alike_twice(guard, lambda: "unlocked" in repr(lock), use)


def text_of_an_event(guard: Guard) -> None:
    """The text of an event tells that it was set."""
    event = threading.Event()
    _alike_twice(guard, lambda: str(event)[-7:], event.set)


def text_of_a_future(guard: Guard) -> None:
    """The text of a future tells that it has a result."""
    future: concurrent.futures.Future[int] = concurrent.futures.Future()
    _alike_twice(guard, lambda: f"{future}"[-10:], lambda: future.set_result(1))


def poller_that_forgets_a_socket(guard: Guard) -> None:
    """The socket is no longer registered the second time."""
    poller = select.epoll()
    one, other = socket.socketpair()
    poller.register(one, select.EPOLLIN)

    def change() -> None:
        with guard:
            try:
                poller.modify(one, select.EPOLLOUT)
            except FileNotFoundError:
                return
            poller.modify(one, select.EPOLLIN)

    def forget() -> None:
        with guard:
            poller.unregister(one)

    try:
        together(forget, change)
    finally:
        poller.close()
        one.close()
        other.close()


def selector_that_is_closed(guard: Guard) -> None:
    """The selector is closed before it is asked."""
    selector = selectors.DefaultSelector()
    alive = [1]

    def end() -> None:
        alive.clear()
        selector.close()

    _used_unless_over(guard, lambda: not alive, lambda: selector.select(0), end)


def socket_that_is_closed(guard: Guard) -> None:
    """The socket is closed between the look at its number and its use."""
    one, other = socket.socketpair()
    try:
        _used_unless_over(guard, lambda: one.fileno() == -1, lambda: one.send(b"x"), one.close)
    finally:
        one.close()
        other.close()


# -- logging and warnings --------------------------------------------------------------


def records_in_a_buffer(guard: Guard) -> None:
    """The buffer was flushed between two looks."""
    handler = logging.handlers.MemoryHandler(2, target=logging.NullHandler())
    logger = logging.Logger("guarded")
    logger.addHandler(handler)

    def work() -> None:
        with guard:
            logger.warning("text")
            assert len(handler.buffer) == len(handler.buffer)

    together(work, work)


def logger_that_is_disabled(guard: Guard) -> None:
    """The record is dropped."""
    handler = _Keeping()
    logger = logging.Logger("guarded")
    logger.addHandler(handler)

    def disable() -> None:
        with guard:
            logger.disabled = True
            logger.disabled = False

    def log() -> None:
        with guard:
            logger.warning("text")

    together(disable, log)
    assert handler.records


def what_an_adapter_adds(guard: Guard) -> None:
    """The record has one of two values from before."""
    extra = {"first": 1, "second": 1}
    handler = _Keeping()
    logger = logging.Logger("guarded")
    logger.addHandler(handler)
    adapter = logging.LoggerAdapter(logger, extra)

    def change() -> None:
        with guard:
            extra["first"] = 2
            extra["second"] = 2

    def log() -> None:
        with guard:
            adapter.warning("text")

    together(change, log)
    found = vars(handler.records[0])
    assert found["first"] == found["second"]


def message_of_a_record(guard: Guard) -> None:
    """The format has got another place, and not yet what goes there."""
    record = logging.LogRecord("guarded", 30, "path", 1, "%s", ("a",), None)

    def change() -> None:
        with guard:
            record.msg = "%s %s"
            record.args = ("a", "b")

    def look() -> None:
        with guard:
            record.getMessage()

    together(change, look)


def name_of_a_level(guard: Guard) -> None:
    """The level has the other name."""

    def work(name: str) -> None:
        with guard:
            logging.addLevelName(33, name)
            assert logging.getLevelName(33) == name

    together(lambda: work("one"), lambda: work("other"))


def way_to_show_warnings(guard: Guard) -> None:
    """The warning is shown to somebody else."""
    shown: list[object] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")

        def show(*args: object, **options: object) -> None:
            shown.append(args)

        warnings.showwarning = show

        def exchange() -> None:
            with guard:
                warnings.showwarning = lambda *args, **options: None
                warnings.showwarning = show

        def warn() -> None:
            with guard:
                warnings.warn("text", stacklevel=1)

        together(exchange, warn)
    assert shown


# -- other objects of the library ------------------------------------------------------


def length_of_short_texts(guard: Guard) -> None:
    """The text is shorter than it should be."""
    short = reprlib.Repr()
    short.maxlist = 2

    def change() -> None:
        with guard:
            short.maxlist = 1
            short.maxlist = 2

    def look() -> None:
        with guard:
            assert short.repr([1, 2, 3]) == "[1, 2, ...]"

    together(change, look)


class _Doubling(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> list[ast.Expr]:
        return [node, node]


def tree_that_is_transformed(guard: Guard) -> None:
    """One of two transformations is lost."""
    tree = ast.parse("a")

    def work() -> None:
        with guard:
            _Doubling().visit(tree)

    together(work, work)
    assert len(tree.body) == 4


def match_of_a_lexer(guard: Guard) -> None:
    """A token is taken for that of the other text."""
    lexer = re.Scanner([(r"\d", lambda lexer, text: lexer.match.group())])  # type: ignore[attr-defined]

    def work(text: str) -> None:
        with guard:
            assert lexer.scan(text)[0] == [text]

    together(lambda: work("1"), lambda: work("2"))


def view_that_is_released(guard: Guard) -> None:
    """The view is released after the first look."""
    view = memoryview(bytearray(4))

    def look() -> None:
        with guard:
            try:
                view[0]
            except ValueError:
                return
            view[1]

    def release() -> None:
        with guard:
            view.release()

    together(release, look)


def mapping_that_is_closed(guard: Guard) -> None:
    """The memory is unmapped after the look whether it is."""
    memory = mmap.mmap(-1, 16)
    _used_unless_over(guard, lambda: memory.closed, lambda: memory[0], memory.close)


def cursor_that_is_closed(guard: Guard) -> None:
    """The cursor is closed before it is used."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    cursor = connection.cursor()
    alive = [1]

    def end() -> None:
        alive.clear()
        cursor.close()

    _used_unless_over(guard, lambda: not alive, lambda: cursor.execute("select 1"), end)
    connection.close()


def function_of_a_database_replaced(guard: Guard) -> None:
    """The statement calls the function of the other task."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)

    def work(value: int) -> None:
        with guard:
            connection.create_function("f", 0, lambda: value)
            assert connection.execute("select f()").fetchone() == (value,)

    together(lambda: work(1), lambda: work(2))
    connection.close()


def place_in_a_blob(guard: Guard) -> None:
    """The other task has gone elsewhere in it."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("create table t (b blob)")
    connection.execute("insert into t values (zeroblob(4))")
    blob = connection.blobopen("t", "b", 1)

    def work(place: int) -> None:
        with guard:
            blob.seek(place)
            assert blob.tell() == place

    together(lambda: work(1), lambda: work(2))
    blob.close()
    connection.close()


def bytes_for_tls(guard: Guard) -> None:
    """The bytes are gone before they are read."""
    memory = ssl.MemoryBIO()
    memory.write(b"x")

    def work() -> None:
        with guard:
            if memory.pending:
                assert memory.read()

    together(work, work)


def ends_of_lines_decoded(guard: Guard) -> None:
    """The end of one line is taken for that of another."""
    decoder = io.IncrementalNewlineDecoder(None, True)

    def work() -> None:
        with guard:
            assert (decoder.decode("\r"), decoder.decode("\n")) == ("", "\n")

    together(work, work)


# -- names -----------------------------------------------------------------------------


def local_names_of_executed_code(guard: Guard) -> None:
    """One of two increments is lost."""
    names = {"number": 0}
    code = compile("number = number + 1", "executed", "exec")
    counted(guard, lambda: exec(code, {}, names), lambda: names["number"])


def attribute_that_a_class_gets_late(guard: Guard) -> None:
    """The second look finds it."""

    class Node:
        pass

    node = Node()

    def give() -> None:
        Node.weight = 1  # type: ignore[attr-defined]

    _alike_twice(guard, lambda: hasattr(node, "weight"), give)
