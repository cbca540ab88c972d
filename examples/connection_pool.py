"""A connection pool with a bug that its test hardly ever shows.

Run it as often as you like:          python examples/connection_pool.py
Let Bohrbug find what breaks it:      bohrbug run examples/connection_pool.py
"""

import threading


class Connection:
    """Stands for a connection to a database."""

    def __init__(self, number: int) -> None:
        self.number = number

    def query(self) -> str:
        return f"answer from connection {self.number}"


class ConnectionPool:
    """Hands out at most ``size`` connections at a time; whoever comes later waits."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.made = 0
        self.idle: list[Connection] = []
        self.changed = threading.Condition()

    def acquire(self) -> Connection:
        with self.changed:
            if not self.idle and self.made < self.size:
                self.made += 1
                return Connection(self.made)
            if not self.idle:
                self.changed.wait()
            return self.idle.pop()

    def release(self, connection: Connection) -> None:
        with self.changed:
            self.idle.append(connection)
            self.changed.notify()


def main() -> None:
    """Three workers share one connection."""
    pool = ConnectionPool(size=1)
    answers: list[str] = []

    def work() -> None:
        connection = pool.acquire()
        answers.append(connection.query())
        pool.release(connection)

    workers = [threading.Thread(target=work, name=f"worker {n}") for n in (1, 2, 3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(answers) == 3
    print(f"{len(answers)} answers through {pool.made} connection(s)")


if __name__ == "__main__":
    main()
