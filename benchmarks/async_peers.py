"""Small asyncio programs under Bohrbug and its peers for asyncio: who finds what, and how fast.

    python async_peers.py

needs an interpreter (3.12 or newer) that has Bohrbug, ``simloom==0.5.0``, ``simloop==0.2.2`` and
``frontrun==0.7.0``.  Each measurement is a process of its own; they go round all tools, as often
as ``--rounds`` says, and what is printed are medians.  Every tool has what its users have by
default, and at most 1,000 executions where it asks for a number.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

MOST = 1_000
"""Executions of a tool that asks how many there are to be."""

RATE_SECONDS = 2.0


class Counter:
    """Counts over an ``await``."""

    def __init__(self) -> None:
        self.value = 0
        self.lock = asyncio.Lock()

    async def increment(self) -> None:
        """Lose what others count meanwhile."""
        seen = self.value
        await asyncio.sleep(0)
        self.value = seen + 1

    async def increment_later(self) -> None:
        """The same, so much later that first in, first out hides it."""
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await self.increment()

    async def increment_locked(self) -> None:
        """Lose nothing."""
        async with self.lock:
            await self.increment()


class Table:
    """Two forks."""

    def __init__(self) -> None:
        self.left = asyncio.Lock()
        self.right = asyncio.Lock()

    async def left_first(self) -> None:
        """Take one and then the other."""
        async with self.left:
            await asyncio.sleep(0)
            async with self.right:
                pass

    async def right_first_later(self) -> None:
        """The other way round, so late that first in, first out hides it."""
        for _ in range(3):
            await asyncio.sleep(0)
        async with self.right:
            await asyncio.sleep(0)
            async with self.left:
                pass


class Exchange:
    """A producer and a consumer."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[int] = asyncio.Queue(1)
        self.received: list[int] = []

    async def produce(self) -> None:
        """Give three."""
        for number in range(3):
            await self.queue.put(number)

    async def consume(self) -> None:
        """Take three."""
        for _ in range(3):
            self.received.append(await self.queue.get())


class Callbacks:
    """Two that asyncio promises to call in the order in which it was asked."""

    def __init__(self) -> None:
        self.called: list[int] = []

    async def ask(self) -> None:
        """Ask for both, and wait until they were called."""
        loop = asyncio.get_running_loop()
        for number in range(2):
            loop.call_soon(self.called.append, number)
        await asyncio.sleep(0.01)


class Program(NamedTuple):
    """A program in the form that frontrun wants, of which the others' is made.

    Parameters:
        setup: makes what the tasks share.
        workers: the tasks.
        is_right: whether what they have done is.
        broken: whether some order makes it fail.
    """

    setup: Callable[[], Any]
    workers: list[Callable[[Any], Coroutine[Any, Any, None]]]
    is_right: Callable[[Any], bool]
    broken: bool

    async def main(self) -> None:
        """Run it, and assert that it is right."""
        shared = self.setup()
        await asyncio.gather(*[worker(shared) for worker in self.workers])
        assert self.is_right(shared)

    async def unjudged(self) -> None:
        """Run it."""
        shared = self.setup()
        await asyncio.gather(*[worker(shared) for worker in self.workers])


PROGRAMS = {
    "lost update": Program(Counter, [Counter.increment] * 2, lambda c: c.value == 2, True),
    "lost update, staggered": Program(
        Counter, [Counter.increment, Counter.increment_later], lambda c: c.value == 2, True
    ),
    "lock cycle, staggered": Program(
        Table, [Table.left_first, Table.right_first_later], lambda _: True, True
    ),
    "locked increments": Program(
        Counter, [Counter.increment_locked] * 3, lambda c: c.value == 3, False
    ),
    "producer and consumer": Program(
        Exchange, [Exchange.produce, Exchange.consume], lambda e: e.received == [0, 1, 2], False
    ),
    "callbacks in order": Program(Callbacks, [Callbacks.ask], lambda c: c.called == [0, 1], False),
}


class Judged(NamedTuple):
    """What a tool says of a program.

    Parameters:
        says: ``failed``, ``holds`` or ``nothing found``.
        executions: that it has made.
    """

    says: str
    executions: int


def bohrbug_says(program: Program) -> Judged:
    """With its defaults, but for what follows a failure: what explains it takes longest."""
    import bohrbug

    result = bohrbug.explore(
        lambda: asyncio.run(program.main()), executions=MOST, causes=0, minimise=False
    )
    says = {"FAILED": "failed", "HOLDS": "holds"}.get(result.verdict.kind.name, "nothing found")
    return Judged(says, result.executions)


