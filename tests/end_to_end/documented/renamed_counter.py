import threading


class Counter:
    """Counts."""

    def __init__(self):
        self.amount = 0

    def add(self):
        amount = self.amount
        self.amount = amount + 1


counter = Counter()
threads = [threading.Thread(target=counter.add) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert counter.amount == 2
