"""mongomock 4.1.2: of two documents that are inserted into a new collection, one is lost.

Race: ``DatabaseStore.__getitem__`` looks whether there is a collection, and stores a new one
(store.py); a second thread that finds none either replaces it. Each collection has a lock.
Reported: issue #229 (that it is not thread-safe), the rest found by exploring.
"""

import threading

import mongomock


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_both_documents_are_there() -> None:
    things = mongomock.MongoClient().db.things
    together(lambda: things.insert_one({"_id": 1}), lambda: things.insert_one({"_id": 2}))
    assert things.count_documents({}) == 2
