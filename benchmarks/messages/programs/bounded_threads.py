"""Contention: 4 threads put into one queue of 8, 4 get from it; prints a digest, and seconds."""

import queue
import sys
import threading
import time

PUTTERS, GETTERS = 4, 4
EACH = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000


def run(each):
    work = queue.Queue(8)
    got = [[] for _ in range(GETTERS)]

    def put(name):
        for number in range(each):
            work.put((name, number))

    def get(into):
        while (item := work.get()) is not None:
            into.append(item)

    putters = [threading.Thread(target=put, args=(n,)) for n in range(PUTTERS)]
    getters = [threading.Thread(target=get, args=(into,)) for into in got]
    for thread in putters + getters:
        thread.start()
    for thread in putters:
        thread.join()
    for _ in getters:
        work.put(None)
    for thread in getters:
        thread.join()
    digest = 0
    for into in got:
        for name, number in into:
            digest = (digest * 31 + name * each + number) % (1 << 61)
    return digest


if __name__ == "__main__":
    begin = time.perf_counter()
    order = run(EACH)
    print(order, time.perf_counter() - begin)
