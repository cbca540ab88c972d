"""dask 2022.1.0: two threads that unpickle one lock hold it at the same time.

Promised: "The lock from this class can be serialized ... all deserialized locks with the same token
share the underlying lock".
Race: ``SerializableLock.__init__`` looks for its token (utils.py:1101) before it stores a lock for
it (1105); two threads store two.
Found by reading the source.
"""

import pickle
import threading

from dask.utils import SerializableLock


def test_one_thread_at_a_time() -> None:
    pickled = pickle.dumps(SerializableLock())
    inside: list[str] = []

    def work() -> None:
        with pickle.loads(pickled):
            inside.append("a thread")
            assert len(inside) == 1
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
