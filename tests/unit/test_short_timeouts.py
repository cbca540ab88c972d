"""``timeouts="short"``: what needs others to stand still for long does not count."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind


def explored(program: Callable[[], None], timeouts: str = "short") -> bohrbug.Result:
    return bohrbug.explore(program, executions=300, seconds=None, causes=0, timeouts=timeouts)


def waiting_for(seconds: float) -> Callable[[], None]:
    def program() -> None:
        done = threading.Event()
        thread = threading.Thread(target=done.set)
        thread.start()
        assert done.wait(seconds)
        thread.join()

    return program


def receiving_within(seconds: float) -> Callable[[], None]:
    def program() -> None:
        near, far = socket.socketpair()
        with near, far:
            near.settimeout(seconds)
            thread = threading.Thread(target=far.send, args=(b"x",))
            thread.start()
            try:
                near.recv(1)
            finally:
                thread.join()

    return program


def polling_for(seconds: float) -> Callable[[], None]:
    """Its timeouts are short, and there are many of them."""

    def program() -> None:
        done = threading.Event()
        thread = threading.Thread(target=done.set)
        thread.start()
        end = time.monotonic() + seconds
        while not done.wait(0.1):
            assert time.monotonic() < end
        thread.join()

    return program


def fetching_within(seconds: float) -> Callable[[], None]:
    async def fetch() -> int:
        await asyncio.sleep(0.01)
        return 1

    async def main() -> None:
        assert await asyncio.wait_for(fetch(), seconds) == 1

    return lambda: asyncio.run(main())


def sleeping_beside(seconds: float) -> Callable[[], None]:
    def program() -> None:
        order: list[str] = []

        def sleep(seconds: float, name: str) -> None:
            time.sleep(seconds)
            order.append(name)

        threads = [
            threading.Thread(target=sleep, args=(0.1, "short")),
            threading.Thread(target=sleep, args=(seconds, "long")),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert order == ["short", "long"]

    return program


def late_in_a_long_wait() -> None:
    done = threading.Event()

    def work() -> None:
        time.sleep(4.5)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert done.wait(5)
    thread.join()


@pytest.mark.parametrize("seconds", [0.9, 1])
@pytest.mark.parametrize("program", [waiting_for, fetching_within, sleeping_beside])
def test_counts_where_others_stand_still_for_a_second_at_most(
    program: Callable[[float], Callable[[], None]], seconds: float
) -> None:
    result = explored(program(seconds))
    assert result.verdict.kind is VerdictKind.FAILED
    assert not result.untimely


@pytest.mark.parametrize("program", [waiting_for, fetching_within, sleeping_beside])
def test_is_put_aside_where_others_stand_still_for_longer(
    program: Callable[[float], Callable[[], None]],
) -> None:
    result = explored(program(30))
    assert not result.failures
    (failure,) = result.untimely
    assert failure.trace.longest_stall == pytest.approx(30, abs=0.2)
    # It is no promise either: nobody has looked at all schedules with early timeouts.
    assert result.verdict.kind not in (VerdictKind.FAILED, VerdictKind.HOLDS)


@pytest.mark.parametrize(("seconds", "counts"), [(0.7, True), (4, False)])
def test_what_many_short_timeouts_take_together_matters(seconds: float, counts: bool) -> None:
    program = polling_for(seconds)
    result = bohrbug.explore(
        program, strategy="pos", executions=200, seconds=None, causes=0, timeouts="short"
    )
    assert [bool(result.failures), bool(result.untimely)] == [counts, not counts]
    (failure,) = [*result.failures, *result.untimely]
    assert failure.trace.longest_stall == pytest.approx(seconds, abs=0.2)


def test_what_goes_on_between_short_timeouts_does_not_stand_still() -> None:
    """A second and a half passes, and whoever could go on need not stand still for all of it."""

    def program() -> None:
        done = threading.Event()
        lock = threading.Lock()

        def work() -> None:
            for _ in range(6):
                with lock:
                    pass
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        waits = 0
        while not done.wait(0.3):
            waits += 1
        thread.join()
        assert waits < 5

    result = bohrbug.explore(
        program, strategy="pos", executions=400, seconds=None, causes=0, timeouts="short"
    )
    (failure,) = result.failures
    assert failure.trace.longest_stall <= 1


def test_what_is_left_of_a_timeout_is_what_matters() -> None:
    assert explored(late_in_a_long_wait).verdict.kind is VerdictKind.FAILED


def test_all_count_where_timeouts_are_early() -> None:
    assert explored(waiting_for(30), "early").verdict.kind is VerdictKind.FAILED


def test_none_counts_where_they_are_only_reported() -> None:
    result = explored(waiting_for(0.9), "report")
    assert not result.failures
    assert len(result.untimely) == 1


def test_what_is_put_aside_does_not_hide_others() -> None:
    def program() -> None:
        counter = [0]
        done = threading.Event()

        def count() -> None:
            seen = counter[0]
            counter[0] = seen + 1

        def work() -> None:
            count()
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        count()
        if not done.wait(30):
            raise TimeoutError
        thread.join()
        assert counter == [2]

    result = explored(program)
    assert [failure.outcome.exception for failure in result.failures] == ["AssertionError"]


@pytest.mark.parametrize("timeouts", ["short", "early"])
def test_a_short_timeout_of_a_socket_may_fire_early(timeouts: str) -> None:
    (failure,) = explored(receiving_within(0.5), timeouts).failures
    assert failure.outcome.exception == "TimeoutError"
    assert failure.early_timeouts


@pytest.mark.parametrize("timeouts", ["short", "early"])
def test_a_long_one_is_for_a_peer_that_has_died(timeouts: str) -> None:
    assert explored(receiving_within(1.5), timeouts).verdict.kind is VerdictKind.HOLDS


def _guarded(seconds: float) -> Callable[[], None]:
    """Waits with a guard of five seconds first, then within so many seconds."""

    def program() -> None:
        ready, done = threading.Event(), threading.Event()

        def work() -> None:
            ready.set()
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        in_time = [ready.wait(5)]
        if in_time[0]:
            in_time.append(done.wait(seconds))
        thread.join()
        assert all(in_time), in_time

    return program


def test_a_guard_that_is_set_aside_hides_no_shorter_timeout() -> None:
    result = explored(_guarded(0.5))
    assert ["[False]" in failure.outcome.message for failure in result.untimely] == [True]
    (failure,) = result.failures
    assert "[True, False]" in failure.outcome.message


def test_nor_does_it_let_longer_ones_count() -> None:
    result = explored(_guarded(2))
    assert not result.failures
    assert any("more than a second early" in caveat for caveat in result.verdict.caveats)
    assert not explored(_guarded(2), "report").failures


def _waiting_beside(seconds: float) -> Callable[[], None]:
    """Two sleeps of which the one that ends first must be the shorter one, behind a guard."""

    def program() -> None:
        ready = threading.Event()
        setter = threading.Thread(target=ready.set)
        setter.start()
        assert ready.wait(5)
        sleeping_beside(seconds)()
        setter.join()

    return program


@pytest.mark.parametrize(("seconds", "count"), [(0.5, 1), (1.5, 0)])
def test_who_waits_longer_may_be_first_where_that_is_soon(seconds: float, count: int) -> None:
    result = explored(_waiting_beside(seconds))
    assert len(result.failures) == count
    assert result.untimely


def sleeping_for(first: float, second: float) -> Callable[[], None]:
    """Which of two sleeps is over first matters."""

    def program() -> None:
        order: list[int] = []

        def sleep(number: int, seconds: float) -> None:
            time.sleep(seconds)
            order.append(number)

        threads = [threading.Thread(target=sleep, args=each) for each in enumerate((first, second))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert order == [0, 1]

    return program


@pytest.mark.parametrize(("first", "second"), [(0.05, 0.05), (0.05, 0.0502)])
def test_what_is_due_at_the_same_moment_ends_in_either_order(first: float, second: float) -> None:
    result = explored(sleeping_for(first, second), "report")
    assert result.verdict.kind is VerdictKind.FAILED
    assert not result.untimely


def test_a_failure_for_which_others_stand_still_is_only_listed() -> None:
    result = explored(sleeping_for(0.05, 0.06), "report")
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert [failure.outcome.exception for failure in result.untimely] == ["AssertionError"]
