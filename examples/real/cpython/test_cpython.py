"""CPython 3.11.7's standard library: twenty races and deadlocks.

Each test tells what is expected and where the race lies; numbers are those of CPython's tracker.
Later versions have fixed some of these, see the table in ``docs/bugs.md``.
"""

import concurrent.futures
import contextlib
import functools
import importlib
import io
import linecache
import logging
import logging.config
import logging.handlers
import mimetypes
import multiprocessing.pool
import os
import queue
import random
import sysconfig
import tempfile
import threading
import unittest.mock
import warnings
import weakref
import zipfile
from collections.abc import Callable
from pathlib import Path


def together(*functions: Callable[[], object]) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_message_reaches_the_second_handler() -> None:
    """``Logger.removeHandler`` takes a handler out of the list that ``callHandlers`` goes through.

    The next one moves up and is passed over (gh-79366).
    """

    class Keeping(logging.Handler):
        def __init__(self) -> None:
            super().__init__()
            self.messages: list[str] = []

        def emit(self, record: logging.LogRecord) -> None:
            self.messages.append(record.getMessage())

    log = logging.Logger("a log")
    first, second = Keeping(), Keeping()
    log.addHandler(first)
    log.addHandler(second)
    together(lambda: log.error("message"), lambda: log.removeHandler(first))
    assert second.messages == ["message"]


def test_cached_properties_of_two_objects() -> None:
    """``functools.cached_property`` has one lock for the objects of all threads (gh-87634).

    A property that waits for another thread's object waits for ever.
    """

    class Node:
        def __init__(self) -> None:
            self.has_begun = threading.Event()
            self.other = self

        @functools.cached_property
        def value(self) -> int:
            self.has_begun.set()
            self.other.has_begun.wait()
            return 1

    one, two = Node(), Node()
    one.other, two.other = two, one
    together(lambda: one.value, lambda: two.value)


def test_two_archives_into_one_folder(tmp_path: Path) -> None:
    """``ZipFile.extract`` looks whether a folder is there, and then makes it (gh-112998)."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("folder/file", b"text")
    target = tmp_path / str(len(os.listdir(tmp_path)))

    def extract() -> None:
        with zipfile.ZipFile(io.BytesIO(data.getvalue())) as archive:
            archive.extractall(target)

    together(extract, extract)


def test_checking_lines_while_they_are_cleared(tmp_path: Path) -> None:
    """``linecache.checkcache`` asks for files by names that are no longer there (gh-133253)."""
    path = tmp_path / "module.py"
    path.write_text("x = 1\n")
    linecache.clearcache()
    linecache.getline(str(path), 1)
    together(linecache.checkcache, linecache.clearcache)


def test_reading_two_members_of_an_archive() -> None:
    """``ZipFile`` counts who reads it without a lock (``_fileRefCnt``); found by exploring."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("one", b"1")
        archive.writestr("two", b"2")
    with zipfile.ZipFile(data) as archive:
        together(lambda: archive.read("one"), lambda: archive.read("two"))


def test_a_function_that_is_registered_is_called() -> None:
    """``singledispatch`` keeps what it found before ``register`` has entered something better.

    ``dispatch`` looks through the registry, and stores what it found in a cache that ``register``
    has emptied in the meantime.
    """

    @functools.singledispatch
    def name(thing: object) -> str:
        return "object"

    together(lambda: name(1), lambda: name.register(int, lambda thing: "number"))
    assert name(1) == "number"


def test_copying_the_environment() -> None:
    """``os.environ.copy`` asks for the values of names that are no longer there."""
    os.environ["A_VARIABLE"] = "1"
    together(os.environ.copy, lambda: os.environ.pop("A_VARIABLE"))


def test_two_normal_numbers() -> None:
    """``Random.gauss`` hands the number that it has kept to both threads.

    The documentation of ``gauss`` warns of it.
    """
    numbers = random.Random(1)
    numbers.gauss(0, 1)
    seen: list[float] = []
    together(*[lambda: seen.append(numbers.gauss(0, 1))] * 2)
    assert seen[0] != seen[1]


