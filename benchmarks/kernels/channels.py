"""Channels: a sender or a receiver is left behind when the other side goes away."""

from __future__ import annotations

import threading

from golike import CLOSED, Channel, Context, Goroutines, receiving, select, sending
from kernel import kernel

from bohrbug import choose

KIND = "channel"


@kernel("cockroach#2448", KIND)
def cockroach_2448(fixed: bool) -> None:
    """Each loop sends to the other, and neither receives: events one way, callbacks the other."""
    events, callbacks, stopper = Channel(), Channel(), Channel()

    def state_loop() -> None:
        queued = 0
        for _ in range(2):
            if fixed:
                queued += 1
                while queued:
                    chosen, _ = select(sending(events), receiving(callbacks), receiving(stopper))
                    if chosen == 0:
                        queued -= 1
                    elif chosen == 2:
                        return
            else:
                select(sending(events), receiving(stopper))
                select(receiving(callbacks), receiving(stopper), default=True)
        while fixed and select(receiving(callbacks), receiving(stopper))[0] == 0:
            pass

    def store() -> None:
        for _ in range(2):
            events.receive()
            callbacks.send()
        stopper.close()

    with Goroutines() as go:
        go(store)
        go(state_loop)


@kernel("cockroach#10790", KIND)
def cockroach_10790(fixed: bool) -> None:
    """Who is cancelled starts another, which drains also what has been received from already."""
    channels = [Channel(), Channel()]
    context = Context()
    with Goroutines() as go:

        def drain() -> None:
            for channel in channels:
                channel.receive()

        def begin() -> None:
            for channel in channels:
                if select(receiving(channel), receiving(context.done))[0] == 1 and not fixed:
                    go(drain)
                    return

        def send() -> None:
            for channel in channels:
                if select(sending(channel), receiving(context.done))[0] == 1:
                    return

        go(send)
        go(begin)
        go(context.cancel)


@kernel("cockroach#13197", KIND)
def cockroach_13197(fixed: bool) -> None:
    """A transaction waits for its context, and nobody rolls it back."""
    context = Context()
    with Goroutines() as go:
        go(context.done.receive)
        if fixed:
            context.cancel()


@kernel("cockroach#13755", KIND)
def cockroach_13755(fixed: bool) -> None:
    """Rows of a query wait for the end of their context, and are never closed."""
    query = Context()
    rows = Context(query)
    with Goroutines() as go:
        go(rows.done.receive)
        if fixed:
            query.cancel()


@kernel("cockroach#18101", KIND)
def cockroach_18101(fixed: bool) -> None:
    """Restoring ends with its context, and leaves the one that fills its channel."""
    context = Context()
    spans = Channel(1)

    def scatter() -> None:
        for number in range(3):
            if fixed:
                if select(sending(spans, number), receiving(context.done))[0] == 1:
                    break
            else:
                spans.send(number)
        spans.close()

    def restore() -> None:
        for _ in spans:
            if select(receiving(context.done), default=True)[0] == 0:
                return

    with Goroutines() as go:
        go(scatter)
        go(restore)
        go(context.cancel)


@kernel("cockroach#24808", KIND)
def cockroach_24808(fixed: bool) -> None:
    """The first suggestion is sent before the compactor runs, to a channel that may be full."""
    suggestions, stopper = Channel(1), Channel()

    def compact() -> None:
        while select(receiving(stopper), receiving(suggestions))[0] == 1:
            pass

    with Goroutines() as go:
        suggestions.send()
        if fixed:
            go(compact)
        suggestions.send()
        if not fixed:
            go(compact)
        stopper.close()


@kernel("cockroach#25456", KIND)
def cockroach_25456(fixed: bool) -> None:
    """A queue processes until it is told to quiesce, which is after it has processed."""
    quiesce = Channel()

    def process() -> None:
        for _ in range(2):
            quiesce.receive()

    with Goroutines() as go:
        go(process)
        if fixed:
            quiesce.close()


@kernel("cockroach#35073", KIND)
def cockroach_35073(fixed: bool) -> None:
    """A receiver that fails to start does not say that it is closed; its channel fills up."""
    rows = Channel(2)
    state = {"closed": False}

    def push() -> None:
        if not state["closed"]:
            rows.send()

    def close() -> None:
        state["closed"] = True
        while select(receiving(rows), default=True)[0] is not None:
            pass

    def start() -> None:
        if fixed:
            close()

    with Goroutines() as go:
        push()
        push()
        go(push)
        start()


