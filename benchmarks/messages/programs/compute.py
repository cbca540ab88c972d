"""Compute-heavy: 4 threads that hash, and 40 messages; prints a digest, and seconds."""

import hashlib
import queue
import threading
import time


def run():
    work, results = queue.Queue(), queue.Queue()

    def hash_blocks():
        while (number := work.get()) is not None:
            digest = str(number).encode()
            for _ in range(15_000):
                digest = hashlib.sha256(digest).digest()
            results.put((number, digest))

    threads = [threading.Thread(target=hash_blocks) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in [*range(40), None, None, None, None]:
        work.put(number)
    for thread in threads:
        thread.join()
    return sum(results.get()[1][0] for _ in range(40))


if __name__ == "__main__":
    begin = time.perf_counter()
    order = run()
    print(order, time.perf_counter() - begin)
