"""pymemcache 4.0.0: ``get`` raises KeyError while a server is down, though told to ignore errors.

Promised: with ``ignore_exc`` a failing server gives the default value; with ``use_pooling`` the
client is one for several threads.
Race: ``HashClient._mark_failed_server`` tests that the server has not failed before (hash.py:298),
notes that it has, and has ``remove_server`` take the note away (153) and then the server (155).
Two threads that both pass the test both take them away, and the second finds nothing: KeyError or
ValueError.
Reported: found by reading the source.
"""

import pathlib
import threading

from pymemcache import HashClient


def test_a_server_that_is_down_gives_the_default(tmp_path: pathlib.Path) -> None:
    client = HashClient(
        [str(tmp_path / "nobody-listens")], use_pooling=True, ignore_exc=True, retry_attempts=0
    )
    answers: list[object] = []

    threads = [
        threading.Thread(target=lambda: answers.append(client.get("key", "default")))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == ["default", "default"]