@kernel("cockroach#35931", KIND)
def cockroach_35931(fixed: bool) -> None:
    """Cancelling a flow pushes an error to each receiver, and one of the channels is full."""
    left, right = Channel(1), Channel(1)

    def cancel() -> None:
        for receiver in (left, right):
            if fixed:
                select(sending(receiver), default=True)
            else:
                receiver.send()

    with Goroutines() as go:
        left.send()
        go(cancel)


@kernel("etcd#6857", KIND)
def etcd_6857(fixed: bool) -> None:
    """A status is asked for when the node has stopped."""
    status, stop, done = Channel(), Channel(), Channel()

    def run() -> None:
        while True:
            chosen, reply = select(receiving(status), receiving(stop))
            if chosen == 1:
                done.close()
                return
            reply.send("status")

    def ask() -> None:
        reply = Channel()
        if fixed:
            if select(sending(status, reply), receiving(done))[0] == 1:
                return
        else:
            status.send(reply)
        reply.receive()

    def end() -> None:
        if select(sending(stop), receiving(done))[0] == 0:
            done.receive()

    with Goroutines() as go:
        go(run)
        go(ask)
        go(end)


@kernel("grpc#660", KIND)
def grpc_660(fixed: bool) -> None:
    """A benchmark that is stopped leaves the call that it has begun."""
    stop = Channel()
    with Goroutines() as go:

        def loop() -> None:
            for _ in range(2):
                done = Channel(1 if fixed else 0)
                go(done.send, True)
                if select(receiving(stop), receiving(done))[0] == 0:
                    return

        go(loop)
        go(stop.close)


@kernel("grpc#862", KIND)
def grpc_862(fixed: bool) -> None:
    """Dialling is given up, but the connection that it tries to reset is not closed."""
    connection = Context()
    dialling = Context()

    def reset() -> None:
        connection.done.receive()

    def dial() -> None:
        go(reset)
        given_up = select(receiving(dialling.done), default=True)[0] == 0
        if fixed or not given_up:
            connection.cancel()

    with Goroutines() as go:
        go(dial)
        go(dialling.cancel)


@kernel("grpc#1275", KIND)
def grpc_1275(fixed: bool) -> None:
    """Closing a stream does not tell the one that reads it."""
    received = Channel()
    with Goroutines() as go:
        go(received.receive)
        if fixed:
            received.close()


@kernel("grpc#1424", KIND)
def grpc_1424(fixed: bool) -> None:
    """The watcher ends without a word if there are no more addresses, and dialling waits for it."""
    addresses, done = Channel(), Channel()

    def watch() -> None:
        for _ in addresses:
            pass
        if fixed:
            done.close()

    with Goroutines() as go:
        go(watch)
        go(done.receive)
        addresses.close()


@kernel("istio#17860", KIND)
def istio_17860(fixed: bool) -> None:
    """Each epoch reports its end, and the one who listens leaves when none is active."""
    lock = threading.Lock()
    ends, cancelled = Channel(), Context()
    active: set[int] = set()
    with Goroutines() as go:

        def run() -> None:
            while True:
                chosen, epoch = select(receiving(ends), receiving(cancelled.done))
                if chosen == 1:
                    return
                with lock:
                    active.discard(epoch)
                    if not active:
                        return

        def wait_for(epoch: int) -> None:
            if fixed:
                select(sending(ends, epoch), receiving(cancelled.done))
            else:
                ends.send(epoch)

        def restart(epoch: int) -> None:
            with lock:
                active.add(epoch)
                go(wait_for, epoch)

        go(run)
        restart(1)
        restart(2)
        cancelled.cancel()


@kernel("istio#18454", KIND)
def istio_18454(fixed: bool) -> None:
    """An event resets the timer's loop through a channel, which that loop has left."""
    reset = Channel(1)
    worker = Context()

    def timer_loop() -> None:
        while select(receiving(reset), receiving(worker.done))[0] == 0:
            pass

    def on_change() -> None:
        for _ in range(2):
            if fixed:
                select(sending(reset), receiving(worker.done))
            else:
                reset.send()

    with Goroutines() as go:
        go(timer_loop)
        go(on_change)
        go(worker.cancel)


@kernel("kubernetes#5316", KIND)
def kubernetes_5316(fixed: bool) -> None:
    """A request takes longer than its timeout, and its end can't be told any more."""
    result, error = Channel(1 if fixed else 0), Channel(1 if fixed else 0)

    def request() -> None:
        if choose(2):
            error.send("error")
        else:
            result.send(True)

    with Goroutines() as go:
        go(request)
        select(receiving(result), receiving(error), timeout=0.1)


