"""A channel is waited for under a lock that the other side needs."""

from __future__ import annotations

import threading

from golike import Channel, Goroutines, Once, WaitGroup, receiving, select, sending
from kernel import kernel

KIND = "lock and channel"


@kernel("etcd#6873", KIND)
def etcd_6873(fixed: bool) -> None:
    """Stopping waits, with the lock, for the one that coalesces updates under it."""
    lock = threading.Lock()
    updates, done = Channel(1), Channel()

    def coalesce() -> None:
        for _ in updates:
            with lock:
                pass
        done.close()

    def stop() -> None:
        lock.acquire()
        updates.close()
        if fixed:
            lock.release()
        done.receive()
        if not fixed:
            lock.release()

    with Goroutines() as go:
        go(coalesce)
        updates.send("update")
        go(stop)


@kernel("etcd#7443", KIND)
def etcd_7443(fixed: bool) -> None:
    """A balancer notifies under its lock; the one who listens takes the lock to tear down."""
    lock = threading.Lock()
    addresses = Channel(1)
    state = {"pinned": False, "closed": False}

    def up() -> None:
        with lock:
            if state["closed"] or state["pinned"]:
                return
            state["pinned"] = True
            notify("pinned")

    def down() -> None:
        with lock:
            if state["pinned"] and not state["closed"]:
                state["pinned"] = False
                notify("all")

    def notify(what: str) -> None:
        if fixed:  # the newest one replaces what has not been received
            select(receiving(addresses), default=True)
        addresses.send(what)

    def close() -> None:
        with lock:
            state["closed"] = True
            addresses.close()

    def watch() -> None:
        for _ in addresses:
            down()

    with Goroutines() as go:
        addresses.send("all")
        go(watch)
        go(up)
        go(close)


@kernel("etcd#7492", KIND)
def etcd_7492(fixed: bool) -> None:
    """A token is added through a channel, under a lock that the keeper takes to delete one."""
    lock = threading.Lock()
    adding, stopping = Channel(0 if fixed else 1), Channel()

    def keep() -> None:
        tokens = 0
        while True:
            chosen, _ = select(receiving(adding), receiving(stopping))
            if chosen == 1:
                return
            tokens += 1
            with lock:  # the token has expired
                tokens -= 1

    def authenticate() -> None:
        if fixed:
            adding.send()
            with lock:
                pass
        else:
            with lock:
                adding.send()

    with Goroutines() as go:
        go(keep)
        with Goroutines() as users:
            for _ in range(3):
                users(authenticate)
        stopping.close()


@kernel("etcd#7902", KIND)
def etcd_7902(fixed: bool) -> None:
    """A follower waits for its leader under the lock which the leader needs to go on."""
    lock = threading.Lock()
    elected = Channel()

    def follow() -> None:
        if fixed:
            elected.receive()
        else:
            with lock:
                elected.receive()

    def lead() -> None:
        with lock:
            elected.close()

    with Goroutines() as go:
        go(follow)
        go(lead)


@kernel("grpc#1353", KIND)
def grpc_1353(fixed: bool) -> None:
    """Updates of addresses are sent under the lock that their receiver takes for each."""
    lock = threading.Lock()
    addresses = Channel(1 if fixed else 0)

    def update() -> None:
        for _ in range(2):
            with lock:
                if fixed:
                    select(receiving(addresses), default=True)
                addresses.send(True)
        with lock:
            addresses.close()

    def watch() -> None:
        for _ in addresses:
            with lock:
                pass

    with Goroutines() as go:
        go(update)
        go(watch)


@kernel("grpc#1460", KIND)
def grpc_1460(fixed: bool) -> None:
    """Keeping alive waits to be woken by the first stream, with the lock that a stream needs."""
    lock = threading.Lock()
    awaken = Channel(1 if fixed else 0)
    streams: list[str] = []

    def keep_alive() -> None:
        with lock:
            sleeping = not streams
            if sleeping and not fixed:
                awaken.receive()
        if sleeping and fixed:
            awaken.receive()

    def new_stream() -> None:
        with lock:
            streams.append("stream")
            select(sending(awaken), default=True)

    with Goroutines() as go:
        go(keep_alive)
        go(new_stream)


