"""Kernels whose pattern fits asyncio: tasks, queues, locks and conditions of its own.

A context that is cancelled is a task that is cancelled.  A task that is leaked is waited for by its
group, so that a leak is a deadlock.
"""

from __future__ import annotations

import asyncio
from asyncio import TaskGroup
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from kernel import Kernel, kernel


def async_kernel(upstream: str, kind: str) -> Callable[[Callable[[bool], Awaitable[None]]], Kernel]:
    """A kernel of a coroutine function."""

    def decorate(program: Callable[[bool], Awaitable[None]]) -> Kernel:
        @wraps(program)
        def run(fixed: bool) -> None:
            asyncio.run(program(fixed))  # type: ignore[arg-type]

        return kernel(upstream, f"async, {kind}")(run)

    return decorate


async def arrives() -> None:
    """Stand for something from outside, which takes one turn of the event loop or more.

    Without that, an event loop runs its tasks in the one order in which they became ready.
    """
    await asyncio.sleep(0)


class Rendezvous:
    """A channel without a buffer: a sender waits for a receiver."""

    def __init__(self) -> None:
        self._offers: asyncio.Queue[tuple[Any, asyncio.Future[None]]] = asyncio.Queue()

    async def send(self, value: object = None) -> None:
        taken = asyncio.get_running_loop().create_future()
        self._offers.put_nowait((value, taken))
        await taken

    async def receive(self) -> Any:
        value, taken = await self._offers.get()
        taken.set_result(None)
        return value


@async_kernel("cockroach#10214", "lock order")
async def cockroach_10214(fixed: bool) -> None:
    """Queued heartbeats are sent under their lock, and take another; a tick, the other way round."""
    coalesced, raft = asyncio.Lock(), asyncio.Lock()

    async def report_unreachable() -> None:
        async with raft:
            await arrives()

    async def send_queued() -> None:
        async with coalesced:
            await arrives()
            if not fixed:
                await report_unreachable()
        if fixed:
            await report_unreachable()

    async def tick() -> None:
        async with raft:
            await arrives()
            async with coalesced:
                pass

    async with TaskGroup() as group:
        group.create_task(send_queued())
        group.create_task(tick())


@async_kernel("kubernetes#30872", "lock order")
async def kubernetes_30872(fixed: bool) -> None:
    """Handlers run under the queue's lock and take the informer's, which asks the queue."""
    informer, fifo = asyncio.Lock(), asyncio.Lock()
    started = asyncio.Event()

    async def pop() -> None:
        await started.wait()
        async with fifo:
            await arrives()
            if not fixed:
                async with informer:
                    pass
        if fixed:
            async with informer:
                pass

    async def synced() -> None:
        started.set()
        await arrives()
        async with informer:
            await arrives()
            async with fifo:
                pass

    async with TaskGroup() as group:
        group.create_task(pop())
        group.create_task(synced())


@async_kernel("etcd#10492", "double locking")
async def etcd_10492(fixed: bool) -> None:
    """Renewing calls the checkpointer under the lock that the checkpointer takes."""
    lock = asyncio.Lock()

    async def checkpoint() -> None:
        async with lock:
            pass

    async def renew() -> None:
        async with lock:
            if not fixed:
                await checkpoint()
        if fixed:
            await checkpoint()

    async with TaskGroup() as group:
        group.create_task(renew())
        group.create_task(checkpoint())


@async_kernel("moby#17176", "double locking")
async def moby_17176(fixed: bool) -> None:
    """Cleaning up returns with the lock if there is nothing to clean up."""
    lock = asyncio.Lock()
    deleted: list[str] = []

    async def clean_up() -> None:
        await arrives()
        await lock.acquire()
        if not deleted and not fixed:
            return
        lock.release()

    async def use() -> None:
        await arrives()
        async with lock:
            deleted.append("device")
            deleted.pop()

    async with TaskGroup() as group:
        group.create_task(use())
        group.create_task(clean_up())
        group.create_task(use())


