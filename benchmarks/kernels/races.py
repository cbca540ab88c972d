"""Data races, and what comes of them in Python."""

from __future__ import annotations

import threading
from collections.abc import Callable

from golike import Channel, Goroutines, RWMutex, receiving, select, sending
from kernel import kernel

from bohrbug import choose

RACE = "data race"


class _Server:
    def __init__(self) -> None:
        self.stopped: Channel | None = None
        self.rate = 1000
        self.interval = 10


@kernel("etcd#3077", RACE)
def etcd_3077(fixed: bool) -> None:
    """The node makes its channels when it runs, and its server uses those of before."""
    server = _Server()
    if fixed:
        server.stopped = Channel()

    def run_node() -> None:
        if not fixed:
            server.stopped = Channel()
        select(receiving(server.stopped))

    def run_server() -> None:
        select(sending(server.stopped))

    with Goroutines() as go:
        go(run_node)
        go(run_server)


@kernel("etcd#4876", RACE)
def etcd_4876(fixed: bool) -> None:
    """A test changes the interval of reports while a loop reads it, twice."""
    server = _Server()
    lock = threading.Lock()

    def send_loop() -> None:
        if fixed:
            with lock:
                first = second = server.interval
        else:
            first = server.interval
            second = server.interval
        assert first == second

    def change() -> None:
        with lock:
            server.interval = 3

    with Goroutines() as go:
        go(send_loop)
        go(change)