def simloom_says(program: Program) -> Judged:
    """Random schedules."""
    import simloom

    found = simloom.explore(program.main, runs=MOST)
    return Judged("failed" if found.failed else "nothing found", found.runs)


def simloom_systematic_says(program: Program) -> Judged:
    """All schedules within two delays."""
    import simloom

    found = simloom.explore_systematic(program.main, max_schedules=MOST)
    says = "failed" if found.failed else "holds" if found.proven_correct else "nothing found"
    return Judged(says, found.schedules)


def simloop_says(program: Program) -> Judged:
    """Random schedules."""
    from simloop import explore

    report = explore(program.main, range(MOST))
    return Judged("nothing found", MOST) if report is None else Judged("failed", report.seed + 1)


def frontrun_says(program: Program) -> Judged:
    """Its partial-order reduction."""
    import frontrun

    result = asyncio.run(
        frontrun.explore(
            program.setup,
            list(program.workers),
            program.is_right,
            max_executions=MOST,
            reproduce_on_failure=0,
        )
    )
    says = {True: "holds", False: "failed", None: "nothing found"}[result.property_holds]
    return Judged(says, result.num_explored)


def bohrbug_rate(program: Program) -> float:
    """Random executions per second."""
    import bohrbug

    def execute() -> None:
        asyncio.run(program.unjudged())

    result = bohrbug.explore(
        execute, strategy="random", executions=10**6, seconds=RATE_SECONDS, keep_going=True
    )
    return result.executions / result.seconds


def simloom_rate(program: Program) -> float:
    """Runs per second."""
    import simloom

    return _rate(lambda seed: simloom.run(program.unjudged, seed=seed))


def simloop_rate(program: Program) -> float:
    """Runs per second."""
    from simloop import explore

    return _rate(lambda seed: explore(program.unjudged, [seed]))


def native_rate(program: Program) -> float:
    """What ``asyncio.run`` does, loop and all."""
    return _rate(lambda _: asyncio.run(program.unjudged()))


def _rate(run: Callable[[int], Any]) -> float:
    run(0)
    seed, begin = 1, time.perf_counter()
    while time.perf_counter() < begin + RATE_SECONDS:
        run(seed)
        seed += 1
    return (seed - 1) / (time.perf_counter() - begin)


JUDGES = {
    "Bohrbug": bohrbug_says,
    "simloom": simloom_says,
    "simloom, systematic": simloom_systematic_says,
    "simloop": simloop_says,
    "frontrun": frontrun_says,
}
RATES = {
    "asyncio itself": native_rate,
    "Bohrbug": bohrbug_rate,
    "simloom": simloom_rate,
    "simloop": simloop_rate,
}


def measure(what: str, tool: str, name: str) -> dict[str, Any]:
    """One measurement, in this process."""
    program = PROGRAMS[name]
    if what == "rate":
        return {"rate": RATES[tool](program)}
    JUDGES[tool](PROGRAMS["producer and consumer"])  # What is imported late is loaded by then.
    begin = time.perf_counter()
    judged = JUDGES[tool](program)
    return {**judged._asdict(), "seconds": time.perf_counter() - begin}


def _measured(*words: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        return {"problem": done.stderr.strip().splitlines()[-1][:100]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _cell(found: list[dict[str, Any]]) -> str:
    for each in found:
        if "problem" in each:
            return str(each["problem"])
    if "rate" in found[0]:
        return f"{statistics.median(each['rate'] for each in found):,.0f}"
    seconds = statistics.median(each["seconds"] for each in found)
    return f"{found[0]['says']}, {found[0]['executions']:,} in {seconds:.2f} s"


def _table(what: str, tools: list[str], names: list[str], rounds: int) -> None:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(rounds):
        for name in names:
            for tool in tools:
                found.setdefault((name, tool), []).append(_measured(what, tool, name))
    print("| program |", " | ".join(tools), "|")
    print("|---" * (len(tools) + 1) + "|")
    for name in names:
        truth = "broken" if PROGRAMS[name].broken else "correct"
        print(f"| {name} ({truth}) |", " | ".join(_cell(found[name, t]) for t in tools), "|")
    print(flush=True)


def main() -> None:
    """Measure, and print two tables."""
    parser = argparse.ArgumentParser(description="asyncio programs under Bohrbug and its peers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=3, metavar=("WHAT", "TOOL", "PROGRAM"), help="for itself")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return
    print("What each says, after how many executions:\n")
    _table("judge", list(JUDGES), list(PROGRAMS), arguments.rounds)
    print("Executions per second, where nobody has explored all of a program at once:\n")
    _table("rate", list(RATES), ["lost update", "lost update, staggered"], arguments.rounds)


if __name__ == "__main__":
    main()
