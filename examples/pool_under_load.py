"""A connection pool under load, with a bug that needs two threads within a few instructions.

It hardly ever fails natively:              python examples/pool_under_load.py
Let copies of it try what could come next:  bohrbug live examples/pool_under_load.py
"""

import threading


class Pool:
    """Hands out connections that are not in use."""

    def __init__(self, size: int) -> None:
        self.lock = threading.Lock()
        self.idle = list(range(size))
        self.in_use: set[int] = set()

    def acquire(self) -> int | None:
        with self.lock:
            if not self.idle:
                return None
            connection = self.idle[-1]
        # Another thread may take the same one here.
        with self.lock:
            if connection in self.idle:
                self.idle.remove(connection)
            assert connection not in self.in_use, f"connection {connection} was handed out twice"
            self.in_use.add(connection)
        return connection

    def release(self, connection: int) -> None:
        with self.lock:
            self.in_use.remove(connection)
            self.idle.append(connection)


def main() -> None:
    """Three threads use three connections, again and again."""
    pool = Pool(3)

    def work() -> None:
        for _ in range(1_000):
            connection = pool.acquire()
            if connection is not None:
                pool.release(connection)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{len(pool.idle)} connections are idle")


if __name__ == "__main__":
    main()