@async_kernel("kubernetes#10182", "lock and channel")
async def kubernetes_10182(fixed: bool) -> None:
    """A status is sent under the lock that the receiver takes after each."""
    lock = asyncio.Lock()
    statuses: asyncio.Queue[int] = asyncio.Queue(2 if fixed else 1)

    async def synchronise() -> None:
        for _ in range(3):
            await statuses.get()
            async with lock:
                await arrives()

    async def set_status(number: int) -> None:
        async with lock:
            await statuses.put(number)

    async with TaskGroup() as group:
        group.create_task(synchronise())
        for number in range(3):
            group.create_task(set_status(number))


@async_kernel("etcd#6873", "lock and channel")
async def etcd_6873(fixed: bool) -> None:
    """Stopping waits, with the lock, for the one that coalesces updates under it."""
    lock = asyncio.Lock()
    updates: asyncio.Queue[str | None] = asyncio.Queue()
    done = asyncio.Event()

    async def coalesce() -> None:
        while await updates.get() is not None:
            async with lock:
                pass
        done.set()

    async def update() -> None:
        await arrives()
        updates.put_nowait("update")

    async def stop() -> None:
        await arrives()
        async with lock:
            updates.put_nowait(None)
            if not fixed:
                await done.wait()
        await done.wait()

    async with TaskGroup() as group:
        group.create_task(coalesce())
        group.create_task(update())
        group.create_task(stop())


@async_kernel("grpc#1353", "lock and channel")
async def grpc_1353(fixed: bool) -> None:
    """Updates of addresses are sent under the lock that their receiver takes for each."""
    lock = asyncio.Lock()
    addresses: asyncio.Queue[int | None] = asyncio.Queue(1)

    async def update() -> None:
        for number in range(3):
            async with lock:
                if fixed and addresses.full():
                    addresses.get_nowait()
                await addresses.put(number)
        await addresses.put(None)

    async def watch() -> None:
        while await addresses.get() is not None:
            await arrives()
            async with lock:
                pass

    async with TaskGroup() as group:
        group.create_task(update())
        group.create_task(watch())


@async_kernel("grpc#1460", "lock and channel")
async def grpc_1460(fixed: bool) -> None:
    """Keeping alive waits to be woken by the first stream, with the lock that a stream needs."""
    lock = asyncio.Lock()
    awaken = asyncio.Event()
    streams: list[str] = []

    async def keep_alive() -> None:
        await arrives()
        async with lock:
            sleeping = not streams
            if sleeping and not fixed:
                await awaken.wait()
        if sleeping and fixed:
            await awaken.wait()

    async def new_stream() -> None:
        await arrives()
        async with lock:
            streams.append("stream")
            awaken.set()

    async with TaskGroup() as group:
        group.create_task(new_stream())
        group.create_task(keep_alive())


@async_kernel("kubernetes#6632", "lock and channel")
async def kubernetes_6632(fixed: bool) -> None:
    """A frame is written under the lock that the one who resets takes to close the channel."""
    lock = asyncio.Lock()
    closing = asyncio.Event()
    reset = Rendezvous()
    state = {"closed": False}

    async def monitor() -> None:
        await closing.wait()
        await arrives()
        drain = asyncio.create_task(reset.receive()) if fixed else None
        async with lock:
            state["closed"] = True
        if drain is not None:
            drain.cancel()

    async def write() -> None:
        await arrives()
        async with lock:
            if not state["closed"]:
                await reset.send(True)

    async with TaskGroup() as group:
        group.create_task(monitor())
        group.create_task(write())
        closing.set()


@async_kernel("grpc#660", "channel")
async def grpc_660(fixed: bool) -> None:
    """A benchmark that is stopped leaves the call that it has begun."""
    done = Rendezvous()
    buffered: asyncio.Queue[bool] = asyncio.Queue(1)
    async with TaskGroup() as group:

        async def call() -> None:
            await (buffered.put(True) if fixed else done.send(True))

        async def loop() -> None:
            group.create_task(call())
            await (buffered.get() if fixed else done.receive())

        looping = asyncio.create_task(loop())
        await arrives()
        looping.cancel()


@async_kernel("moby#4395", "channel")
async def moby_4395(fixed: bool) -> None:
    """The result of a function is sent to a channel that its caller drops."""
    unbuffered = Rendezvous()
    buffered: asyncio.Queue[str] = asyncio.Queue(1)
    async with TaskGroup() as group:
        group.create_task(buffered.put("error") if fixed else unbuffered.send("error"))


