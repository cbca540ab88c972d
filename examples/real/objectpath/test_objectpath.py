"""ObjectPath 0.6.1: two queries that are compiled at the same time disturb each other.

Race: the parser keeps the token that it is at, and the generator of the next ones, in two globals
(core/parser.py) that all threads share. Compiled queries are cached, which the test undoes.
Reported: issue #83.
"""

import threading

from objectpath import Tree
from objectpath.core import interpreter


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_each_query_gets_its_answer() -> None:
    interpreter.EXPR_CACHE.clear()
    tree = Tree({"a": 1, "b": 2})
    seen: dict[str, int] = {}
    together(
        lambda: seen.update(a=tree.execute("$.a")),
        lambda: seen.update(b=tree.execute("$.b")),
    )
    assert seen == {"a": 1, "b": 2}
