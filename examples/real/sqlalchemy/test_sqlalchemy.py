"""SQLAlchemy 2.1.9: an event that should come once, and before all others, comes twice.

Promised: ``first_connect`` comes once for an engine, and before any thread gets a connection.
Race: the lock by which the listeners are called once is made when it is first needed
(``_get_exec_once_mutex``, event/attr.py:437-444). On a build with the GIL nothing guards that
(``mini_gil`` is a ``nullcontext``), but threads can be switched there after the call that makes the
lock: each then has one of its own.
Found by reading the source: the changes of 2.1 say that the lock is made safely without the GIL.
"""

import threading

from sqlalchemy import create_engine, event
from sqlalchemy.pool import NullPool


def test_the_first_connection_is_prepared_once() -> None:
    engine = create_engine("sqlite://", poolclass=NullPool)
    prepared: list[str] = []
    seen: list[list[str]] = []

    @event.listens_for(engine, "first_connect")
    def prepare(connection: object, record: object) -> None:
        prepared.append("begin")
        prepared.append("end")

    def use() -> None:
        with engine.connect():
            seen.append(list(prepared))

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["begin", "end"]] * 2