@async_kernel("cockroach#18101", "channel")
async def cockroach_18101(fixed: bool) -> None:
    """Restoring ends with its context, and leaves the one that fills its channel."""
    spans: asyncio.Queue[int] = asyncio.Queue(1)

    async def scatter() -> None:
        for number in range(4):
            await spans.put(number)

    async def restore() -> None:
        for _ in range(4):
            await spans.get()

    scattering = asyncio.create_task(scatter())
    restoring = asyncio.create_task(restore())
    await arrives()
    restoring.cancel()
    if fixed:
        scattering.cancel()
    await asyncio.wait([scattering, restoring])


@async_kernel("etcd#6857", "channel")
async def etcd_6857(fixed: bool) -> None:
    """A status is asked for when the node has stopped."""
    status: asyncio.Queue[asyncio.Future[str] | None] = asyncio.Queue()
    state = {"stopped": False}

    async def run() -> None:
        while (reply := await status.get()) is not None:
            reply.set_result("status")
        state["stopped"] = True
        while fixed and not status.empty():
            late = status.get_nowait()
            if late is not None:
                late.set_result("stopped")

    async def ask() -> None:
        await arrives()
        if fixed and state["stopped"]:
            return
        reply = asyncio.get_running_loop().create_future()
        status.put_nowait(reply)
        await reply

    async def stop() -> None:
        await arrives()
        status.put_nowait(None)

    async with TaskGroup() as group:
        group.create_task(run())
        group.create_task(ask())
        group.create_task(stop())


@async_kernel("cockroach#35073", "channel")
async def cockroach_35073(fixed: bool) -> None:
    """A receiver that fails to start does not say that it is closed; its channel fills up."""
    rows: asyncio.Queue[int] = asyncio.Queue(1)
    state = {"closed": False}

    async def push(row: int) -> None:
        if not state["closed"]:
            await rows.put(row)

    async def receive() -> None:
        try:
            await rows.get()
            raise ConnectionError
        except ConnectionError:
            if fixed:
                state["closed"] = True
                while True:
                    try:
                        await asyncio.wait_for(rows.get(), 1)
                    except TimeoutError:
                        return

    async with TaskGroup() as group:
        group.create_task(receive())
        for row in range(3):
            group.create_task(push(row))


@async_kernel("cockroach#1462", "channel")
async def cockroach_1462(fixed: bool) -> None:
    """A transport sends its event though the stopper has ended the only receiver."""
    events = Rendezvous()
    stopped = asyncio.Event()

    async def transport() -> None:
        while not stopped.is_set():
            sent = asyncio.create_task(events.send())
            if fixed:
                stop = asyncio.create_task(stopped.wait())
                await asyncio.wait([sent, stop], return_when=asyncio.FIRST_COMPLETED)
                stop.cancel()
                if not sent.done():
                    sent.cancel()
            else:
                await sent

    async def receiver() -> None:
        receiving = asyncio.create_task(events.receive())
        stop = asyncio.create_task(stopped.wait())
        await asyncio.wait([receiving, stop], return_when=asyncio.FIRST_COMPLETED)
        receiving.cancel()
        await stop

    async with TaskGroup() as group:
        group.create_task(receiver())
        group.create_task(transport())
        await arrives()
        stopped.set()


@async_kernel("kubernetes#5316", "channel")
async def kubernetes_5316(fixed: bool) -> None:
    """A request takes longer than its timeout, and its end can't be told any more."""
    unbuffered = Rendezvous()
    buffered: asyncio.Queue[str] = asyncio.Queue(1)

    async def request() -> None:
        await arrives()
        await (buffered.put("result") if fixed else unbuffered.send("result"))

    async with TaskGroup() as group:
        group.create_task(request())
        try:
            await asyncio.wait_for(buffered.get() if fixed else unbuffered.receive(), 0.1)
        except TimeoutError:
            pass


