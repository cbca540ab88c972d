"""What ``get_ident`` returns in a task, given to C as if it were a thread."""

from __future__ import annotations

import ctypes
import errno
import signal
import sys
import threading
import time

import pytest

from tests.unit.random_schedules import PASSED, kinds, values


def in_a_task(function: object) -> None:
    thread = threading.Thread(target=function)  # type: ignore[arg-type]
    thread.start()
    thread.join()


@pytest.mark.skipif(sys.platform != "linux", reason="pthread_setname_np of glibc")
def test_the_c_library_takes_it_for_a_thread_that_is_no_more() -> None:
    """As trio does, which names its threads."""
    set_name = ctypes.CDLL(None).pthread_setname_np
    set_name.argtypes = [ctypes.c_void_p, ctypes.c_char_p]

    def attempt() -> int:
        results: list[int] = []
        in_a_task(lambda: results.append(set_name(threading.get_ident(), b"name")))
        return results[0]

    assert values(attempt, 2) == {errno.ENOENT}


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="not on this system")
def test_it_has_no_clock() -> None:
    def attempt() -> None:
        def ask() -> None:
            with pytest.raises(ProcessLookupError):
                time.pthread_getcpuclockid(threading.get_ident())

        in_a_task(ask)

    assert kinds(attempt, 2) == {PASSED}


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="not on this system")
def test_a_signal_for_a_task_is_handled_in_the_root() -> None:
    def attempt() -> str:
        handled: list[str] = []
        before = signal.signal(
            signal.SIGUSR1, lambda *_: handled.append(threading.current_thread().name)
        )
        try:
            in_a_task(lambda: signal.pthread_kill(threading.get_ident(), signal.SIGUSR1))
        finally:
            signal.signal(signal.SIGUSR1, before)
        return handled[0]

    assert values(attempt, 4) == {threading.main_thread().name}
