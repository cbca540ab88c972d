"""Condition variables and groups: nobody signals, or the wrong ones wait."""

from __future__ import annotations

import threading

from golike import CLOSED, Channel, Goroutines, WaitGroup, receiving, select, sending
from kernel import kernel

KIND = "condition"


@kernel("kubernetes#11298", KIND)
def kubernetes_11298(fixed: bool) -> None:
    """One thread waits for a signal on behalf of another; the only signal may be sent before."""
    lock = threading.Lock()
    signalled = threading.Condition(lock)
    aborted = Channel()
    pending = {"notified": False}

    def notify() -> None:
        with lock:
            pending["notified"] = True
            signalled.notify()
        aborted.close()

    def wait() -> None:
        with lock:
            while not (fixed and pending["notified"]):
                signalled.wait()
                if not fixed:
                    break

    with Goroutines() as go:
        go(wait)
        go(notify)


@kernel("kubernetes#26980", KIND)
def kubernetes_26980(fixed: bool) -> None:
    """A listener waits for the end under its lock, and the one who ends it needs the lock first."""
    lock = threading.Lock()
    stop = Channel()
    pending = [1]

    def pop() -> None:
        lock.acquire()
        if pending:
            if fixed:
                lock.release()
            select(receiving(stop))
            if fixed:
                return
        lock.release()

    def end() -> None:
        with lock:
            pass
        stop.close()

    with Goroutines() as go:
        go(pop)
        go(end)


@kernel("moby#25384", KIND)
def moby_25384(fixed: bool) -> None:
    """Each turn of the loop waits for all plugins, of which it has started but one."""
    plugins = ["one", "two"]
    group = WaitGroup(len(plugins))
    with Goroutines() as go:
        for _ in plugins:
            go(group.done)
            if not fixed:
                group.wait()
        if fixed:
            group.wait()


@kernel("moby#27782", KIND)
def moby_27782(fixed: bool) -> None:
    """Who removes a watch waits for an event which the reader no longer handles."""
    lock = threading.Lock()
    handled = threading.Condition(lock)
    events, done, closed = Channel(), Channel(), Channel()
    state = {"exists": True}

    def read_events() -> None:
        select(sending(events), receiving(done))
        with lock:
            state["exists"] = False
            handled.notify_all()

    def follow() -> None:
        chosen, _ = select(receiving(events), receiving(closed))
        if chosen == 1:
            if fixed:
                done.close()  # before it waits for the reader
            with lock:
                while state["exists"]:
                    handled.wait()
        if not (fixed and chosen == 1):
            done.close()

    with Goroutines() as go:
        go(read_events)
        go(follow)
        go(closed.close)


@kernel("moby#29733", KIND)
def moby_29733(fixed: bool) -> None:
    """A plugin is activated, but nobody tells those that wait for it."""
    active = threading.Condition(threading.Lock())
    state = {"active": False}

    def wait() -> None:
        with active:
            while not state["active"]:
                active.wait()

    def activate() -> None:
        with active:
            state["active"] = True
            if fixed:
                active.notify_all()

    with Goroutines() as go:
        go(wait)
        go(activate)


@kernel("moby#30408", KIND)
def moby_30408(fixed: bool) -> None:
    """Activating fails; those that wait are woken, and wait on for the manifest."""
    active = threading.Condition(threading.Lock())
    state: dict[str, object] = {"manifest": None, "error": None}

    def wait() -> None:
        with active:
            while state["manifest"] is None and not (fixed and state["error"]):
                active.wait()

    def activate() -> None:
        with active:
            state["error"] = "some junk happened"
            active.notify_all()

    with Goroutines() as go:
        go(wait)
        go(activate)


@kernel("cockroach#1055", KIND)
def cockroach_1055(fixed: bool) -> None:
    """Stopping waits for its tasks with the lock that a task needs to be counted as finished."""
    lock = threading.Lock()
    stopper = Channel()
    tasks, workers = WaitGroup(), WaitGroup(1)
    state = {"draining": False}

    def run_task() -> None:
        with lock:
            if state["draining"]:
                return
            tasks.add()
        with lock:
            tasks.done()

    def worker() -> None:
        run_task()
        stopper.receive()
        workers.done()

    def stop() -> None:
        with lock:
            state["draining"] = True
            if not fixed:
                tasks.wait()
        if fixed:
            tasks.wait()
        stopper.close()
        workers.wait()

    with Goroutines() as go:
        go(worker)
        go(stop)


@kernel("cockroach#1462", KIND)
def cockroach_1462(fixed: bool) -> None:
    """A transport sends its event though the stopper has ended the only receiver."""
    events, stopper = Channel(), Channel()
    workers = WaitGroup(2)

    def transport() -> None:
        while select(receiving(stopper), default=True)[0] is None:
            if fixed:
                if select(receiving(stopper), sending(events))[0] == 0:
                    break
            else:
                events.send()
        workers.done()

    def receiver() -> None:
        for _ in range(2):
            chosen, value = select(receiving(events), receiving(stopper))
            if chosen == 1 or value is CLOSED:
                break
        else:
            stopper.receive()
        workers.done()

    def stop() -> None:
        stopper.close()
        workers.wait()

    with Goroutines() as go:
        go(transport)
        go(receiver)
        go(stop)
