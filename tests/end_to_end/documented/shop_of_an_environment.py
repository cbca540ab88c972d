import contextlib
import os
import threading


class Shop:
    def __init__(self, tickets):
        self.tickets = tickets
        self.lock = threading.Lock() if "LOCKED" in os.environ else contextlib.nullcontext()

    def buy(self):
        with self.lock:
            if self.tickets > 0:
                self.tickets -= 1
                return True
        return False
