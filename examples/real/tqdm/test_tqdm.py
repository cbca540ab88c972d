"""tqdm 4.70.1: a progress bar that two threads update counts one step for two.

Promised: nothing in so many words (the README says of ``tqdm.write`` alone that it is safe for
threads); one bar for all threads of a pool is how it is used.
Race: ``tqdm.update`` adds in several steps, ``self.n += n`` (std.py:1234); the lock is taken only
to show the bar. A second thread that adds in between is forgotten, and the bar ends short of 100%.
Reported: found by reading the source.
"""

import io
import threading

from tqdm import tqdm


def test_every_step_is_counted() -> None:
    # Shown nowhere, and never again but at its end.
    bar = tqdm(total=2, file=io.StringIO(), mininterval=60)

    threads = [threading.Thread(target=bar.update) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = bar.n
    bar.close()

    assert counted == 2
