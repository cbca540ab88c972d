"""Kernels for asyncio: queues, tasks that are left behind, and what changes over an ``await``."""

from __future__ import annotations

import asyncio
from asyncio import TaskGroup

from async_parts import Rendezvous, arrives, async_kernel


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
        await rows.get()
        if fixed:  # it fails to start, and says so
            state["closed"] = True
            while not all(task.done() for task in pushing):
                if rows.empty():
                    await asyncio.sleep(0)
                else:
                    rows.get_nowait()

    pushing: set[asyncio.Task[None]] = set()
    async with TaskGroup() as group:
        group.create_task(receive())
        for row in range(3):
            pushing.add(group.create_task(push(row)))


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