@async_kernel("moby#29733", "condition")
async def moby_29733(fixed: bool) -> None:
    """A plugin is activated, but nobody tells those that wait for it."""
    active = asyncio.Condition()
    state = {"active": False}

    async def wait() -> None:
        await arrives()
        async with active:
            while not state["active"]:
                await active.wait()

    async def activate() -> None:
        await arrives()
        async with active:
            state["active"] = True
            if fixed:
                active.notify_all()

    async with TaskGroup() as group:
        group.create_task(activate())
        group.create_task(wait())


@async_kernel("moby#30408", "condition")
async def moby_30408(fixed: bool) -> None:
    """Activating fails; those that wait are woken, and wait on for the manifest."""
    active = asyncio.Condition()
    state: dict[str, object] = {"manifest": None, "error": None}

    async def wait() -> None:
        async with active:
            await active.wait_for(lambda: state["manifest"] or (fixed and state["error"]))

    async def activate() -> None:
        async with active:
            state["error"] = "some junk happened"
            active.notify_all()

    async with TaskGroup() as group:
        group.create_task(wait())
        group.create_task(activate())


@async_kernel("kubernetes#81091", "race")
async def kubernetes_81091(fixed: bool) -> None:
    """A fake plugin counts its calls, of which there are two at once."""
    lock = asyncio.Lock()
    counts = {"called": 0}

    async def count() -> None:
        called = counts["called"]
        await arrives()
        counts["called"] = called + 1

    async def filter_node() -> None:
        if fixed:
            async with lock:
                await count()
        else:
            await count()

    async with TaskGroup() as group:
        group.create_task(filter_node())
        group.create_task(filter_node())
    assert counts["called"] == 2


@async_kernel("kubernetes#82550", "race")
async def kubernetes_82550(fixed: bool) -> None:
    """A provider is made when it is first asked for, by two at once."""
    made: list[object] = []
    state: dict[str, object] = {}
    lock = asyncio.Lock()

    async def provide() -> None:
        if "provider" not in state:
            await arrives()
            state["provider"] = object()
            made.append(state["provider"])

    async def provide_locked() -> None:
        async with lock:
            await provide()

    async with TaskGroup() as group:
        for _ in range(2):
            group.create_task(provide_locked() if fixed else provide())
    assert len(made) == 1


@async_kernel("grpc#2371", "nil")
async def grpc_2371(fixed: bool) -> None:
    """A configuration is handled after its connection was closed, and the balancer is gone."""
    connection: dict[str, list[str] | None] = {"balancer": []}

    async def handle() -> None:
        await arrives()
        balancer = connection["balancer"]
        if fixed and balancer is None:
            return
        balancer.append("addresses")  # type: ignore[union-attr]

    async def close() -> None:
        await arrives()
        connection["balancer"] = None

    async with TaskGroup() as group:
        group.create_task(handle())
        group.create_task(close())


@async_kernel("grpc#3090", "nil")
async def grpc_3090(fixed: bool) -> None:
    """A resolver that is being built starts to poll itself before it has been assigned."""
    connection: dict[str, list[str]] = {}
    lock = asyncio.Lock()
    async with TaskGroup() as group:

        async def poll() -> None:
            async with lock:
                connection["resolver"].append("now")

        async def build() -> list[str]:
            group.create_task(poll())
            await arrives()
            return []

        if fixed:
            async with lock:
                connection["resolver"] = await build()
        else:
            connection["resolver"] = await build()


@async_kernel("etcd#9446", "race")
async def etcd_9446(fixed: bool) -> None:
    """A buffer is emptied while it is read."""
    buckets = {"one": 1, "two": 2}

    async def reset() -> None:
        buckets.clear()

    async def read() -> None:
        for _ in list(buckets) if fixed else buckets:
            await arrives()

    async with TaskGroup() as group:
        group.create_task(read())
        group.create_task(reset())


@async_kernel("serving#4908", "after the end")
async def serving_4908(fixed: bool) -> None:
    """A task of a test logs to it when the test has ended."""
    test = {"ended": False}
    logged = asyncio.Event()

    async def check() -> None:
        await arrives()
        assert not test["ended"], "logs after the test has ended"
        logged.set()

    async with TaskGroup() as group:
        group.create_task(check())
        await (logged.wait() if fixed else arrives())
        test["ended"] = True
