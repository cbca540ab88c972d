"""Variables of loops that threads share, values that are not there, misused channels and groups."""

from __future__ import annotations

import threading

from golike import Channel, Goroutines, Panic, WaitGroup, receiving, select, sending
from kernel import kernel

LATE = "late binding"
MISUSE = "misused channel"


@kernel("cockroach#35501", LATE)
def cockroach_35501(fixed: bool) -> None:
    """Each check is to be validated, but the threads share the variable of the loop."""
    validated: list[str] = []
    checks = ["one", "two"]
    with Goroutines() as go:
        for check in checks:
            if fixed:
                go(validated.append, check)
            else:
                go(lambda: validated.append(check))  # noqa: B023
    assert sorted(validated) == checks


@kernel("moby#22941", LATE)
def moby_22941(fixed: bool) -> None:
    """Requests are written by threads that share the pair of the loop."""
    lock = threading.Lock()
    written: list[str] = []

    def write(request: str) -> None:
        with lock:
            written.append(request)

    with Goroutines() as go:
        for pair in (("get", "GET"), ("put", "PUT")):
            if fixed:
                go(write, pair[1])
            else:
                go(lambda: write(pair[1]))  # noqa: B023
    assert sorted(written) == ["GET", "PUT"]


@kernel("moby#27037", LATE)
def moby_27037(fixed: bool) -> None:
    """Versions of the interface are tried by threads that share the counter."""
    tried: set[str] = set()
    with Goroutines() as go:
        for version in range(17, 20):
            if fixed:
                go(lambda mine=version: tried.add(f"v1.{mine}"))
            else:
                go(lambda: tried.add(f"v1.{version}"))  # noqa: B023
    assert len(tried) == 3


class _Balancer:
    def __init__(self) -> None:
        self.updates: list[str] = []


class _Connection:
    def __init__(self) -> None:
        self.balancer: _Balancer | None = _Balancer()
        self.resolver: _Balancer | None = None


@kernel("grpc#2371", "nil")
def grpc_2371(fixed: bool) -> None:
    """A configuration is handled after its connection was closed, and the balancer is gone."""
    connection = _Connection()
    lock = threading.Lock()

    def handle() -> None:
        with lock:
            if fixed and connection.balancer is None:
                return
            connection.balancer.updates.append("addresses")  # type: ignore[union-attr]

    def close() -> None:
        with lock:
            connection.balancer = None

    with Goroutines() as go:
        go(handle)
        go(close)


@kernel("grpc#3090", "nil")
def grpc_3090(fixed: bool) -> None:
    """A resolver that is being built starts to poll itself before it has been assigned."""
    connection = _Connection()
    lock = threading.Lock()
    with Goroutines() as go:

        def poll() -> None:
            with lock:
                connection.resolver.updates.append("now")  # type: ignore[union-attr]

        def build() -> _Balancer:
            go(poll)
            return _Balancer()

        if fixed:
            with lock:
                connection.resolver = build()
        else:
            connection.resolver = build()


@kernel("grpc#1687", MISUSE)
def grpc_1687(fixed: bool) -> None:
    """Writing a status closes the channel of writes, to which another write is sent."""
    closed, writes = Channel(), Channel()

    def run() -> None:
        while True:
            chosen, function = select(receiving(writes), receiving(closed))
            if chosen == 1 or not callable(function):
                return
            function()

    def do() -> None:
        select(sending(writes, lambda: None), receiving(closed))

    def status() -> None:
        do()
        if fixed:
            closed.close()
        else:
            writes.close()

    with Goroutines() as go:
        go(run)
        go(status)
        go(do)


@kernel("serving#3068", MISUSE)
def serving_3068(fixed: bool) -> None:
    """Waiting for a pool closes the channel to which work is still sent."""
    work = Channel(2)
    lock = threading.Lock()
    state = {"closed": False}

    def worker() -> None:
        for _ in work:
            pass

    def submit() -> None:
        if fixed:
            with lock:
                if not state["closed"]:
                    work.send("work")
        else:
            work.send("work")

    def wait() -> None:
        with lock:
            state["closed"] = True
            work.close()

    with Goroutines() as go:
        go(worker)
        go(submit)
        go(wait)


@kernel("serving#5865", MISUSE)
def serving_5865(fixed: bool) -> None:
    """A watcher closes its channel when it ends, while an update is sent to it."""
    destinations, done = Channel(), Channel()

    def run() -> None:
        if fixed:
            done.close()
        else:
            destinations.close()

    def update() -> None:
        if fixed:
            select(sending(destinations), receiving(done))
        else:
            destinations.send()

    with Goroutines() as go:
        go(run)
        go(update)


@kernel("kubernetes#13058", "misused group")
def kubernetes_13058(fixed: bool) -> None:
    """A controller reports one deletion more than its test waits for."""
    group = WaitGroup(2)
    lock = threading.Lock()
    state = {"left": 2}

    def delete() -> None:
        if fixed:
            with lock:
                if state["left"] == 0:
                    return
                state["left"] -= 1
        group.done()

    with Goroutines() as go:
        for _ in range(3):
            go(delete)
        group.wait()


@kernel("serving#4908", "after the end")
def serving_4908(fixed: bool) -> None:
    """A thread of a test logs to it when the test has ended."""
    test = {"ended": False}
    logged = Channel()

    def check() -> None:
        if test["ended"]:
            raise Panic("Log in goroutine after the test has completed")
        logged.close()

    with Goroutines() as go:
        go(check)
        if fixed:
            logged.receive()
        test["ended"] = True
