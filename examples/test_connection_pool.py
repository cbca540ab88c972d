"""An ordinary test, as it could be in any suite; pytest --bohrbug finds what breaks it."""

import threading

from connection_pool import ConnectionPool


def test_workers_share_one_connection() -> None:
    pool = ConnectionPool(size=1)
    answers: list[str] = []

    def work() -> None:
        connection = pool.acquire()
        answers.append(connection.query())
        pool.release(connection)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(answers) == 3
    assert pool.made == 1


def test_a_connection_is_used_again() -> None:
    pool = ConnectionPool(size=1)
    first = pool.acquire()
    pool.release(first)
    assert pool.acquire() is first
