"""injector 0.20.1: a singleton is created twice.

Promised: a class in singleton scope has one instance per injector, also between threads: the
project has a test for it, and ``SingletonScope.get`` is locked (__init__.py:780).
Race: ``Injector.get`` is not locked (__init__.py:932-943). It gets the instance of the scope itself
by a binding that is created on first use (937-938), so two threads can get two scope instances,
each with its own table of singletons.
Reported: pull request #215 of the project ("Injector.get() thread safety regression"), fixed in
the next version by locking the whole method.
"""

import threading

from injector import Injector, singleton


@singleton
class Connection:
    pass


def test_a_singleton_has_one_instance() -> None:
    injector = Injector()
    instances: list[Connection] = []

    def ask() -> None:
        instances.append(injector.get(Connection))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert instances[0] is instances[1]
