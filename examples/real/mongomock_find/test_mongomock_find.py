"""mongomock 3.23.0: ``find`` raises RuntimeError while another thread inserts.

Race: ``find`` goes through the documents of a collection without a lock (collection.py).
Reported: issue #694, fixed by pull request #695.
"""

import threading

import mongomock


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_finding_while_another_thread_inserts() -> None:
    things = mongomock.MongoClient().db.things
    things.insert_one({"_id": 1})
    things.insert_one({"_id": 2})
    together(lambda: list(things.find()), lambda: things.insert_one({"_id": 3}))
