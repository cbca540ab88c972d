"""pyee 8.0.1: a listener for one event raises KeyError when two events come at the same time.

Promised: a listener added with ``once`` is called for the first event and then removed.
Race: ``emit`` copies the listeners (_base.py:90); the wrapper that ``once`` installs removes the
listener (121) by ``pop`` (136) without a lock. Two threads that have both copied the listener both
remove it, and the second gets a KeyError.
Reported: issue #76 of the project, fixed by pull request #77 with a lock.
"""

import threading

from pyee import BaseEventEmitter


def test_a_listener_for_one_event_is_called_once() -> None:
    emitter = BaseEventEmitter()
    heard: list[str] = []
    failures: list[KeyError] = []
    emitter.once("ready", heard.append)

    def emit(name: str) -> None:
        try:
            emitter.emit("ready", name)
        except KeyError as failure:
            failures.append(failure)

    threads = [threading.Thread(target=emit, args=(name,)) for name in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(heard) == 1
    assert not failures
