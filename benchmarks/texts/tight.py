"""Programs whose bug PCT finds with the probability that it promises, and with no higher one.

The same as ``tight.c``.  The main thread starts the reader first, then a chain of threads each of
which waits for the one before; the last one, the writer, comes after everything else.  So the
reader sees something only if its priority is the lowest of all ``n`` tasks.  What it has to see:

- depth 1: the first event is set;
- depth 2: the first is set and the second one is not yet, which needs a change of priority just
  before the writer sets it;
- depth 3: and right after that the second one is set, which needs a change in the reader, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial


def tight(tasks: int, depth: int, filling: int) -> None:
    """Fails if the ``depth`` orderings happen.

    Parameters:
        tasks: ``n``, the main thread and the reader included; at least 3.
        depth: ``d``, 1 to 3.
        filling: how often the writer and the reader take a lock that nobody else takes.
    """
    first, second = threading.Event(), threading.Event()
    links = [threading.Semaphore(0) for _ in range(tasks - 2)]

    def fill() -> None:
        own = threading.Lock()
        for _ in range(filling):
            with own:
                pass

    def link(number: int) -> None:
        links[number].acquire()
        if number + 1 < len(links):
            links[number + 1].release()
            return
        fill()
        first.set()
        second.set()

    seen = []

    def read() -> None:
        found = first.is_set()
        if found and depth > 1:
            found = not second.is_set()
        if found and depth > 2:
            found = second.is_set()
        seen.append(found)
        fill()

    works: list[Callable[[], None]] = [read, *(partial(link, at) for at in range(len(links)))]
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    links[0].release()
    for thread in threads:
        thread.join()
    assert not seen[0]
