"""Locks for readers and writers: a writer that waits keeps out a reader who has read already."""

from __future__ import annotations

import threading

from golike import Goroutines, RWMutex
from kernel import kernel

from bohrbug import choose

KIND = "read-write lock"


@kernel("cockroach#3710", KIND)
def cockroach_3710(fixed: bool) -> None:
    """A scan holds the read lock while it asks for a status, which takes it again."""
    mutex = RWMutex()

    def status(locking: bool) -> None:
        if locking:
            mutex.read_lock()
            mutex.read_unlock()

    def scan() -> None:
        mutex.read_lock()
        status(locking=not fixed)
        mutex.read_unlock()

    def process() -> None:
        mutex.lock()
        mutex.unlock()

    with Goroutines() as go:
        go(scan)
        go(process)


@kernel("cockroach#6181", KIND)
def cockroach_6181(fixed: bool) -> None:
    """A look-up prints its cache under the read lock, and printing takes it."""
    mutex = RWMutex()

    def printed() -> str:
        mutex.read_lock()
        mutex.read_unlock()
        return "cache"

    def look_up() -> None:
        mutex.read_lock()
        if not fixed:
            printed()
        mutex.read_unlock()
        mutex.lock()
        mutex.unlock()

    with Goroutines() as go:
        go(look_up)
        go(look_up)


@kernel("cockroach#16167", KIND)
def cockroach_16167(fixed: bool) -> None:
    """A statement runs under the read lock of the configuration, and preparing takes it again."""
    mutex = RWMutex()

    def prepare() -> None:
        if not fixed:
            mutex.read_lock()
            mutex.read_unlock()

    def execute() -> None:
        mutex.read_lock()
        prepare()
        mutex.read_unlock()

    def update() -> None:
        mutex.lock()
        mutex.unlock()

    with Goroutines() as go:
        go(update)
        go(execute)


@kernel("kubernetes#58107", KIND)
def kubernetes_58107(fixed: bool) -> None:
    """Workers wait for their queues under the read lock; a writer in between keeps the second out.

    The first is only given work after the second has worked.
    """
    mutex = RWMutex()
    first, second = threading.Semaphore(0), threading.Semaphore(1)

    def work(queue: threading.Semaphore, then: threading.Semaphore | None) -> None:
        if not fixed:
            mutex.read_lock()
        queue.acquire()
        if fixed:
            mutex.read_lock()
        mutex.read_unlock()
        if then is not None:
            then.release()

    def synchronise() -> None:
        mutex.lock()
        mutex.unlock()

    with Goroutines() as go:
        go(work, first, None)
        go(work, second, first)
        go(synchronise)


@kernel("kubernetes#62464", KIND)
def kubernetes_62464(fixed: bool) -> None:
    """Getting a set of processors or the default takes the read lock, and so does each of both."""
    mutex = RWMutex()

    def get_set() -> bool:
        if not fixed:
            mutex.read_lock()
            mutex.read_unlock()
        return choose(2) == 0

    def get_default() -> None:
        mutex.read_lock()
        mutex.read_unlock()

    def get_either() -> None:
        mutex.read_lock()
        if not get_set() and not fixed:
            get_default()
        mutex.read_unlock()

    def remove() -> None:
        get_default()
        mutex.lock()
        mutex.unlock()

    with Goroutines() as go:
        go(get_either)
        go(remove)