@kernel("etcd#8194", RACE)
def etcd_8194(fixed: bool) -> None:
    """A test lowers the rate of revoking between the look at it and its use."""
    server = _Server()
    done = Channel()
    revoked: list[int] = []

    def revoke() -> None:
        leases = list(range(8))
        if len(leases) > server.rate // 2:
            leases = leases[: server.rate // 2]
        revoked.extend(leases)
        done.close()

    def lower() -> None:
        if fixed:
            done.receive()
        server.rate = 10

    with Goroutines() as go:
        go(revoke)
        go(lower)
    assert len(revoked) == 8


@kernel("etcd#9446", RACE)
def etcd_9446(fixed: bool) -> None:
    """A buffer is emptied while it is read."""
    buckets = {"one": 1, "two": 2}
    lock = threading.Lock()

    def reset() -> None:
        if fixed:
            with lock:
                buckets.clear()
        else:
            buckets.clear()

    def read() -> None:
        if fixed:
            with lock:
                assert len(list(buckets.values())) in (0, 2)
        else:
            for _ in buckets.values():
                pass

    with Goroutines() as go:
        go(reset)
        go(read)


@kernel("kubernetes#79631", RACE)
def kubernetes_79631(fixed: bool) -> None:
    """A queue is looked at without its lock."""
    items = {"1": "pod"}
    lock = threading.Lock()

    def flush() -> None:
        with lock:
            items.pop("1", None)

    def get() -> None:
        if fixed:
            with lock:
                if "1" in items:
                    assert items["1"] == "pod"
        elif "1" in items:
            assert items["1"] == "pod"

    with Goroutines() as go:
        go(flush)
        go(get)


@kernel("kubernetes#88331", RACE)
def kubernetes_88331(fixed: bool) -> None:
    """The length is read without the lock under which items are popped."""
    queue = ["one"]
    lock = threading.Lock()

    def flush() -> None:
        with lock:
            if queue:
                queue.pop()

    def take() -> None:
        if fixed:
            flush()
        elif len(queue) > 0:
            queue.pop()

    with Goroutines() as go:
        go(flush)
        go(take)


@kernel("kubernetes#81148", RACE)
def kubernetes_81148(fixed: bool) -> None:
    """A test ages a pod that it has added, after the flush may have looked at it."""
    lock = threading.Lock()
    pods: dict[str, int] = {}
    moved: list[str] = []

    def flush() -> None:
        with lock:
            moved.extend(name for name, age in pods.items() if age > 60)

    with Goroutines() as go:
        if fixed:
            with lock:
                pods["1"] = 61
            go(flush)
        else:
            go(flush)
            with lock:
                pods["1"] = 0
            pods["1"] = 61
    assert moved == ["1"]


@kernel("kubernetes#82239", RACE)
def kubernetes_82239(fixed: bool) -> None:
    """A test writes to the annotations of a volume that the controller copies."""
    annotations = {"0": "", "1": ""}

    def work(volume: dict[str, str]) -> None:
        copied = {}
        for key, value in volume.items():
            copied[key] = value

    with Goroutines() as go:
        go(work, dict(annotations) if fixed else annotations)
        annotations["2"] = ""


@kernel("kubernetes#77796", RACE)
def kubernetes_77796(fixed: bool) -> None:
    """The buffer of watchers is emptied under the lock, and read without."""
    lock = threading.RLock()
    watchers: list[str] = []

    def start() -> None:
        with lock:
            watchers.clear()
            watchers.append("watcher")

    def dispatch() -> None:
        if fixed:
            with lock:
                start()
                assert watchers[0] == "watcher"
        else:
            start()
            assert watchers[0] == "watcher"

    with Goroutines() as go:
        go(dispatch)
        go(dispatch)


@kernel("kubernetes#80284", RACE)
def kubernetes_80284(fixed: bool) -> None:
    """Each configuration of a transport sets what is called on rotation; the first is lost."""
    closed: list[int] = []
    lock = threading.Lock()
    rotation: dict[str, Callable[[], None]] = {}
    used: list[int] = []

    def configure(number: int) -> None:
        if fixed:
            with lock:
                if "close" not in rotation:
                    rotation["close"] = lambda: closed.extend(used)
                used.append(number)
        else:
            rotation["close"] = lambda: closed.append(number)
            used.append(number)

    with Goroutines() as go:
        go(configure, 1)
        go(configure, 2)
    rotation["close"]()
    assert sorted(closed) == sorted(used)


@kernel("kubernetes#81091", RACE)
def kubernetes_81091(fixed: bool) -> None:
    """A fake plugin counts its calls, of which there are two at once."""
    lock = threading.Lock()
    counts = {"called": 0}

    def filter_node() -> None:
        if fixed:
            with lock:
                counts["called"] += 1
        else:
            counts["called"] += 1

    with Goroutines() as go:
        go(filter_node)
        go(filter_node)
    assert counts["called"] == 2


@kernel("kubernetes#82550", RACE)
def kubernetes_82550(fixed: bool) -> None:
    """A provider is made when it is first asked for, by two at once."""
    made: list[object] = []
    state: dict[str, object] = {}
    lock = threading.Lock()

    def provide() -> None:
        if "provider" not in state:
            provider = object()
            made.append(provider)
            state["provider"] = provider

    def provide_locked() -> None:
        with lock:
            provide()

    with Goroutines() as go:
        for _ in range(3):
            go(provide_locked if fixed else provide)
    assert len(made) == 1


@kernel("kubernetes#70892", RACE)
def kubernetes_70892(fixed: bool) -> None:
    """Workers write whole lists of results, where each should write its own place."""
    results: list[list[int]] = [[0, 0], [0, 0]]

    def process(node: int) -> None:
        for priority in range(len(results)):
            if fixed:
                results[priority][node] = 7
            else:
                row = list(results[priority])
                row[node] = 7
                results[priority] = row

    with Goroutines() as go:
        go(process, 0)
        go(process, 1)
    assert results == [[7, 7], [7, 7]]


@kernel("kubernetes#49404", RACE)
def kubernetes_49404(fixed: bool) -> None:
    """A test looks at whether its handler was called without waiting for it."""
    called = threading.Event()
    seen = {"called": False}

    def serve() -> None:
        seen["called"] = True
        called.set()

    with Goroutines() as go:
        go(serve)
        if fixed:
            called.wait()
        assert seen["called"]


@kernel("istio#8144", RACE)
def istio_8144(fixed: bool) -> None:
    """A test reads how many callbacks there were while the evicter makes them."""
    lock = threading.Lock()
    counts = {"callbacks": 0}
    evicted = Channel()

    def evict() -> None:
        with lock:
            counts["callbacks"] += 1
        evicted.close()

    with Goroutines() as go:
        go(evict)
        if fixed:
            evicted.receive()
        with lock:
            assert counts["callbacks"] == 1


@kernel("istio#8214", RACE)
def istio_8214(fixed: bool) -> None:
    """Statistics are read as a whole while one number of them is written."""
    lock = threading.Lock()
    stats = {"writes": 0, "hits": 0}

    def check() -> None:
        with lock:
            stats["writes"] += 1
            stats["hits"] += 1

    def read() -> None:
        if fixed:
            with lock:
                copied = stats["writes"], stats["hits"]
        else:
            copied = stats["writes"], stats["hits"]
        assert copied[0] == copied[1]

    with Goroutines() as go:
        go(check)
        go(read)


@kernel("istio#8967", RACE)
def istio_8967(fixed: bool) -> None:
    """Stopping closes the channel and forgets it; a loop that comes later waits for nothing."""
    source: dict[str, Channel | None] = {"done": Channel()}

    def loop(done: Channel | None) -> None:
        select(receiving(done if fixed else source["done"]))

    with Goroutines() as go:
        done = source["done"]
        assert done is not None
        go(loop, done)
        done.close()
        source["done"] = None


@kernel("istio#16742", RACE)
def istio_16742(fixed: bool) -> None:
    """A workload is updated while routes are built of its labels."""
    lock = RWMutex()
    proxy: dict[str, list[str] | None] = {"labels": ["app"]}

    def build() -> int:
        if fixed:
            lock.read_lock()
            labels = proxy["labels"]
            lock.read_unlock()
            return 0 if labels is None else len(labels)
        if proxy["labels"] is None:
            return 0
        labels = proxy["labels"]
        assert labels is not None
        return len(labels)

    def update() -> None:
        lock.lock()
        proxy["labels"] = None
        lock.unlock()

    with Goroutines() as go:
        go(build)
        go(update)


@kernel("grpc#1748", RACE)
def grpc_1748(fixed: bool) -> None:
    """A test gives back the shortest timeout while a transport still reads it."""
    server = _Server()
    read: list[int] = []
    finished = Channel()

    def reset_transport() -> None:
        read.append(server.interval)
        finished.close()

    with Goroutines() as go:
        server.interval = 3
        go(reset_transport)
        if fixed:
            finished.receive()
        server.interval = 10
    assert read == [3]


@kernel("serving#3148", RACE)
def serving_3148(fixed: bool) -> None:
    """A reactor is put before the others while a fake client goes through them."""
    lock = threading.Lock()
    chain = ["first"]
    done: list[str] = []

    def invoke() -> None:
        reactors = list(chain) if fixed else chain
        for reactor in reactors:
            done.append(reactor)

    def prepend() -> None:
        chain.insert(0, "new")

    def locked(function: Callable[[], None]) -> None:
        with lock:
            function()

    with Goroutines() as go:
        for function in (invoke, prepend):
            if fixed:
                go(locked, function)
            else:
                go(function)
    assert done.count("first") == 1


@kernel("serving#6472", RACE)
def serving_6472(fixed: bool) -> None:
    """Work is queued before it has been counted, so that its end makes the count negative."""
    lock = threading.Lock()
    queue, state = Channel(1), {"pending": 0}
    ready: list[bool] = []

    def process() -> None:
        queue.receive()
        with lock:
            state["pending"] -= 1
            ready.append(state["pending"] == 0)

    def add() -> None:
        if fixed:
            with lock:
                state["pending"] += 1
            queue.send("item")
        else:
            queue.send("item")
            with lock:
                state["pending"] += 1

    with Goroutines() as go:
        go(process)
        go(add)
    assert ready == [True]


@kernel("moby#18412", RACE)
def moby_18412(fixed: bool) -> None:
    """A command that took too long is killed; its output is read though it may still write."""
    output: list[str] = []
    done = Channel(1)

    def command() -> None:
        output.append("first")
        if choose(2):
            output.append("last")
        done.send()

    with Goroutines() as go:
        go(command)
        timed_out = select(receiving(done), timeout=0.1)[0] is None
        if timed_out and fixed:
            done.receive()
        read = list(output)
    assert read == output
