"""How many executions partial-order reduction takes to the proof, for small async programs.

    python benchmarks/loops.py

prints the table of docs/explanation/search.md, "Event loops"; trio has to be installed for its
rows.  Counts depend on nothing but the version of Python, and hardly on that.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from typing import Any

import bohrbug

MOST = 5_000
"""Executions of one program."""

Pause = Callable[[], Coroutine[Any, Any, None]]
Job = Callable[["Account", Pause], Coroutine[Any, Any, None]]


class Account:
    """What tasks share."""

    def __init__(self) -> None:
        self.balance = 0


async def lose(account: Account, pause: Pause) -> None:
    """An update over an await."""
    seen = account.balance
    await pause()
    account.balance = seen + 1


def waiting(pauses: int) -> Job:
    """What shares nothing, and gives way so often."""

    async def wait(account: Account, pause: Pause) -> None:
        for _ in range(pauses):
            await pause()

    return wait


def on_asyncio(jobs: list[Job]) -> None:
    """Run jobs as tasks of one ``gather``; without any, an empty ``main``."""

    async def main() -> None:
        account = Account()
        works = [
            job(account if job is lose else Account(), lambda: asyncio.sleep(0)) for job in jobs
        ]
        if works:
            await asyncio.gather(*works)

    asyncio.run(main())


def on_trio(jobs: list[Job]) -> None:
    """Run jobs as tasks of one nursery."""
    import trio

    async def main() -> None:
        account = Account()
        async with trio.open_nursery() as nursery:
            for job in jobs:
                nursery.start_soon(job, account, lambda: trio.sleep(0))

    trio.run(main)


def lock_cycle() -> None:
    """Two tasks take two locks in opposite orders: a deadlock, if the first is late."""

    async def take(first: asyncio.Lock, second: asyncio.Lock) -> None:
        async with first:
            await asyncio.sleep(0)
            async with second:
                pass

    async def main() -> None:
        one, other = asyncio.Lock(), asyncio.Lock()
        await asyncio.gather(take(one, other), take(other, one))

    asyncio.run(main())


def producer_and_consumer() -> None:
    """Three items go through a queue for one."""

    async def main() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(1)

        async def produce() -> None:
            for number in range(3):
                await queue.put(number)
                await asyncio.sleep(0)

        async def consume() -> None:
            for _ in range(3):
                await queue.get()

        await asyncio.gather(produce(), consume())

    asyncio.run(main())


def executions_of(test: Callable[[], None]) -> str:
    """How many executions it takes to the proof, or to a failure."""
    result = bohrbug.explore(test, strategy="dpor", executions=MOST, seconds=300)
    if result.failures:
        return f"fails in execution {result.executions}"
    covered = re.search(r"\(([\d,]+) executions?\)", " ".join(result.verdict.covered))
    if result.verdict.kind.value != "holds":
        return f"more than {MOST:,}"
    return covered[1] if covered else f"{result.executions:,}"


def main() -> None:
    """Print the table."""
    print("asyncio, an empty main:", executions_of(lambda: on_asyncio([])))
    print("asyncio, lock cycle:", executions_of(lock_cycle))
    print("asyncio, three items through a queue:", executions_of(producer_and_consumer))
    runners = {"asyncio": on_asyncio} | ({"trio": on_trio} if find_spec("trio") else {})
    jobs = {"lost update": lose, "sleep(0) once": waiting(1), "sleep(0) twice": waiting(2)}
    for runner, run in runners.items():
        for name, job in jobs.items():
            counts = [
                executions_of(lambda n=n, job=job, run=run: run([job] * n)) for n in (2, 3, 4)
            ]
            print(f"{runner}, 2, 3 and 4 tasks, {name}:", ", ".join(counts))


if __name__ == "__main__":
    main()
