"""Updates that are lost or seen half done, because no lock or the wrong lock guards them."""

from __future__ import annotations

import threading

from ._together import together


class _Counter:
    def __init__(self) -> None:
        self.value = 0
        self.lock = threading.Lock()

    def increment(self) -> None:
        value = self.value
        self.value = value + 1

    def locked_increment(self) -> None:
        with self.lock:
            self.increment()


def lost_update(threads: int) -> None:
    """Read-modify-writes without a lock: one is lost."""
    counter = _Counter()
    together(*[counter.increment] * threads)
    assert counter.value == threads


def kept_update(threads: int) -> None:
    """Each read-modify-write holds the lock."""
    counter = _Counter()
    together(*[counter.locked_increment] * threads)
    assert counter.value == threads


def _nested(increment_name: str) -> None:
    counter = _Counter()
    increment = getattr(counter, increment_name)

    def outer() -> None:
        inner = threading.Thread(target=increment)
        inner.start()
        increment()
        inner.join()

    together(outer)
    assert counter.value == 2


def nested_lost_update() -> None:
    """A thread starts a thread, and both count without a lock."""
    _nested("increment")


def nested_kept_update() -> None:
    """A thread starts a thread, and both count under the lock."""
    _nested("locked_increment")


class _Account:
    def __init__(self, balance: int) -> None:
        self.balance = balance
        self.lock = threading.Lock()


def account_lost_deposit() -> None:
    """Depositing reads the balance under the lock and writes it under the lock, not in one go."""
    account = _Account(10)

    def deposit() -> None:
        with account.lock:
            balance = account.balance
        with account.lock:
            account.balance = balance + 5

    def withdraw() -> None:
        with account.lock:
            account.balance -= 3

    together(deposit, withdraw)
    assert account.balance == 12


def account_kept_deposit() -> None:
    """Depositing reads and writes the balance within one critical section."""
    account = _Account(10)

    def deposit() -> None:
        with account.lock:
            account.balance += 5

    def withdraw() -> None:
        with account.lock:
            account.balance -= 3

    together(deposit, withdraw)
    assert account.balance == 12


def account_checked_too_early() -> None:
    """The check of the final balance is a thread of its own, and trusts a flag set too early."""
    account = _Account(0)
    done = {"deposit": False, "withdraw": False}

    def deposit() -> None:
        done["deposit"] = True
        with account.lock:
            account.balance += 7

    def withdraw() -> None:
        with account.lock:
            account.balance -= 2
        done["withdraw"] = True

    def check() -> None:
        if done["deposit"] and done["withdraw"]:
            with account.lock:
                assert account.balance == 5

    together(deposit, withdraw, check)


def account_checked_in_time() -> None:
    """The flags are set only when the balance is what they promise."""
    account = _Account(0)
    done = {"deposit": False, "withdraw": False}

    def deposit() -> None:
        with account.lock:
            account.balance += 7
            done["deposit"] = True

    def withdraw() -> None:
        with account.lock:
            account.balance -= 2
            done["withdraw"] = True

    def check() -> None:
        with account.lock:
            if done["deposit"] and done["withdraw"]:
                assert account.balance == 5

    together(deposit, withdraw, check)


def transfer_seen_half_done() -> None:
    """A sum over two accounts is taken while money is in neither: each account has its own lock."""
    accounts = [_Account(100), _Account(100)]

    def transfer() -> None:
        with accounts[0].lock:
            accounts[0].balance -= 30
        with accounts[1].lock:
            accounts[1].balance += 30

    def audit() -> None:
        total = 0
        for account in accounts:
            with account.lock:
                total += account.balance
        assert total == 200

    together(transfer, audit)


def transfer_in_one_go() -> None:
    """Transfer and sum hold both locks, taken in the same order."""
    accounts = [_Account(100), _Account(100)]

    def transfer() -> None:
        with accounts[0].lock, accounts[1].lock:
            accounts[0].balance -= 30
            accounts[1].balance += 30

    def audit() -> None:
        with accounts[0].lock, accounts[1].lock:
            assert accounts[0].balance + accounts[1].balance == 200

    together(transfer, audit)


class _TwoLocks:
    def __init__(self) -> None:
        self.value = 0
        self.right = threading.Lock()
        self.wrong = threading.Lock()

    def update_under(self, lock: threading.Lock) -> None:
        with lock:
            before = self.value
            self.value = before + 1
            assert self.value == before + 1


def wrong_lock(right: int, wrong: int) -> None:
    """``right`` threads update under one lock, ``wrong`` threads under another."""
    data = _TwoLocks()
    together(
        *[lambda: data.update_under(data.right)] * right,
        *[lambda: data.update_under(data.wrong)] * wrong,
    )


def same_lock(threads: int) -> None:
    """All threads update under the same lock."""
    data = _TwoLocks()
    together(*[lambda: data.update_under(data.right)] * threads)


class _Data:
    def __init__(self) -> None:
        self.value = 0
        self.lock = threading.Lock()

    def add(self, number: int) -> None:
        with self.lock:
            self.value += number


