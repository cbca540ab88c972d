"""lark 1.2.2: one parser with an ``Indenter`` that two threads use fails on a correct text.

Race: the ``Indenter`` keeps the levels of the text that it is at in itself (indenter.py), and
there is one for all calls of ``parse``.
Reported: found by reading the source.
"""

import threading

from lark import Lark
from lark.indenter import Indenter


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Blocks(Indenter):
    NL_type = "_NL"
    OPEN_PAREN_types = ()
    CLOSE_PAREN_types = ()
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 8


GRAMMAR = r"""
    block: NAME _NL [_INDENT block+ _DEDENT]
    NAME: /[a-z]+/
    %declare _INDENT _DEDENT
    _NL: /(\r?\n[ ]*)+/
"""


def test_two_threads_parse() -> None:
    parser = Lark(GRAMMAR, parser="lalr", start="block", postlex=Blocks())
    text = "a\n    b\n"
    expected = parser.parse(text)
    seen: list[object] = []
    together(*[lambda: seen.append(parser.parse(text))] * 2)
    assert seen == [expected, expected]
