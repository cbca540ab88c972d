"""multimethod 1.9: calling a multimethod while another thread calls it raises RuntimeError.

Promised: a call returns what the method for its arguments returns.
Race: ``multimethod.parents`` goes through the known signatures (__init__.py:248) while another call
adds one (305).
Reported: issue #73; 1.12 has it no more.
"""

import threading

from multimethod import multimethod


def test_each_call_finds_its_method() -> None:
    @multimethod
    def kind(value: object) -> str:
        return "object"

    @kind.register
    def _(value: int) -> str:
        return "int"

    kinds: list[str] = []
    threads = [
        threading.Thread(target=lambda value=value: kinds.append(kind(value)))
        for value in (True, "text", 1.5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(kinds) == ["int", "object", "object"]
