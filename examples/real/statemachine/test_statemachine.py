"""python-statemachine 3.2.2: of two events that two threads send, one is not processed.

Promised (``SyncEngine.processing_loop``): only the first event enters the loop, "next events will
only be put on the queue and processed by the same loop".
Race: the loop ends when it finds its queue empty (engines/sync.py:84) and only then gives up its
lock (92). An event that is put in between finds the lock taken (60) and is left to a loop that
looks no more: it waits in the queue until somebody sends another one.
Reported: found by reading the source.
"""

import threading

from statemachine import State, StateMachine


class Turnstile(StateMachine):
    unlocked = State(initial=True)
    enter = unlocked.to.itself(on="count")

    def __init__(self) -> None:
        self.entered = 0
        super().__init__()

    def count(self) -> None:
        self.entered += 1


def test_both_events_are_processed() -> None:
    turnstile = Turnstile()

    threads = [threading.Thread(target=turnstile.send, args=("enter",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert turnstile.entered == 2
