"""luqum 0.11.0: two queries that are parsed at the same time disturb each other.

Promised: ``parser.parse`` returns the tree of its query.
Race: all calls share one lexer (parser.py:236), which keeps the text and how far it has come.
Reported: issue #72; ``luqum.thread`` is there since 0.12.0.
"""

import threading

from luqum.parser import parser


def test_each_query_has_its_own_tree() -> None:
    queries = ["title:bohr AND kind:bug", "tree OR (leaf AND root)"]
    trees: dict[str, str] = {}

    def parse(query: str) -> None:
        trees[query] = str(parser.parse(query))

    threads = [threading.Thread(target=parse, args=(query,)) for query in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trees == {query: query for query in queries}
