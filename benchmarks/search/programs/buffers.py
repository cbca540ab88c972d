"""Buffers, queues and stacks between threads."""

from __future__ import annotations

import queue
import threading

from ._together import together


class _Buffer:
    """A bounded buffer with one condition variable for both directions."""

    def __init__(self, size: int, wakes_all: bool) -> None:
        self.size = size
        self.items: list[int] = []
        self.changed = threading.Condition()
        self.wakes_all = wakes_all

    def wake(self) -> None:
        if self.wakes_all:
            self.changed.notify_all()
        else:
            self.changed.notify()

    def put(self, item: int) -> None:
        with self.changed:
            while len(self.items) == self.size:
                self.changed.wait()
            self.items.append(item)
            self.wake()

    def get(self) -> int:
        with self.changed:
            while not self.items:
                self.changed.wait()
            item = self.items.pop(0)
            self.wake()
            return item


def _pass_through(buffer: _Buffer, producers: int, consumers: int) -> None:
    got: list[int] = []
    together(
        *[lambda number=number: buffer.put(number) for number in range(producers)],  # type: ignore[misc]
        *[lambda: got.append(buffer.get())] * consumers,
    )
    assert sorted(got) == list(range(producers))


def bounded_buffer(pairs: int) -> None:
    """``notify`` wakes one, perhaps one who waits for the other direction: all sleep."""
    _pass_through(_Buffer(1, wakes_all=False), pairs, pairs)


def bounded_buffer_notify_all(pairs: int) -> None:
    """``notify_all`` wakes whoever can go on."""
    _pass_through(_Buffer(1, wakes_all=True), pairs, pairs)


class _ImpatientBuffer(_Buffer):
    """Looks once, with ``if`` in place of ``while``."""

    def get(self) -> int:
        with self.changed:
            if not self.items:
                self.changed.wait()
            item = self.items.pop(0)
            self.wake()
            return item


def wait_without_loop() -> None:
    """Between the notification and the waking another consumer has taken the item."""
    buffer = _ImpatientBuffer(2, wakes_all=True)
    got: list[int] = []
    together(
        lambda: got.append(buffer.get()),
        lambda: got.append(buffer.get()),
        lambda: buffer.put(1) or buffer.put(2),  # type: ignore[func-returns-value]
    )
    assert sorted(got) == [1, 2]


def wait_with_loop() -> None:
    """Who wakes looks again."""
    buffer = _Buffer(2, wakes_all=True)
    got: list[int] = []
    together(
        lambda: got.append(buffer.get()),
        lambda: got.append(buffer.get()),
        lambda: buffer.put(1) or buffer.put(2),  # type: ignore[func-returns-value]
    )
    assert sorted(got) == [1, 2]


class _Ring:
    """A ring buffer without any lock, for any number of producers."""

    def __init__(self, size: int) -> None:
        self.slots: list[int | None] = [None] * size
        self.head = 0
        self.tail = 0
        self.lock = threading.Lock()

    def put(self, item: int) -> None:
        tail = self.tail
        self.slots[tail] = item
        self.tail = (tail + 1) % len(self.slots)

    def get(self) -> int | None:
        if self.head == self.tail:
            return None
        item = self.slots[self.head]
        self.head = (self.head + 1) % len(self.slots)
        return item


def circular_buffer(items: int) -> None:
    """Two producers take the same slot of a ring: an item is lost."""
    ring = _Ring(2 * items + 1)

    def produce(first: int) -> None:
        for number in range(first, first + items):
            ring.put(number)

    together(lambda: produce(0), lambda: produce(items))
    got = [ring.get() for _ in range(2 * items)]
    assert sorted(str(item) for item in got) == sorted(str(item) for item in range(2 * items))


def circular_buffer_locked(items: int) -> None:
    """Producers take their slots under a lock."""
    ring = _Ring(2 * items + 1)

    def produce(first: int) -> None:
        for number in range(first, first + items):
            with ring.lock:
                ring.put(number)

    together(lambda: produce(0), lambda: produce(items))
    got = [ring.get() for _ in range(2 * items)]
    assert sorted(str(item) for item in got) == sorted(str(item) for item in range(2 * items))


