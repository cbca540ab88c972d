"""mock 4.0.3 (the backport of ``unittest.mock``): two threads get two children of one name.

Promised: an attribute of a mock is the same mock each time.
Race: ``NonCallableMock.__getattr__`` looks for the child (mock.py:640) and stores a new one later
(654); calls of the one that was replaced are not counted.
Reported: CPython issue gh-98624; fixed in 5.0.0.
"""

import threading
from unittest.mock import MagicMock


def test_two_threads_use_one_attribute() -> None:
    mocked = MagicMock()
    seen: list[object] = []
    threads = [threading.Thread(target=lambda: seen.append(mocked.child)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[0] is seen[1]
