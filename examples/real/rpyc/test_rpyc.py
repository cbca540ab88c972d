"""rpyc 5.1.0: of two threads that call through one connection, one waits for its answer in vain.

Promised: a connection can be used by several threads.
Race: a thread that has sent its request waits for a lock, and then for data (protocol.py:383),
although the other one has received its answer meanwhile; it gives up after 30 seconds.
Reported: issues #354 and #490.
"""

import threading

import rpyc


class Service(rpyc.Service):
    def exposed_double(self, number: int) -> int:
        return 2 * number


def test_both_threads_get_their_answers() -> None:
    connection = rpyc.connect_thread(remote_service=Service)
    results: list[int] = []

    def ask(number: int) -> None:
        results.append(connection.root.double(number))

    threads = [threading.Thread(target=ask, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connection.close()
    assert sorted(results) == [2, 4]