class _Queue:
    """A queue whose count is kept apart from its items."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.count = 0
        self.lock = threading.Lock()

    def put_counting_after(self, item: int) -> None:
        with self.lock:
            self.items.append(item)
        with self.lock:
            self.count += 1

    def put(self, item: int) -> None:
        with self.lock:
            self.items.append(item)
            self.count += 1

    def get(self) -> int | None:
        with self.lock:
            if not self.items:
                return None
            self.count -= 1
            assert self.count >= 0
            return self.items.pop(0)


def queue_counted_apart() -> None:
    """An item can be taken before it is counted."""
    items = _Queue()
    together(lambda: items.put_counting_after(1), items.get)


def queue_counted_at_once() -> None:
    """An item is counted when it is put."""
    items = _Queue()
    together(lambda: items.put(1), items.get)


class _Stack:
    def __init__(self) -> None:
        self.items: list[int] = []
        self.lock = threading.Lock()

    def push(self, item: int) -> None:
        with self.lock:
            self.items.append(item)

    def is_empty(self) -> bool:
        with self.lock:
            return not self.items

    def pop(self) -> int:
        with self.lock:
            assert self.items, "nothing to pop"
            return self.items.pop()

    def pop_or_nothing(self) -> int | None:
        with self.lock:
            return self.items.pop() if self.items else None


def stack(pushes: int) -> None:
    """Two threads see that the stack is not empty, and pop its last item."""
    items = _Stack()

    def push() -> None:
        for number in range(pushes):
            items.push(number)

    def pop() -> None:
        for _ in range(pushes):
            if not items.is_empty():
                items.pop()

    together(push, pop, pop)


def stack_checked_inside(pushes: int) -> None:
    """Looking and popping are one critical section."""
    items = _Stack()

    def push() -> None:
        for number in range(pushes):
            items.push(number)

    def pop() -> None:
        for _ in range(pushes):
            items.pop_or_nothing()

    together(push, pop, pop)


class _WorkStealingQueue:
    """The THE protocol of Cilk-5: the owner works at the tail, thieves at the head.

    Frigo, Leiserson and Randall, PLDI 1998, section 5.
    """

    def __init__(self, reads_head_early: bool) -> None:
        self.items: list[int] = []
        self.head = 0
        self.tail = 0
        self.lock = threading.Lock()
        self.reads_head_early = reads_head_early

    def push(self, item: int) -> None:
        if self.tail < len(self.items):
            self.items[self.tail] = item
        else:
            self.items.append(item)
        self.tail += 1

    def pop(self) -> int | None:
        tail = self.tail - 1
        if self.reads_head_early:
            head = self.head
            self.tail = tail
        else:
            self.tail = tail
            head = self.head
        if head <= tail:
            return self.items[tail]
        self.tail = tail + 1
        with self.lock:
            tail = self.tail - 1
            self.tail = tail
            if self.head <= tail:
                return self.items[tail]
            self.tail = tail + 1
            return None

    def steal(self) -> int | None:
        with self.lock:
            head = self.head
            self.head = head + 1
            if head + 1 > self.tail:
                self.head = head
                return None
            return self.items[head]


def _work_and_steal(work: _WorkStealingQueue, items: int) -> None:
    taken: list[int] = []

    def own() -> None:
        for number in range(items):
            work.push(number)
        for _ in range(items):
            item = work.pop()
            if item is not None:
                taken.append(item)

    def thieve() -> None:
        item = work.steal()
        if item is not None:
            taken.append(item)

    together(own, thieve)
    assert sorted(taken) == sorted(set(taken)), "an item was taken twice"


def work_stealing_queue(items: int) -> None:
    """The owner reads the head before it has given notice of its pop: both take the last item."""
    _work_and_steal(_WorkStealingQueue(reads_head_early=True), items)


def work_stealing_queue_announced(items: int) -> None:
    """The owner gives notice first; when both want the last item, the lock decides."""
    _work_and_steal(_WorkStealingQueue(reads_head_early=False), items)


def one_end_for_two() -> None:
    """Two consumers run until they get ``None``, and only one ``None`` is put."""
    jobs: queue.Queue[int | None] = queue.Queue()

    def consume() -> None:
        while jobs.get() is not None:
            pass

    def produce() -> None:
        jobs.put(1)
        jobs.put(None)

    # The second consumer asks only if there is something at that moment.
    def consume_if_any() -> None:
        if not jobs.empty():
            consume()

    together(produce, consume, consume_if_any)


def an_end_for_each() -> None:
    """Each consumer that saw the end puts it back for the others."""
    jobs: queue.Queue[int | None] = queue.Queue()

    def consume() -> None:
        while jobs.get() is not None:
            pass
        jobs.put(None)

    def produce() -> None:
        jobs.put(1)
        jobs.put(None)

    def consume_if_any() -> None:
        if not jobs.empty():
            consume()

    together(produce, consume, consume_if_any)


def empty_then_get() -> None:
    """A consumer asks whether the queue is empty before it gets without a wait."""
    jobs: queue.Queue[int] = queue.Queue()
    jobs.put(1)

    def consume() -> None:
        if not jobs.empty():
            jobs.get_nowait()

    together(consume, consume)


def get_or_empty() -> None:
    """A consumer tries, and minds the exception."""
    jobs: queue.Queue[int] = queue.Queue()
    jobs.put(1)

    def consume() -> None:
        try:
            jobs.get_nowait()
        except queue.Empty:
            pass

    together(consume, consume)