class Asking(logging.Handler):
    """Sends records on with a library that has a logger of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger("a library")


def test_configuring_while_a_handler_needs_a_logger() -> None:
    """``dictConfig`` takes the lock of ``logging`` and then those of the handlers.

    A handler has its own when it asks for a logger, which needs the first one (gh-88105).
    """
    log = logging.Logger("a log")
    log.addHandler(Asking())
    together(lambda: log.error("message"), lambda: logging.config.dictConfig({"version": 1}))


class Thing:
    """Something that weak references can be made to."""


def test_going_through_a_weak_set() -> None:
    """Two threads go through a ``WeakSet`` while its elements die.

    The first one that has done removes them from the set under the hands of the other (gh-89441).
    """
    things = [Thing(), Thing(), Thing()]
    weak = weakref.WeakSet(things)

    def look() -> list[int]:
        return [1 for _ in weak]

    together(look, things.clear, look)


def test_going_through_weak_values() -> None:
    """The same with the values of a ``WeakValueDictionary`` (gh-89967)."""
    things = [Thing(), Thing()]
    weak = weakref.WeakValueDictionary(enumerate(things))

    def look() -> list[int]:
        return [1 for _ in weak.values()]

    together(look, things.clear, look)


def test_filters_are_as_before() -> None:
    """``catch_warnings`` puts back the filters that it found, whoever has set them (gh-128384)."""

    def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)

    before = warnings.filters
    try:
        together(work, work)
        assert warnings.filters is before
    finally:
        warnings.filters = before


def test_a_variable_of_the_configuration() -> None:
    """``sysconfig.get_config_vars`` stores its dictionary before it fills it (gh-92452).

    The test begins without it, as a program does.
    """
    sysconfig._CONFIG_VARS = None  # type: ignore[attr-defined]
    sysconfig._CONFIG_VARS_INITIALIZED = False  # type: ignore[attr-defined]
    seen: list[object] = []
    together(*[lambda: seen.append(sysconfig.get_config_var("py_version_short"))] * 2)
    assert None not in seen


def test_stopping_a_listener_twice() -> None:
    """``QueueListener.stop`` asks for a thread that another call has let go of (gh-114706)."""
    listener = logging.handlers.QueueListener(queue.Queue(), logging.NullHandler())
    listener.start()
    together(listener.stop, listener.stop)


def test_reloading_a_module_twice() -> None:
    """``importlib.reload`` asks who reloads it, and then for what, which is gone (gh-126548)."""
    module = importlib.import_module("colorsys")
    together(lambda: importlib.reload(module), lambda: importlib.reload(module))


def test_work_for_a_pool_that_is_being_closed() -> None:
    """``ThreadPool.apply`` looks whether the pool is open, and then puts its work.

    Nobody takes it any more, and the result never comes; found by reading the source.
    """
    pool = multiprocessing.pool.ThreadPool(1)

    def work() -> None:
        with contextlib.suppress(ValueError):
            pool.apply(len, ("abc",))

    def close() -> None:
        pool.close()
        pool.join()

    together(work, close)


def test_waiting_for_a_future_that_is_cancelled_with_its_executor() -> None:
    """``shutdown(cancel_futures=True)`` wakes nobody who waits (gh-87893, gh-109934)."""
    executor = concurrent.futures.ThreadPoolExecutor(1)
    may_end = threading.Event()
    futures = [executor.submit(may_end.wait), executor.submit(int)]

    def stop() -> None:
        executor.shutdown(wait=False, cancel_futures=True)
        may_end.set()

    together(lambda: concurrent.futures.wait(futures), stop)


def test_a_type_that_is_added() -> None:
    """``mimetypes.init`` stores its tables when another thread has added to its own already.

    Found by reading the source. The test begins without tables, as a program does.
    """
    mimetypes._db = None  # type: ignore[attr-defined]
    mimetypes.inited = False
    together(
        lambda: mimetypes.add_type("text/mine", ".mine"), lambda: mimetypes.guess_type("a.txt")
    )
    assert mimetypes.guess_type("a.mine") == ("text/mine", None)


def test_a_mock_counts_its_calls() -> None:
    """``Mock.call_count`` is read and written in two steps; found by reading the source."""
    mock = unittest.mock.Mock()
    together(mock, mock)
    assert mock.call_count == 2


def test_writing_into_a_spooled_file() -> None:
    """``SpooledTemporaryFile`` rolls over in two threads; found by reading the source."""
    file = tempfile.SpooledTemporaryFile(max_size=3)  # noqa: SIM115
    together(lambda: file.write(b"ab"), lambda: file.write(b"cd"))
    file.seek(0)
    assert sorted(file.read()) == sorted(b"abcd")