@kernel("kubernetes#1321", KIND)
def kubernetes_1321(fixed: bool) -> None:
    """Distributing sends to a watcher under the lock that the watcher needs to stop."""
    lock = threading.Lock()
    result, stopped = Channel(), Channel()
    watchers = {1}

    def distribute() -> None:
        with lock:
            if watchers:
                if fixed:
                    select(sending(result), receiving(stopped))
                else:
                    result.send()

    def stop() -> None:
        if fixed:
            stopped.close()
        with lock:
            watchers.clear()
            result.close()

    with Goroutines() as go:
        go(distribute)
        go(stop)


@kernel("kubernetes#6632", KIND)
def kubernetes_6632(fixed: bool) -> None:
    """A frame is written under the lock that the one who resets takes to close the channel."""
    lock = threading.Lock()
    closing = Channel()
    state: dict[str, Channel | None] = {"reset": Channel()}
    with Goroutines() as go:

        def drain(channel: Channel) -> None:
            for _ in channel:
                pass

        def monitor() -> None:
            reset = state["reset"]
            assert reset is not None
            if select(receiving(closing), receiving(reset))[0] == 1:
                closing.receive()
            if fixed:
                go(drain, reset)
            with lock:
                reset.close()
                state["reset"] = None

        def write() -> None:
            with lock:
                reset = state["reset"]
                if reset is not None:
                    reset.send(True)

        go(monitor)
        go(write)
        closing.send()


@kernel("kubernetes#10182", KIND)
def kubernetes_10182(fixed: bool) -> None:
    """A status is sent under the lock that the receiver takes after each."""
    lock = threading.Lock()
    statuses = Channel(2 if fixed else 0)

    def synchronise() -> None:
        for _ in range(2):
            statuses.receive()
            with lock:
                pass

    def set_status() -> None:
        with lock:
            statuses.send(True)

    with Goroutines() as go:
        go(synchronise)
        go(set_status)
        go(set_status)


@kernel("moby#28462", KIND)
def moby_28462(fixed: bool) -> None:
    """Stopping a monitor sends under the lock that the monitor takes for a result."""
    lock = threading.Lock()
    stop = Channel()

    def monitor() -> None:
        for _ in range(2):
            if select(receiving(stop), default=True)[0] == 0:
                return
            with lock:
                pass
        stop.receive()

    def state_changed() -> None:
        with lock:
            if fixed:
                stop.close()
            else:
                stop.send()

    with Goroutines() as go:
        go(monitor)
        go(state_changed)


@kernel("syncthing#5795", KIND)
def syncthing_5795(fixed: bool) -> None:
    """A dispatcher closes its connection, which waits for the end of the dispatcher."""
    inbox, closed, ended = Channel(), Channel(), Channel()
    once = Once()
    with Goroutines() as go:

        def shut() -> None:
            closed.close()
            ended.receive()

        def close() -> None:
            if fixed:
                go(once.do, shut)
            else:
                once.do(shut)

        def dispatch() -> None:
            if select(receiving(inbox), receiving(closed))[0] == 0:
                close()
            ended.close()

        go(dispatch)
        inbox.send("configuration")
        ended.receive()


@kernel("cockroach#4407", "misused group")
def cockroach_4407(fixed: bool) -> None:
    """A worker is started, and counted, when stopping has waited for the workers already."""
    lock = threading.Lock()
    workers = WaitGroup()
    state = {"stopped": False, "working": 0}

    def start_worker() -> None:
        with lock:
            if fixed and state["stopped"]:
                return
            workers.add()
        state["working"] += 1
        assert not state["stopped"] or fixed, "a worker starts after the end"
        state["working"] -= 1
        workers.done()

    def stop() -> None:
        if fixed:
            with lock:
                state["stopped"] = True
            workers.wait()
        else:
            workers.wait()
            state["stopped"] = True
        assert state["working"] == 0

    with Goroutines() as go:
        go(start_worker)
        go(stop)
