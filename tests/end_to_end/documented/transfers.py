import threading


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.lock = threading.Lock()


def transfer(source, target, amount):
    with source.lock:
        with target.lock:
            source.balance -= amount
            target.balance += amount


if __name__ == "__main__":
    first, second = Account(10), Account(10)
    there = threading.Thread(target=transfer, args=(first, second, 1), name="there")
    back = threading.Thread(target=transfer, args=(second, first, 2), name="back")
    there.start()
    back.start()
    there.join()
    back.join()
