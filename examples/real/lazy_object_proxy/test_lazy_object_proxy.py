"""lazy-object-proxy 1.13.0: the factory runs twice, and a change to the first object is lost.

Expected: a proxy stands for one object, which its factory makes on first use.
Race: ``Proxy.__wrapped__`` looks for ``__target__`` (slots.py:97), calls the factory (103) and
stores the target (104) without a lock: two first uses make two objects, and what was done to the
one that is replaced is gone.
Reported: issue #83 of the project ("add a threadsafe option").
"""

import threading

from lazy_object_proxy.slots import Proxy


def test_the_factory_runs_once() -> None:
    made: list[list[str]] = []

    def make() -> list[str]:
        made.append([])
        return made[-1]

    names = Proxy(make)
    threads = [
        threading.Thread(target=lambda name=name: names.append(name)) for name in ("ada", "bob")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(names) == ["ada", "bob"]
    assert len(made) == 1
