"""loguru 0.4.1: logging in a process that was forked while another thread logs blocks for ever.

Promised: loggers can be used in several threads and processes.
Deadlock: the child has a copy of the lock of the handler (_handler.py:166), which the other thread
of its parent held at the fork, and which nobody releases there.
Reported: issue #231; 0.7.2 has it no more.
"""

import multiprocessing
import threading
from collections.abc import Iterator

import pytest
from loguru import logger


@pytest.fixture
def messages() -> Iterator[list[str]]:
    messages: list[str] = []
    logger.remove()
    logger.add(messages.append, format="{message}")
    yield messages
    logger.remove()


def test_logging_in_a_child(messages: list[str]) -> None:
    thread = threading.Thread(target=logger.info, args=("in the thread",))
    thread.start()
    child = multiprocessing.get_context("fork").Process(target=logger.info, args=("in the child",))
    child.start()
    child.join()
    thread.join()
    assert child.exitcode == 0
    assert messages == ["in the thread\n"]
