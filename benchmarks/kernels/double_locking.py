"""Locks that are taken twice by one thread, or never given back."""

from __future__ import annotations

import threading

from golike import Goroutines, Once, RWMutex
from kernel import kernel

KIND = "double locking"


@kernel("cockroach#584", KIND)
def cockroach_584(fixed: bool) -> None:
    """Two loops leave with the lock where they find the gossip closed."""
    lock = threading.Lock()
    closed = True

    def leave_if_closed() -> None:
        lock.acquire()
        if closed:
            if fixed:
                lock.release()
            return
        lock.release()

    def bootstrap_and_manage() -> None:
        leave_if_closed()
        leave_if_closed()

    with Goroutines() as go:
        go(bootstrap_and_manage)


@kernel("cockroach#9935", KIND)
def cockroach_9935(fixed: bool) -> None:
    """The logger exits on an error of its file, and exiting takes the logger's lock."""
    lock = threading.Lock()
    error = True

    def exit_logging() -> None:
        with lock:
            pass

    def output() -> None:
        lock.acquire()
        if error:
            if fixed:
                lock.release()
                exit_logging()
                return
            exit_logging()
        lock.release()

    with Goroutines() as go:
        go(output)


@kernel("etcd#5509", KIND)
def etcd_5509(fixed: bool) -> None:
    """A reader that finds the client closed returns with the read lock."""
    mutex = RWMutex()
    state = {"open": True}

    def acquire() -> None:
        for _ in range(2):
            mutex.read_lock()
            if not state["open"]:
                if fixed:
                    mutex.read_unlock()
                return
            mutex.read_unlock()

    def close() -> None:
        mutex.lock()
        state["open"] = False
        mutex.unlock()
        mutex.lock()
        mutex.unlock()

    with Goroutines() as go:
        go(acquire)
        go(close)


@kernel("etcd#6708", KIND)
def etcd_6708(fixed: bool) -> None:
    """Synchronising holds the write lock and asks the leader, which takes the read lock."""
    mutex = RWMutex()

    def ask() -> None:
        mutex.read_lock()
        mutex.read_unlock()

    def synchronise() -> None:
        if fixed:
            ask()
            mutex.lock()
        else:
            mutex.lock()
            ask()
        mutex.unlock()

    with Goroutines() as go:
        go(synchronise)


@kernel("etcd#10492", KIND)
def etcd_10492(fixed: bool) -> None:
    """Renewing calls the checkpointer under the lock that the checkpointer takes."""
    mutex = RWMutex()

    def checkpoint() -> None:
        mutex.lock()
        mutex.unlock()

    def renew() -> None:
        mutex.lock()
        if fixed:
            mutex.unlock()
            checkpoint()
            return
        checkpoint()
        mutex.unlock()

    with Goroutines() as go:
        go(renew)
        go(checkpoint)


@kernel("grpc#795", KIND)
def grpc_795(fixed: bool) -> None:
    """Stopping gracefully forgets to unlock."""
    lock = threading.Lock()
    state = {"draining": False}

    def stop() -> None:
        lock.acquire()
        state["draining"] = True
        if fixed:
            lock.release()

    def serve() -> None:
        with lock:
            pass

    with Goroutines() as go:
        go(serve)
        go(stop)


@kernel("grpc#3017", KIND)
def grpc_3017(fixed: bool) -> None:
    """A timer that is too late to be stopped finds its work cancelled, and keeps the lock."""
    lock = threading.Lock()
    entry = {"aborted": False, "fired": False}

    def expire() -> None:
        entry["fired"] = True
        lock.acquire()
        if entry["aborted"]:
            if fixed:
                lock.release()
            return
        lock.release()

    def new_connection() -> None:
        with lock:
            if entry["fired"]:
                entry["aborted"] = True
        with lock:
            pass

    with Goroutines() as go:
        go(expire)
        go(new_connection)


@kernel("hugo#5379", KIND)
def hugo_5379(fixed: bool) -> None:
    """Rendering holds the page's lock, and a short code of the page renders the page."""
    lock = threading.Lock()
    content, plain = Once(), Once()

    def plainly(locking: bool) -> None:
        def prepare() -> None:
            if locking:
                with lock:
                    pass

        plain.do(prepare)

    def render() -> None:
        with lock:
            plainly(locking=not fixed)

    def word_count() -> None:
        content.do(render)

    with Goroutines() as go:
        go(word_count)
        go(word_count)


@kernel("moby#7559", KIND)
def moby_7559(fixed: bool) -> None:
    """A proxy that fails to dial goes on with its loop, and with the lock."""
    lock = threading.Lock()

    def run() -> None:
        for dialled in (False, True):
            lock.acquire()
            if not dialled:
                if fixed:
                    lock.release()
                continue
            lock.release()

    with Goroutines() as go:
        go(run)


