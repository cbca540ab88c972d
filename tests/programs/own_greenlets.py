"""Programs that run ordinary code in greenlets, and await on its behalf, as SQLAlchemy does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import greenlet


async def spawn(function: Callable[[], Any]) -> Any:
    """Run an ordinary function that may call :func:`wait_for`."""
    inner = greenlet.greenlet(function, greenlet.getcurrent())
    result = inner.switch()
    while not inner.dead:
        try:
            value = await result
        except BaseException as error:
            result = inner.throw(error)
        else:
            result = inner.switch(value)
    return result


def wait_for(awaitable: Awaitable[Any]) -> Any:
    """Await something in the middle of ordinary code."""
    parent = greenlet.getcurrent().parent
    assert parent is not None
    return parent.switch(awaitable)


class Account:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.balance = 0

    def deposit(self) -> None:
        with self.lock:
            self.balance += 1

    def deposit_in_two_parts(self) -> None:
        with self.lock:
            seen = self.balance
        with self.lock:
            self.balance = seen + 1


def deposits(deposit: Callable[[Account], None]) -> None:
    account = Account()

    async def main() -> None:
        def both() -> int:
            thread = threading.Thread(target=deposit, args=(account,))
            thread.start()
            deposit(account)
            wait_for(asyncio.sleep(0))
            thread.join()
            return account.balance

        assert await asyncio.gather(spawn(both), spawn(both)) is not None

    asyncio.run(main())
    assert account.balance == 4


def safe() -> None:
    deposits(Account.deposit)


def lost_update() -> None:
    deposits(Account.deposit_in_two_parts)


unwound: list[str] = []


def both_ways() -> None:
    """A deadlock of a thread and of ordinary code in a greenlet of the loop's task."""
    first, second = threading.Lock(), threading.Lock()
    unwound.clear()

    def there() -> None:
        with second, first:
            pass

    async def main() -> None:
        def here() -> None:
            thread = threading.Thread(target=there)
            thread.start()
            try:
                with first:
                    with second:
                        pass
            finally:
                unwound.append("here")
            thread.join()

        await spawn(here)

    asyncio.run(main())
