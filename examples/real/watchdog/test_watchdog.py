"""watchdog 6.0.0: a watch that is scheduled while the observer starts never gets any event.

Promised: ``schedule`` starts the emitter of the watch at once when the observer runs, and ``start``
starts all that were scheduled before.
Race: ``BaseObserver.start`` (observers/api.py:261-268) copies the set of emitters, starts those,
and then starts the observer, all without ``self._lock``. ``schedule`` starts the new emitter only
when the observer is alive (311-312) and then adds it to the set (313). Where ``start`` takes its
copy before the emitter is added, but ``schedule`` has found the observer not yet alive, nobody ever
starts the emitter.
Reported: issue #1044 of the project ("Race condition in Observer.start() and
observer.schedule()").
"""

import threading

from watchdog.events import FileSystemEventHandler
from watchdog.observers.api import BaseObserver, EventEmitter


class QuietEmitter(EventEmitter):
    """An emitter that runs until it is stopped, and has no events."""

    def queue_events(self, timeout: float) -> None:
        self.stopped_event.wait()


def test_a_scheduled_watch_has_a_running_emitter() -> None:
    observer = BaseObserver(QuietEmitter)
    observer.schedule(FileSystemEventHandler(), "first")

    scheduling = threading.Thread(
        target=lambda: observer.schedule(FileSystemEventHandler(), "second")
    )
    starting = threading.Thread(target=observer.start)
    scheduling.start()
    starting.start()
    starting.join()
    scheduling.join()

    running = {emitter.watch.path for emitter in observer.emitters if emitter.is_alive()}
    observer.stop()
    observer.join()
    assert running == {"first", "second"}
