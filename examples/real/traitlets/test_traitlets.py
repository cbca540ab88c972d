"""traitlets 5.16.1: two threads that hold notifications back get AttributeError.

Promised: ``hold_trait_notifications`` bundles the notifications of what is set within it.
Race: it asks whether somebody holds them already and says later that it does (traitlets.py); both
threads replace ``notify_change``, and both delete it.
Source: reading the source.
"""

import threading

from traitlets import HasTraits, Int


class Point(HasTraits):
    x = Int()
    y = Int()


def test_two_threads_hold_notifications() -> None:
    point = Point()
    seen: list[str] = []
    point.observe(lambda change: seen.append(change.name))

    def move(axis: str) -> None:
        with point.hold_trait_notifications():
            setattr(point, axis, 1)

    threads = [threading.Thread(target=move, args=(axis,)) for axis in "xy"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == ["x", "y"]
