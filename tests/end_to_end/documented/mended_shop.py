import threading


class Shop:
    """Sells tickets until there are none left."""

    def __init__(self, tickets):
        self.tickets = tickets
        self.lock = threading.Lock()

    def buy(self):
        """True if a ticket was sold."""
        with self.lock:
            if self.tickets > 0:
                self.tickets -= 1
                return True
            return False
