import threading


class Shop:
    def __init__(self):
        self.tickets = 1
        self.lock = threading.Lock()

    def buy(self):
        if self.tickets > 0:
            with self.lock:
                self.tickets -= 1


shop = Shop()
customers = [threading.Thread(target=shop.buy) for _ in range(2)]
for customer in customers:
    customer.start()
for customer in customers:
    customer.join()
assert shop.tickets >= 0, shop.tickets
