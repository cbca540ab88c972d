"""Racy and sound programs of trio; the docstring of a racy one begins as in :mod:`.racy`."""

import math

import trio

from tests.programs.awaits.racy import Account


def deposits() -> None:
    """lost update: Account.balance."""
    account = Account()

    async def deposit() -> None:
        seen = account.balance
        await trio.sleep(0)
        account.balance = seen + 1

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(deposit)
            nursery.start_soon(deposit)

    trio.run(main)


def withdrawals() -> None:
    """check-then-act: Account.balance."""
    account = Account(10)

    async def withdraw() -> None:
        if account.balance < 10:
            return
        await trio.sleep(1)
        account.balance -= 10

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(withdraw)
            nursery.start_soon(withdraw)

    trio.run(main)


def limiter_of_two() -> None:
    """lost update: Account.balance. The limiter lets two in."""
    account = Account()

    async def main() -> None:
        limiter = trio.CapacityLimiter(2)

        async def deposit() -> None:
            async with limiter:
                seen = account.balance
                await trio.lowlevel.checkpoint()
                account.balance = seen + 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(deposit)
            nursery.start_soon(deposit)

    trio.run(main)


def holds_a_lock() -> None:
    """Sound: both hold it from the read to the write."""
    account = Account()

    async def main() -> None:
        lock = trio.Lock()

        async def deposit() -> None:
            async with lock:
                seen = account.balance
                await trio.sleep(0)
                account.balance = seen + 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(deposit)
            nursery.start_soon(deposit)

    trio.run(main)


def reads_again() -> None:
    """Sound: ``+=`` after the await."""
    account = Account()

    async def deposit() -> None:
        await trio.sleep(0)
        account.balance += 1

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(deposit)
            nursery.start_soon(deposit)

    trio.run(main)


def asks_children() -> None:
    """Sound: the nursery is closed before the write."""
    account = Account()

    async def child() -> None:
        await trio.sleep(0)
        account.balance += 1

    async def main() -> None:
        before = account.balance
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
            nursery.start_soon(child)
        account.balance = before

    trio.run(main)


def asks_by_a_channel() -> None:
    """Sound: the answer comes after the write in between, which the question has asked for."""
    account = Account()

    async def main() -> None:
        ask, asked = trio.open_memory_channel[int](0)
        answer, answered = trio.open_memory_channel[int](0)

        async def serve() -> None:
            async for number in asked:
                account.balance = number
                await answer.send(number)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            before = account.balance
            await ask.send(1)
            await answered.receive()
            account.balance = before
            ask.close()

    trio.run(main)


def buffered_channel() -> None:
    """Sound: one task counts what others send."""
    account = Account()

    async def main() -> None:
        send, receive = trio.open_memory_channel[int](math.inf)

        async def produce() -> None:
            await send.send(1)

        async def consume() -> None:
            for _ in range(2):
                account.balance += await receive.receive()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            nursery.start_soon(produce)
            nursery.start_soon(consume)

    trio.run(main)
