"""Channel-heavy: 8 processes, 10,000 messages twice; prints their order's digest, and seconds."""

import multiprocessing
import time

SENDERS, RECEIVERS, EACH = 4, 4, 2_500


def send(name, work):
    for number in range(EACH):
        work.put((name, number))


def receive(work, results):
    while (item := work.get()) is not None:
        results.put(item)


def run():
    work, results = multiprocessing.Queue(), multiprocessing.Queue()
    senders = [multiprocessing.Process(target=send, args=(n, work)) for n in range(SENDERS)]
    receivers = [
        multiprocessing.Process(target=receive, args=(work, results)) for _ in range(RECEIVERS)
    ]
    for process in senders + receivers:
        process.start()
    for process in senders:
        process.join()
    for _ in receivers:
        work.put(None)
    digest = 0
    for _ in range(SENDERS * EACH):
        name, number = results.get()
        digest = (digest * 31 + name * EACH + number) % (1 << 61)
    for process in receivers:
        process.join()
    return digest


if __name__ == "__main__":
    begin = time.perf_counter()
    order = run()
    print(order, time.perf_counter() - begin)
