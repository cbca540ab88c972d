"""plum-dispatch 2.5.7: a call is ambiguous although there is one method for it.

Expected: a function decorated with ``@dispatch`` can be called as soon as it is defined.
Race: the first call resolves the pending methods (``_resolve_pending_registrations``,
function.py:269-296) by registering each with the resolver, without a lock. ``Resolver.register``
looks for an equal method (resolver.py:297) before it appends one (323): two first calls can append
the same method twice, and from then on each call of the function is ambiguous.
Reported: issue #274 of the project (intermittent errors on the first call from several threads),
fixed by pull request #281 with a lock.
"""

import threading

from plum import Dispatcher


def test_the_first_calls_find_their_methods() -> None:
    dispatch = Dispatcher()

    @dispatch
    def describe(value: "int") -> str:
        return "whole number"

    @dispatch
    def describe(value: "str") -> str:  # noqa: F811
        return "text"

    results: list[str] = []

    def call(value: object) -> None:
        results.append(describe(value))

    threads = [threading.Thread(target=call, args=(value,)) for value in (1, "a")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == ["text", "whole number"]
