"""Contention: 2 processes put into one queue of 8, 2 get from it; prints a digest, and seconds."""

import multiprocessing
import sys
import time

PUTTERS, GETTERS = 2, 2
EACH = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000


def put(name, work):
    for number in range(EACH):
        work.put((name, number))


def get(work, digests):
    digest = 0
    while (item := work.get()) is not None:
        name, number = item
        digest = (digest * 31 + name * EACH + number) % (1 << 61)
    digests.put(digest)


def run():
    work, digests = multiprocessing.Queue(8), multiprocessing.Queue()
    putters = [multiprocessing.Process(target=put, args=(n, work)) for n in range(PUTTERS)]
    getters = [multiprocessing.Process(target=get, args=(work, digests)) for _ in range(GETTERS)]
    for process in putters + getters:
        process.start()
    for process in putters:
        process.join()
    for _ in getters:
        work.put(None)
    found = sorted(digests.get() for _ in getters)
    for process in getters:
        process.join()
    return "-".join(map(str, found))


if __name__ == "__main__":
    begin = time.perf_counter()
    order = run()
    print(order, time.perf_counter() - begin)
