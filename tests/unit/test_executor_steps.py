"""What an executor does is the same in each execution, however far its workers are."""

from __future__ import annotations

import dataclasses
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import pytest

import bohrbug
from bohrbug import VerdictKind


def test_whether_a_result_is_a_step_does_not_depend_on_other_tasks() -> None:
    """``map`` asks for results within the library, of futures that are done already or not."""

    def program() -> None:
        local = threading.local()

        def prepare() -> None:
            local.value = 1

        with ThreadPoolExecutor(2, initializer=prepare) as executor:
            assert list(executor.map(lambda _: local.value, range(3))) == [1, 1, 1]

    result = bohrbug.explore(program, strategy="dpor", executions=2_000)
    assert not result.verdict.caveats
    assert result.verdict.kind is VerdictKind.HOLDS


EXECUTOR = ThreadPoolExecutor(2)


def test_an_executor_that_lives_on_has_a_queue_of_the_same_name_in_each_execution() -> None:
    def program() -> None:
        assert list(EXECUTOR.map(lambda number: number + 1, range(3))) == [1, 2, 3]

    result = bohrbug.explore(program, strategy="dpor", executions=500)
    assert not result.verdict.caveats


def test_how_workers_are_found_is_no_step() -> None:
    def program() -> None:
        futures: list[Future[int]] = []
        executor = ThreadPoolExecutor(2)
        for number in range(3):
            futures.append(executor.submit(pow, 2, number))
        assert [future.result() for future in futures] == [1, 2, 4]

    for strategy in ("auto", "dpor"):
        result = bohrbug.explore(program, strategy=strategy, executions=100)
        assert not result.verdict.caveats
        assert result.points < 60


@pytest.mark.parametrize("within", [False, True])
def test_which_threads_a_thread_has_started_is_no_step(within: bool) -> None:
    def use() -> None:
        with ThreadPool(2) as pool:
            assert pool.map(abs, [-1, -2]) == [1, 2]

    def program() -> None:
        if within:
            # Natively a process would do so, which has children of its own.
            import multiprocessing.dummy

            process = multiprocessing.dummy.Process(target=use)
            process.start()
            process.join()
        else:
            use()

    # The first time the module may be imported on the way.
    for _ in range(2):
        result = bohrbug.explore(program, strategy="dpor", executions=300)
        assert not result.verdict.caveats


OTHER_EXECUTOR = ThreadPoolExecutor(1)


@dataclasses.dataclass(frozen=True)
class _Value:
    number: int


def test_going_through_executors_that_live_on_says_nothing_of_sets_of_the_test() -> None:
    values = [_Value(number) for number in range(2)]

    def program() -> None:
        for executor in (EXECUTOR, OTHER_EXECUTOR):
            assert executor.submit(int).result() == 0
        assert len(list(weakref.WeakSet(values))) == 2

    result = bohrbug.explore(program, executions=20)
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == ()
