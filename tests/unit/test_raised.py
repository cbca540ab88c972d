"""When the exception was raised that made a test fail; nothing later is called its cause."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import bohrbug
from bohrbug.exploration.result import Failure
from bohrbug.model.operation import ACQUIRE


def failure_of(test: Callable[[], None]) -> Failure:
    (failure,) = bohrbug.explore(test).failures
    return failure


class Shop:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stock = {"apple": 1}
        self.others = threading.Lock()

    def sell(self) -> None:
        with self.lock:
            assert self.stock["apple"] > 0
            self.stock["apple"] -= 1

    def refill(self) -> None:
        with self.lock:
            self.stock["apple"] += 1

    def close(self) -> None:
        with self.lock:
            self.stock["apple"] = 0


def test_what_a_future_passes_on_was_raised_by_its_worker() -> None:
    def sells_in_a_pool() -> None:
        shop = Shop()
        with ThreadPoolExecutor(3) as pool:
            futures = [pool.submit(each) for each in (shop.sell, shop.sell, shop.refill)]
        for future in futures:
            future.result()

    failure = failure_of(sells_in_a_pool)
    raised = failure.trace.raised
    assert raised is not None
    assert raised.task != "0"
    assert raised.steps < len(failure.trace)
    assert failure.cause is not None
    events = [each for o in failure.cause.orderings for each in (o.first, o.second)]
    assert all(event.kind is ACQUIRE for event in events)


def test_what_is_left_on_the_way_out_is_no_cause() -> None:
    def goes_on_after_the_failure() -> None:
        shop = Shop()

        def sell() -> None:
            try:
                shop.sell()
            finally:
                with shop.others:
                    shop.stock["basket"] = 0

        def clean() -> None:
            shop.close()
            with shop.others:
                shop.stock.pop("basket", None)

        threads = [threading.Thread(target=each) for each in (sell, clean)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    failure = failure_of(goes_on_after_the_failure)
    raised = failure.trace.raised
    assert raised is not None
    assert raised.task == "0.1"
    assert failure.cause is not None
    (ordering,) = failure.cause.orderings
    assert (ordering.first.task, ordering.second.task) == ("0.2", "0.1")
    assert ordering.first.resource == ordering.second.resource
    assert raised.steps < len(failure.trace)
    later = failure.trace.operations[raised.steps :]
    assert ordering.second.operation.place not in [operation.place for operation in later]


def test_what_code_in_c_raises_was_raised_in_its_step() -> None:
    def looks_up_what_may_be_gone() -> None:
        found = {"apple": 1}
        gone = threading.Lock()

        def look_up() -> None:
            try:
                found["apple"]
            finally:
                with gone:
                    pass

        thread = threading.Thread(target=found.clear)
        thread.start()
        look_up()
        thread.join()

    failure = failure_of(looks_up_what_may_be_gone)
    raised = failure.trace.raised
    assert raised is not None
    assert raised.task == "0"
    assert raised.steps < len(failure.trace)


def test_nobody_knows_of_a_failure_without_an_exception() -> None:
    def waits_for_itself() -> None:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()

    assert failure_of(waits_for_itself).trace.raised is None
