"""tqdm 4.19.5: two threads that each show a progress bar get an AttributeError or a RuntimeError.

Race: ``__new__`` puts a bar into the set of all bars before it has a position, and
``_get_free_pos`` goes through that set without the lock (_tqdm.py).
Reported: issue #481, pull requests #700 and #754.
"""

import threading
from io import StringIO

from tqdm import tqdm


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_bars() -> None:
    tqdm.monitor_interval = 0
    counts: list[int] = []
    together(*[lambda: counts.append(sum(1 for _ in tqdm(range(2), file=StringIO())))] * 2)
    assert counts == [2, 2]
