"""Programs in which a task writes what rests on a read before an await.

The docstring of each begins with the pattern and the variable that is to be told.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any


class Account:
    def __init__(self, balance: int = 0) -> None:
        self.balance = balance

    async def get(self) -> int:
        await asyncio.sleep(0)
        return self.balance

    async def set(self, balance: int) -> None:
        await asyncio.sleep(0)
        self.balance = balance


def deposits() -> None:
    """lost update: Account.balance. The classic, with a local copy."""
    account = Account()

    async def deposit(amount: int) -> None:
        balance = account.balance
        await asyncio.sleep(0)
        account.balance = balance + amount

    async def main() -> None:
        await asyncio.gather(deposit(1), deposit(2))

    asyncio.run(main())


def awaits_in_the_middle() -> None:
    """lost update: Account.balance. ``+=`` reads before it awaits the amount."""
    account = Account()

    async def amount() -> int:
        await asyncio.sleep(0.1)
        return 1

    async def deposit() -> None:
        account.balance += await amount()

    async def main() -> None:
        await asyncio.gather(deposit(), deposit())

    asyncio.run(main())


def adds_an_awaited_value() -> None:
    """lost update: dict totals['hits']. The left operand is older than the right one."""
    totals = {"hits": 0}

    async def fetched() -> int:
        await asyncio.sleep(0)
        return 1

    async def count() -> None:
        totals["hits"] = totals["hits"] + await fetched()

    async def main() -> None:
        await asyncio.gather(count(), count())

    asyncio.run(main())


def accessors() -> None:
    """lost update: Account.balance. Read and written by coroutines that are called for it."""
    account = Account()

    async def deposit() -> None:
        seen = await account.get()
        more = seen + 1
        await account.set(more)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(deposit())
            group.create_task(deposit())

    asyncio.run(main())


def withdrawals() -> None:
    """check-then-act: Account.balance. What is written is up to date, the test is not."""
    account = Account(10)

    async def withdraw() -> None:
        if account.balance >= 10:
            await asyncio.sleep(0)
            account.balance -= 10

    async def main() -> None:
        await asyncio.gather(withdraw(), withdraw())

    asyncio.run(main())


class Pool:
    def __init__(self) -> None:
        self.connection: object | None = None

    async def connect(self) -> object | None:
        if self.connection is not None:
            return self.connection
        await asyncio.sleep(0)
        self.connection = object()
        return self.connection


def connects_twice() -> None:
    """check-then-act: Pool.connection. The test leaves the function early."""
    pool = Pool()

    async def main() -> None:
        await asyncio.gather(pool.connect(), pool.connect())

    asyncio.run(main())


def cache_stampede() -> None:
    """check-then-act: dict cache['key']. Two tasks miss, both fetch."""
    cache: dict[str, object] = {}

    async def fetch(key: str) -> object:
        await asyncio.sleep(0)
        return object()

    async def look_up(key: str) -> object:
        if key not in cache:
            cache[key] = await fetch(key)
        return cache[key]

    async def main() -> None:
        await asyncio.gather(look_up("key"), look_up("key"))

    asyncio.run(main())


def missing_key() -> None:
    """check-then-act: dict cache['key']. The test is a lookup that fails."""
    cache: dict[str, object] = {}

    async def look_up(key: str) -> object:
        try:
            return cache[key]
        except KeyError:
            await asyncio.sleep(0)
            cache[key] = object()
            return cache[key]

    async def main() -> None:
        await asyncio.gather(look_up("key"), look_up("key"))

    asyncio.run(main())


def lock_let_go_in_between() -> None:
    """lost update: Account.balance. Read and written under the lock, which is free in between."""
    account = Account()

    async def main() -> None:
        lock = asyncio.Lock()

        async def deposit() -> None:
            async with lock:
                seen = account.balance
            await asyncio.sleep(0)
            async with lock:
                account.balance = seen + 1

        await asyncio.gather(deposit(), deposit())

    asyncio.run(main())


def semaphore_of_two() -> None:
    """lost update: Account.balance. The semaphore lets two in."""
    account = Account()

    async def main() -> None:
        slots = asyncio.Semaphore(2)

        async def deposit() -> None:
            async with slots:
                seen = account.balance
                await asyncio.sleep(0)
                account.balance = seen + 1

        await asyncio.gather(deposit(), deposit())

    asyncio.run(main())


@dataclass
class Session:
    user: Any = None
    log: list[str] = field(default_factory=list)


def restores_what_was() -> None:
    """lost update: Session.user. Two tasks change a state for a while, and put back what was."""
    session = Session()

    async def as_user(name: str) -> None:
        before = session.user
        session.user = name
        try:
            await asyncio.sleep(0)
        finally:
            session.user = before

    async def main() -> None:
        await asyncio.gather(as_user("a"), as_user("b"))

    asyncio.run(main())


def writer_of_another_function() -> None:
    """lost update: Account.balance. The write in between is that of other code."""
    account = Account()

    async def interest() -> None:
        seen = account.balance
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        account.balance = int(seen * 1.1)

    async def deposit() -> None:
        await asyncio.sleep(0)
        account.balance += 100

    async def main() -> None:
        await asyncio.gather(interest(), deposit())

    asyncio.run(main())


def loop_that_looks_first() -> None:
    """check-then-act: Account.balance. More than the limit may come of it."""
    account = Account()

    async def fill() -> None:
        while account.balance < 1:
            await asyncio.sleep(0)
            account.balance += 1

    async def main() -> None:
        await asyncio.gather(fill(), fill())

    asyncio.run(main())


def smallest_free_key() -> None:
    """lost update: dict names. What is deleted was chosen before the await."""
    names = {1: "a", 2: "b"}

    async def take() -> None:
        first = next(iter(names))
        await asyncio.sleep(0)
        names.pop(first, None)

    async def main() -> None:
        await asyncio.gather(take(), take())

    asyncio.run(main())


def no_second_test_under_the_lock() -> None:
    """check-then-act: dict cache['key']. Who waits for the lock has tested before."""
    cache: dict[str, object] = {}

    async def main() -> None:
        lock = asyncio.Lock()

        async def look_up(key: str) -> None:
            if key not in cache:
                async with lock:
                    await asyncio.sleep(0)
                    cache[key] = object()

        await asyncio.gather(look_up("key"), look_up("key"))

    asyncio.run(main())
