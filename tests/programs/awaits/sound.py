"""Programs of which no race over an await may be told."""

import asyncio

from tests.programs.awaits.racy import Account


def reads_again() -> None:
    """``+=`` after the await."""
    account = Account()

    async def deposit() -> None:
        await asyncio.sleep(0)
        account.balance += 1

    async def main() -> None:
        await asyncio.gather(deposit(), deposit())

    asyncio.run(main())


def old_value_is_only_shown() -> None:
    """The read before the await has nothing to do with the write after it."""
    account = Account()

    async def deposit() -> None:
        before = account.balance
        await asyncio.sleep(0)
        account.balance += 1
        assert account.balance != before

    async def main() -> None:
        await asyncio.gather(deposit(), deposit())

    asyncio.run(main())


def holds_a_lock() -> None:
    """Both hold it from the read to the write."""
    account = Account()

    async def main() -> None:
        lock = asyncio.Lock()

        async def deposit() -> None:
            async with lock:
                seen = account.balance
                await asyncio.sleep(0)
                account.balance = seen + 1

        await asyncio.gather(deposit(), deposit(), deposit())

    asyncio.run(main())


def holds_a_semaphore() -> None:
    """A semaphore of one is a lock."""
    account = Account()

    async def main() -> None:
        slots = asyncio.BoundedSemaphore(1)

        async def deposit() -> None:
            async with slots:
                seen = account.balance
                await asyncio.sleep(0)
                account.balance = seen + 1

        await asyncio.gather(deposit(), deposit())

    asyncio.run(main())


def waits_for_a_condition() -> None:
    """Who waits tests again."""
    account = Account(1)

    async def main() -> None:
        condition = asyncio.Condition()

        async def take() -> None:
            async with condition:
                while account.balance == 0:
                    await condition.wait()
                account.balance -= 1

        async def give() -> None:
            async with condition:
                account.balance += 1
                condition.notify()

        await asyncio.gather(take(), take(), give())

    asyncio.run(main())


def one_writer() -> None:
    """The others only look."""
    account = Account()

    async def count() -> None:
        for _ in range(3):
            seen = account.balance
            await asyncio.sleep(0)
            account.balance = seen + 1

    async def look() -> None:
        for _ in range(3):
            assert account.balance <= 3
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(count(), look(), look())

    asyncio.run(main())


def made_before_it_is_shared() -> None:
    """What main does before the others begin, and after they have ended."""
    account = Account()

    async def deposit() -> None:
        account.balance += 1

    async def main() -> None:
        seen = account.balance
        await asyncio.sleep(0)
        account.balance = seen + 10
        await asyncio.gather(deposit(), deposit())
        seen = account.balance
        await asyncio.sleep(0)
        account.balance = seen + 10

    asyncio.run(main())


def asks_a_child() -> None:
    """The write in between is that of a task that is asked for, and waited for: part of it."""
    account = Account()

    async def child() -> None:
        await asyncio.sleep(0)
        account.balance = 5

    async def main() -> None:
        before = account.balance
        await asyncio.create_task(child())
        account.balance = before

    asyncio.run(main())


def asks_children_of_a_group() -> None:
    """The same with several, and a group that waits for them."""
    account = Account()

    async def child() -> None:
        await asyncio.sleep(0)
        account.balance += 5

    async def main() -> None:
        before = account.balance
        async with asyncio.TaskGroup() as group:
            group.create_task(child())
            group.create_task(child())
        account.balance = before

    asyncio.run(main())


def tests_again_under_the_lock() -> None:
    """Double-checked: the second test is the one that counts."""
    cache: dict[str, object] = {}

    async def main() -> None:
        lock = asyncio.Lock()

        async def look_up(key: str) -> object:
            if key not in cache:
                async with lock:
                    if key not in cache:
                        await asyncio.sleep(0)
                        cache[key] = object()
            return cache[key]

        await asyncio.gather(look_up("key"), look_up("key"))

    asyncio.run(main())


def other_keys() -> None:
    """Each task has an item of its own."""
    totals = {"a": 0, "b": 0}

    async def count(key: str) -> None:
        seen = totals[key]
        await asyncio.sleep(0)
        totals[key] = seen + 1

    async def main() -> None:
        await asyncio.gather(count("a"), count("b"))

    asyncio.run(main())


def claims_before_it_awaits() -> None:
    """The flag is set in the step of the test; what comes after is the owner's."""
    account = Account()

    async def run() -> None:
        if account.balance == 0:
            account.balance = 1
            await asyncio.sleep(0)
            account.balance = 0

    async def main() -> None:
        await asyncio.gather(run(), run())

    asyncio.run(main())


def stops_a_loop() -> None:
    """Both end the loop, by the same constant."""
    account = Account(1)

    async def run() -> None:
        while account.balance:
            await asyncio.sleep(0)
            end()

    def end() -> None:
        account.balance = 0

    async def stop() -> None:
        end()

    async def main() -> None:
        await asyncio.gather(run(), stop())

    asyncio.run(main())


def hands_on_by_a_queue() -> None:
    """Producer and consumer have nothing in common but the queue."""
    account = Account()

    async def main() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(1)

        async def produce() -> None:
            for number in range(3):
                await queue.put(number)

        async def consume() -> None:
            for _ in range(3):
                seen = account.balance
                account.balance = seen + await queue.get()

        await asyncio.gather(produce(), consume())

    asyncio.run(main())


def writes_over() -> None:
    """What is written rests on nothing that was read."""
    account = Account()

    async def work(number: int) -> None:
        if account.balance < 0:
            return
        await asyncio.sleep(0)
        print(account.balance)
        other = account.balance
        account.balance = other

    async def main() -> None:
        await asyncio.gather(work(1))

    asyncio.run(main())


def last_one_wins() -> None:
    """A plain write after an await."""
    account = Account()

    async def work(number: int) -> None:
        print(account.balance)
        await asyncio.sleep(0)
        account.balance = number

    async def main() -> None:
        await asyncio.gather(work(1), work(2))

    asyncio.run(main())


def waits_for_its_turn() -> None:
    """A lock of its own, handed over by a future: who waits is told when the answer has changed."""
    account = Account(1)
    waiting: list[asyncio.Future[None]] = []

    async def take() -> None:
        if account.balance > 0:
            account.balance -= 1
        else:
            turn = asyncio.get_running_loop().create_future()
            waiting.append(turn)
            await turn
            account.balance -= 1

    def give() -> None:
        account.balance += 1
        if waiting:
            waiting.pop(0).set_result(None)

    async def use() -> None:
        await take()
        await asyncio.sleep(0)
        give()

    async def main() -> None:
        await asyncio.gather(use(), use())

    asyncio.run(main())