def lazy_too_early() -> None:
    """Whoever checks believes to come before the other two are both through."""
    data = _Data()

    def check() -> None:
        with data.lock:
            assert data.value < 3

    together(check, lambda: data.add(1), lambda: data.add(2))


def lazy_ordered() -> None:
    """Whoever checks has come before the other two start."""
    data = _Data()

    def check() -> None:
        with data.lock:
            assert data.value < 3

    together(check, lambda: data.add(1))
    together(lambda: data.add(2))


class _Ring:
    def __init__(self) -> None:
        self.values = [1, 2, 1]
        self.is_done = [False, False, False]
        self.lock = threading.Lock()

    def first(self) -> None:
        with self.lock:
            self.values[0] = (self.values[2] + 1) % 4
            self.is_done[0] = True

    def follow(self, position: int) -> None:
        with self.lock:
            self.values[position] = self.values[position - 1]
            self.is_done[position] = True

    def check(self) -> None:
        with self.lock:
            if all(self.is_done):
                assert self.values == [2, 2, 2]


def token_ring_unordered() -> None:
    """Each member of a ring takes over its neighbour's value; the order is left to chance."""
    ring = _Ring()
    together(ring.first, lambda: ring.follow(1), lambda: ring.follow(2), ring.check)


def token_ring_ordered() -> None:
    """Each member waits until its neighbour is through."""
    ring = _Ring()
    through = [threading.Event() for _ in range(3)]

    def first() -> None:
        ring.first()
        through[0].set()

    def follow(position: int) -> None:
        through[position - 1].wait()
        ring.follow(position)
        through[position].set()

    together(first, lambda: follow(1), lambda: follow(2), ring.check)


class _StringBuffer:
    def __init__(self, text: str) -> None:
        self.text = list(text)
        self.lock = threading.RLock()

    def length(self) -> int:
        with self.lock:
            return len(self.text)

    def erase(self) -> None:
        with self.lock:
            self.text = []

    def characters(self, end: int) -> list[str]:
        with self.lock:
            if end > len(self.text):
                raise IndexError(f"there are {len(self.text)} characters, not {end}")
            return self.text[:end]

    def append(self, other: _StringBuffer) -> None:
        with self.lock:
            length = other.length()
            self.text = self.text + other.characters(length)

    def append_holding(self, other: _StringBuffer) -> None:
        with other.lock:
            self.append(other)


def string_buffer_append() -> None:
    """Appending asks the other buffer for its length, then for as many characters as it had."""
    buffer, other = _StringBuffer("ab"), _StringBuffer("cd")
    together(lambda: buffer.append(other), other.erase)


def string_buffer_append_holding() -> None:
    """Appending holds the other buffer's lock from the length to the characters."""
    buffer, other = _StringBuffer("ab"), _StringBuffer("cd")
    together(lambda: buffer.append_holding(other), other.erase)


def check_then_act() -> None:
    """Two threads find a key missing and compute its value: it is computed twice."""
    cache: dict[str, int] = {}
    computed: list[str] = []

    def get() -> None:
        if "key" not in cache:
            computed.append("key")
            cache["key"] = len(computed)

    together(get, get)
    assert len(computed) == 1


def check_and_act() -> None:
    """Look and computation are one critical section."""
    cache: dict[str, int] = {}
    computed: list[str] = []
    lock = threading.Lock()

    def get() -> None:
        with lock:
            if "key" not in cache:
                computed.append("key")
                cache["key"] = len(computed)

    together(get, get)
    assert len(computed) == 1


def check_then_delete() -> None:
    """Two threads see an entry to evict; the second finds it gone."""
    entries = {"old": 1, "new": 2}

    def evict() -> None:
        if "old" in entries:
            del entries["old"]

    together(evict, evict)
    assert set(entries) == {"new"}


def pop_with_default() -> None:
    """Looking and deleting are one operation."""
    entries = {"old": 1, "new": 2}
    together(lambda: entries.pop("old", None), lambda: entries.pop("old", None))
    assert set(entries) == {"new"}


class _Pool:
    def __init__(self, size: int) -> None:
        self.size = size
        self.members: list[int] = []
        self.lock = threading.Lock()

    def is_full(self) -> bool:
        with self.lock:
            return len(self.members) >= self.size

    def add(self, member: int) -> None:
        with self.lock:
            self.members.append(member)


def pool_grows_too_big() -> None:
    """Fullness is asked for under the lock and used after it: the pool grows beyond its size."""
    pool = _Pool(2)

    def grow(member: int) -> None:
        if not pool.is_full():
            pool.add(member)

    together(lambda: grow(1), lambda: grow(2), lambda: grow(3))
    assert len(pool.members) <= pool.size


def pool_stays_small() -> None:
    """Fullness and adding are one critical section."""
    pool = _Pool(2)

    def grow(member: int) -> None:
        with pool.lock:
            if len(pool.members) < pool.size:
                pool.members.append(member)

    together(lambda: grow(1), lambda: grow(2), lambda: grow(3))
    assert len(pool.members) <= pool.size
