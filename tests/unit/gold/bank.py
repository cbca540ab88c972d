"""Programs that the reports of the unit tests are about; nobody runs them."""

import threading


class Account:
    def __init__(self):
        self.balance = 0
        self.lock = threading.Lock()

    def deposit(self):
        t = self.balance
        self.balance = t + 1


def transfer(source, target):
    with source.lock:
        with target.lock:
            source.balance -= 1
            target.balance += 1


def test_deposit():
    account = Account()
    first = threading.Thread(target=account.deposit)
    second = threading.Thread(target=account.deposit)
    first.start()
    second.start()
    first.join()
    second.join()
    assert account.balance == 2


def test_transfer():
    left = Account()
    right = Account()
    first = threading.Thread(target=transfer, args=(left, right))
    second = threading.Thread(target=transfer, args=(right, left))
    first.start()
    second.start()
    first.join()
    second.join()


def count(account):
    for _ in range(1000):
        with account.lock:
            account.balance += 1


def test_many():
    account = Account()
    threads = [threading.Thread(target=account.deposit) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.balance == 50
