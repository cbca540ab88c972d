"""Programs that users might have."""

LOST_UPDATE = """
import threading

class Counter:
    def __init__(self):
        self.value = 0

    def add(self):
        value = self.value
        self.value = value + 1

def test_add():
    counter = Counter()
    threads = [threading.Thread(target=counter.add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("the counter says", counter.value)
    assert counter.value == 2
"""

LOCKED = """
import threading

def test_add():
    lock = threading.Lock()
    values = []

    def add():
        with lock:
            values.append(len(values))

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [0, 1]
"""

DEADLOCK = """
import threading

def test_both_orders():
    first, second = threading.Lock(), threading.Lock()

    def one():
        with first, second:
            pass

    def other():
        with second, first:
            pass

    threads = [threading.Thread(target=one), threading.Thread(target=other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

BLOCKED_IN_C = """
import ctypes
import threading
import time

def block():
    library = ctypes.CDLL(None)
    mutex = ctypes.create_string_buffer(64)
    end = int(time.clock_gettime(time.CLOCK_REALTIME)) + 60
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_timedlock(mutex, (ctypes.c_long * 2)(end, 0))

def test_block():
    thread = threading.Thread(target=block)
    thread.start()
    thread.join()

if __name__ == "__main__":
    test_block()
"""
