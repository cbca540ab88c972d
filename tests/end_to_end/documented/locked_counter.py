import threading


class Counter:
    value = 0
    lock = threading.Lock()

    def add(self):
        with self.lock:
            value = self.value
            self.value = value + 1


counter = Counter()
threads = [threading.Thread(target=counter.add) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert counter.value == 2