@kernel("moby#17176", KIND)
def moby_17176(fixed: bool) -> None:
    """Cleaning up returns with the lock if there is nothing to clean up."""
    lock = threading.Lock()
    deleted = 0

    def clean_up() -> None:
        lock.acquire()
        if deleted == 0 and not fixed:
            return
        lock.release()

    def use() -> None:
        with lock:
            pass

    with Goroutines() as go:
        go(use)
        go(clean_up)


@kernel("moby#36114", KIND)
def moby_36114(fixed: bool) -> None:
    """Adding disks holds the lock of the machine, and removes some, which takes it."""
    lock = threading.Lock()

    def remove(locking: bool) -> None:
        if locking:
            with lock:
                pass

    def add() -> None:
        with lock:
            remove(locking=not fixed)

    with Goroutines() as go:
        go(add)
        go(remove, True)


@kernel("syncthing#4829", KIND)
def syncthing_4829(fixed: bool) -> None:
    """Addresses are cleared under the write lock; who is told of it takes the read lock."""
    mutex = RWMutex()
    addresses = {"test": 0}

    def notify() -> None:
        mutex.read_lock()
        mutex.read_unlock()

    def clear() -> None:
        mutex.lock()
        removed = list(addresses)
        addresses.clear()
        if fixed:
            mutex.unlock()
        if removed:
            notify()
        if not fixed:
            mutex.unlock()

    with Goroutines() as go:
        go(clear)


@kernel("hugo#3251", "lock order")
def hugo_3251(fixed: bool) -> None:
    """The lock of an address is taken under that of the table, which giving it back needs."""
    table = RWMutex()
    locks: dict[str, threading.Lock] = {}

    def get(address: str) -> None:
        table.lock()
        lock = locks.setdefault(address, threading.Lock())
        if fixed:
            table.unlock()
            lock.acquire()
        else:
            lock.acquire()
            table.unlock()
        table.read_lock()
        locks[address].release()
        table.read_unlock()

    with Goroutines() as go:
        go(get, "one")
        go(get, "one")


@kernel("cockroach#10214", "lock order")
def cockroach_10214(fixed: bool) -> None:
    """Heartbeats are sent under their lock, and take another; a tick, the other way round."""
    coalesced, raft = threading.Lock(), threading.Lock()
    responses = [1, 2]

    def report_unreachable() -> None:
        with raft:
            pass

    def send_queued() -> None:
        if fixed:
            with coalesced:
                queued = list(responses)
            for _ in queued:
                report_unreachable()
        else:
            with coalesced:
                for _ in responses:
                    report_unreachable()

    def tick() -> None:
        with raft, coalesced:
            responses.append(3)

    with Goroutines() as go:
        go(send_queued)
        go(tick)


@kernel("cockroach#7504", "lock order")
def cockroach_7504(fixed: bool) -> None:
    """Acquiring by name takes the cache and then the lease; releasing, the other way round."""
    cache, lease = threading.Lock(), threading.Lock()
    names = {0: "lease"}

    def acquire() -> None:
        with cache:
            found = names.get(0)
            if not fixed and found:
                with lease:
                    pass
        if fixed and found:
            with lease:
                pass

    def release() -> None:
        with lease, cache:
            names.pop(0, None)

    with Goroutines() as go:
        go(acquire)
        go(release)


@kernel("kubernetes#13135", "lock order")
def kubernetes_13135(fixed: bool) -> None:
    """Replacing takes the watch and then the cacher; starting, the other way round."""
    cacher, watch = threading.Lock(), threading.Lock()

    def start_caching() -> None:
        for _ in range(2):
            if fixed:
                with watch:
                    pass
                with cacher:
                    pass
            else:
                cacher.acquire()
                with watch:
                    cacher.release()

    def add() -> None:
        with watch, cacher:
            pass

    with Goroutines() as go:
        go(start_caching)
        go(add)


@kernel("kubernetes#30872", "lock order")
def kubernetes_30872(fixed: bool) -> None:
    """Handlers run under the queue's lock and take the informer's, which asks the queue."""
    informer, fifo = threading.Lock(), threading.Lock()

    def pop() -> None:
        with fifo:
            if not fixed:
                with informer:
                    pass
        if fixed:
            with informer:
                pass

    def synced() -> None:
        with informer, fifo:
            pass

    def stop() -> None:
        with informer:
            pass

    with Goroutines() as go:
        go(pop)
        go(synced)
        go(stop)


@kernel("moby#4951", "lock order")
def moby_4951(fixed: bool) -> None:
    """Deleting drops the lock of all devices while it waits, and keeps that of its own."""
    devices, info = threading.Lock(), threading.Lock()

    def delete() -> None:
        if fixed:
            info.acquire()
            devices.acquire()
        else:
            devices.acquire()
            info.acquire()
        devices.release()  # others may go on while the device is removed
        devices.acquire()
        if fixed:
            devices.release()
            info.release()
        else:
            info.release()
            devices.release()

    with Goroutines() as go:
        go(delete)
        go(delete)
