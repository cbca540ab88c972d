"""apipkg 2.0.0: of two threads that use a name for the first time, one gets AttributeError.

Promised: the names that a package exports are imported when they are used.
Race: ``ApiModule.__makeattr`` sets the attribute and then deletes the name from ``__map__``
(__init__.py:158 to 160). Who did not find the attribute before it was set, and looks the name up
after it was deleted (150), says that there is no such attribute. What ``__onfirstaccess__`` names
is taken out in two steps as well (146 and 147).
Reported: pull request #25; fixed in 2.1.0.
"""

import sys
import threading
import types

import apipkg


def make_package(exported: dict[str, str]) -> types.ModuleType:
    sys.modules["made_package"] = types.ModuleType("made_package")
    apipkg.initpkg("made_package", exported)
    return sys.modules["made_package"]


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_threads_use_a_name() -> None:
    package = make_package({"root": "math:sqrt"})
    roots: list[float] = []
    together(*[lambda: roots.append(package.root(4))] * 2)
    assert roots == [2, 2]


def test_two_threads_make_the_first_access() -> None:
    package = make_package({"__onfirstaccess__": "gc:collect", "root": "math:sqrt"})
    roots: list[float] = []
    together(*[lambda: roots.append(package.root(4))] * 2)
    assert roots == [2, 2]
