"""Small programs of trio, each with a fault that depends on the order of its tasks."""

import trio


class Account:
    def __init__(self) -> None:
        self.balance = 0

    async def deposit(self, amount: int) -> None:
        seen = self.balance
        await trio.sleep(0)
        self.balance = seen + amount


def lost_update() -> None:
    """One deposit is a step later than the other, so that only one of the orders loses it."""

    async def main() -> None:
        account = Account()

        async def later() -> None:
            await trio.sleep(0)
            await account.deposit(2)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(account.deposit, 1)
            nursery.start_soon(later)
        assert account.balance == 3

    trio.run(main)


class Bank:
    def __init__(self) -> None:
        self.first = trio.Lock()
        self.second = trio.Lock()

    async def there(self) -> None:
        async with self.first:
            await trio.sleep(0)
            async with self.second:
                pass

    async def back(self) -> None:
        async with self.second:
            await trio.sleep(0)
            async with self.first:
                pass


def two_locks() -> None:
    async def main() -> None:
        bank = Bank()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bank.there)
            nursery.start_soon(bank.back)

    trio.run(main)


def two_channels() -> None:
    """Both send before they receive, and nothing has room for what they send."""

    async def main() -> None:
        to_server, requests = trio.open_memory_channel[str](0)
        to_client, answers = trio.open_memory_channel[str](0)

        async def client() -> None:
            await to_server.send("hello")
            await answers.receive()

        async def server() -> None:
            await to_client.send("welcome")
            await requests.receive()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(client)
            nursery.start_soon(server)

    trio.run(main)


def lost_wakeup() -> None:
    """The event is replaced once it is set, before the other task waits for it."""

    async def main() -> None:
        event = trio.Event()

        async def waiter() -> None:
            await trio.sleep(0)
            await event.wait()

        async def notifier() -> None:
            nonlocal event
            await trio.sleep(0)
            event.set()
            event = trio.Event()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(waiter)
            nursery.start_soon(notifier)

    trio.run(main)


class Pool:
    def __init__(self, size: int) -> None:
        self.free = size

    async def get(self) -> None:
        self.free -= 1
        await trio.sleep(0)

    def put(self) -> None:
        self.free += 1


def lost_slot() -> None:
    """Whoever is cancelled while a slot is made ready for it does not give that back."""

    async def main() -> None:
        pool = Pool(1)

        async def cancel(scope: trio.CancelScope) -> None:
            scope.cancel()

        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope:
                nursery.start_soon(cancel, scope)
                await pool.get()
                pool.put()
        assert pool.free == 1

    trio.run(main)


def fails_in_a_nursery() -> None:
    async def main() -> None:
        connected = False

        async def connect() -> None:
            nonlocal connected
            await trio.sleep(0)
            connected = True

        async def send() -> None:
            await trio.sleep(0)
            if not connected:
                raise ConnectionError("not connected")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(connect)
            nursery.start_soon(send)

    trio.run(main)
