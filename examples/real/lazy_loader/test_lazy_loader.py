"""lazy_loader 0.3: of two threads that load a module lazily, one can't use it.

Promised: ``load`` gives a module, which is imported when it is used for the first time.
Race: ``load`` looks into ``sys.modules`` (__init__.py:175) and stores a module of its own there
much later (206). If two threads do so, the one whose module was replaced gets "module object for
'wsgiref.headers' substituted in sys.modules during a lazy load", or finds a module half loaded.
The test begins without the module, as a program does.
Reported: issue #88, pull request #90; fixed in 0.4.
"""

import sys
import threading

import lazy_loader
import pytest


@pytest.mark.filterwarnings("ignore:subpackages:RuntimeWarning")
def test_two_threads_load_a_module() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "wsgiref"]:
        del sys.modules[name]
    names: list[str] = []

    def use() -> None:
        names.append(lazy_loader.load("wsgiref.headers").Headers.__name__)

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == ["Headers", "Headers"]