@kernel("kubernetes#25331", KIND)
def kubernetes_25331(fixed: bool) -> None:
    """A watch that fails sends its error to one who has stopped to listen."""
    results, errors = Channel(), Channel(1)
    context = Context()

    def run() -> None:
        chosen, error = select(receiving(errors), receiving(context.done))
        if chosen == 0:
            if fixed:
                select(sending(results, error), receiving(context.done))
            else:
                results.send(error)

    def stop() -> None:
        errors.send("error")
        context.cancel()

    with Goroutines() as go:
        go(run)
        go(stop)


@kernel("kubernetes#38669", KIND)
def kubernetes_38669(fixed: bool) -> None:
    """The first events are sent to a watcher that has been stopped, and nobody reads them."""
    events, results, done = Channel(), Channel(), Channel()

    def process() -> None:
        for event in (1, 2):
            if fixed:
                select(sending(results, event), receiving(done))
            else:
                results.send(event)
        for _ in events:
            pass
        results.close()

    with Goroutines() as go:
        go(process)
        done.close()
        events.close()


@kernel("kubernetes#70277", KIND)
def kubernetes_70277(fixed: bool) -> None:
    """Waiting ends, as its condition is true, and doesn't say so to the one that polls."""
    stop = Channel()
    ticks = Channel()

    def poll(done: Channel) -> None:
        select(sending(ticks), default=True)
        done.receive()
        ticks.close()

    with Goroutines() as go:
        done = Channel() if fixed else stop
        go(poll, done)
        select(receiving(ticks), default=True)
        if fixed:
            done.close()


@kernel("moby#4395", KIND)
def moby_4395(fixed: bool) -> None:
    """The result of a function is sent to a channel that its caller drops."""
    result = Channel(1 if fixed else 0)
    with Goroutines() as go:
        go(result.send, "error")


@kernel("moby#21233", KIND)
def moby_21233(fixed: bool) -> None:
    """The one that reads progress gives up at the first that it doesn't expect."""
    progress, release = Channel(), Channel()

    def watch() -> None:
        for done in range(2):
            progress.send(done)
        release.receive()
        progress.close()

    def read() -> None:
        for _ in progress:
            if choose(2) and not fixed:
                return

    with Goroutines() as go:
        go(watch)
        go(read)
        release.close()


@kernel("moby#33293", KIND)
def moby_33293(fixed: bool) -> None:
    """An error is sent before the channel has been given to anybody."""

    def wait() -> Channel:
        errors = Channel(1 if fixed else 0)
        if choose(2):
            errors.send("error")
        return errors

    with Goroutines() as go:
        go(wait)


@kernel("moby#33781", KIND)
def moby_33781(fixed: bool) -> None:
    """A monitor that is stopped leaves the probe which it has started."""
    stop = Channel()
    with Goroutines() as go:

        def monitor() -> None:
            while select(receiving(stop), timeout=0.05)[0] is None:
                results = Channel(1 if fixed else 0)
                go(results.send, True)
                if select(receiving(stop), receiving(results))[0] == 0:
                    return

        go(monitor)
        go(stop.close)


@kernel("istio#16224", KIND)
def istio_16224(fixed: bool) -> None:
    """A handler sends under a lock, and its receiver takes the lock before it receives."""
    lock = threading.Lock()
    events, stop, done = Channel(), Channel(), Channel(1 if fixed else 0)

    def run() -> None:
        while select(receiving(events), receiving(stop))[0] == 0:
            with lock:
                done.send(True)

    with Goroutines() as go:
        go(run)
        events.send("created")
        with lock:
            pass
        done.receive()
        stop.close()


@kernel("serving#2137", KIND)
def serving_2137(fixed: bool) -> None:
    """Requests are let go in the order of their making, not in that in which they were admitted."""
    pending, active = Channel(2), Channel(1)
    gates = [threading.Lock(), threading.Lock()]
    accepted = [Channel(1), Channel(1)]
    admitted = [Channel(1), Channel(1)]

    def request(number: int) -> None:
        if select(sending(pending), default=True)[0] is None:
            accepted[number].send(False)
            return
        active.send()
        admitted[number].send()
        with gates[number]:
            pass
        active.receive()
        pending.receive()
        accepted[number].send(True)

    for gate in gates:
        gate.acquire()
    with Goroutines() as go:
        for number in range(2):
            go(request, number)
            if fixed and number == 0:
                admitted[number].receive()
        for number in range(2):
            gates[number].release()
            assert accepted[number].receive() is not CLOSED
