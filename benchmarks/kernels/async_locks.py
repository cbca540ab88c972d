"""Kernels for asyncio: its locks and conditions."""

from __future__ import annotations

import asyncio
from asyncio import TaskGroup

from async_parts import Rendezvous, arrives, async_kernel


@async_kernel("cockroach#10214", "lock order")
async def cockroach_10214(fixed: bool) -> None:
    """Heartbeats are sent under their lock, and take another; a tick, the other way round."""
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
