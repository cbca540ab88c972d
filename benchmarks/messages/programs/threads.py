"""Channel-heavy: 8 threads, 10,000 messages twice; prints a digest of their order, and seconds."""

import queue
import sys
import threading
import time

SENDERS, RECEIVERS, EACH = 4, 4, 2_500


def run(each):
    work, results = queue.Queue(), queue.Queue()

    def send(name):
        for number in range(each):
            work.put((name, number))

    def receive():
        while (item := work.get()) is not None:
            results.put(item)

    senders = [threading.Thread(target=send, args=(n,)) for n in range(SENDERS)]
    receivers = [threading.Thread(target=receive) for _ in range(RECEIVERS)]
    for thread in senders + receivers:
        thread.start()
    for thread in senders:
        thread.join()
    for _ in receivers:
        work.put(None)
    for thread in receivers:
        thread.join()
    digest = 0
    for _ in range(SENDERS * each):
        name, number = results.get()
        digest = (digest * 31 + name * each + number) % (1 << 61)
    return digest


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.setswitchinterval(float(sys.argv[1]))
    run(100)
    begin = time.perf_counter()
    order = run(EACH)
    print(order, time.perf_counter() - begin)
