"""CPython's tests that are not run under control, each with the reason.

``python tests/conformance/left_out.py`` writes the table into
``docs/reference/conformance.md``.
"""

from __future__ import annotations

import fnmatch
from pathlib import Path

FINDING = (
    "lets an exception leave a thread and expects the default hook to print it: "
    "under control this is what ends the execution as a failure"
)
MAIN_THREAD = (
    "a signal is handled by whichever task runs, because all tasks share the main OS thread"
)

FORK = (
    "polls for a forked child with sleeps: in virtual time the timeout of 300 seconds expires "
    "before the child, which needs real time, has ended"
)
HANDSHAKE = (
    "looks at the private lock with which 3.11 and 3.12 detect a thread's end; "
    "a task is started without that lock"
)

TURNS = (
    "counts the turns of its loop: await asyncio.sleep(0) may take more than one, as arrivals "
    "may be late"
)

LEFT_OUT: dict[str, dict[str, str]] = {
    "test.test_thread": {
        "TestForkInThread.test_forkinthread": (
            "waits for what a child forked by a task writes into a pipe, which is treated as a "
            "pipe between tasks: in some schedules no writer seems to be left"
        ),
    },
    "test.test_threading": {
        "ExceptHookTests.test_excepthook": FINDING,
        "ExceptHookTests.test_original_excepthook": FINDING,
        "InterruptMainTests.test_can_interrupt_tight_loops": (
            "loops without any operation until another thread stops it; only rewriting makes the "
            "loop's data accesses scheduling points, and these tests run without rewriting"
        ),
        "InterruptMainTests.test_interrupt_main_subthread": MAIN_THREAD,
        "EventTests.test_set_and_clear": (
            "sleeps, and assumes that the threads are waiting by then: Event.wait is one "
            "operation, and a task that is chosen for it only after the event was set and "
            "cleared keeps waiting"
        ),
        "ThreadTests.test_disallow_instantiation": (
            "3.11 and 3.12: the type of a lock can't be called; ours can"
        ),
        "ThreadTests.test_shutdown_locks": HANDSHAKE,
        "ThreadTests.test_tstate_lock": HANDSHAKE,
        "ThreadTests.test_is_alive_after_fork": FORK,
        "ThreadJoinOnShutdown.test_clear_threads_states_after_fork": FORK,
        "ThreadJoinOnShutdown.test_reinit_tls_after_fork": FORK,
    },
    "test.test_queue": {
        "*SimpleQueueTest.test_many_threads_nonblock": (
            "50 threads poll with sleeps of 10 us until others have slept up to 1 ms, thousands "
            "of times: millions of steps in virtual time"
        ),
    },
    "test.test_concurrent_futures.test_as_completed": {
        "InterpreterPoolAsCompletedTest.test_future_times_out": (
            "3.14 on: has another interpreter call time.sleep; its replacement under control "
            "can't be sent there"
        ),
    },
    "test.test_concurrent_futures.test_thread_pool": {
        "*.test_idle_thread_reuse": (
            "relies on the worker marking itself idle before the next submit, which it does only "
            "after delivering the result: CPython skips it without the GIL as flaky (gh-117344)"
        ),
    },
    "test.test_asyncio.test_locks": {
        "BarrierTests.test_repr": TURNS,
        "SemaphoreTests.test_acquire_fifo_order_4": TURNS,
    },
    "test.test_asyncio.test_sslproto": {
        "SslProtoHandshakeTests.test_connection_lost_when_busy": TURNS,
    },
    "test.test_asyncio.test_subprocess": {
        "*.test_send_signal_never_targets_reaped_pid": (
            "3.15: polls for a child with await asyncio.sleep(0): in virtual time its timeout may "
            "expire before the child, which needs real time, has ended"
        ),
    },
    "test.test_asyncio.test_staggered": {"StaggeredTests.test_cancelled": TURNS},
}
"""For each module: patterns of names of tests (class and method) with reasons."""


def reason_for(module: str, test: str) -> str | None:
    """Why a test is left out, or ``None``."""
    for pattern, reason in LEFT_OUT.get(module, {}).items():
        if fnmatch.fnmatchcase(test, pattern):
            return reason
    return None


def table() -> str:
    """The table in Markdown."""
    lines = ["| module | test | reason |", "|---|---|---|"]
    for module, tests in LEFT_OUT.items():
        for pattern, reason in tests.items():
            lines.append(f"| `{module}` | `{pattern}` | {reason} |")
    return "\n".join(lines)


DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "conformance.md"
_BEGIN = "<!-- the table of tests/conformance/left_out.py -->\n"
_END = "<!-- end -->"


def document_with_table(text: str) -> str:
    """The document with the current table in it."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{table()}\n\n{_END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(document_with_table(DOCUMENT.read_text()))
