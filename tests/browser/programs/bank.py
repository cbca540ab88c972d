"""Two deposits at the same time."""

import threading


class Account:
    def __init__(self) -> None:
        self.balance = 0

    def deposit(self, amount: int) -> None:
        current = self.balance
        self.balance = current + amount


def main() -> None:
    account = Account()
    threads = [threading.Thread(target=account.deposit, args=(amount,)) for amount in (10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.balance == 30, f"{account.balance} in the account, not 30"


if __name__ == "__main__":
    main()
