"""sqlparse 0.4.4: the first two threads that parse something get an AttributeError.

Race: ``Lexer.get_default_instance`` stores the lexer before it has been given its regular
expressions (lexer.py). The test begins without a lexer, as a program does.
Reported: issue #730.
"""

import threading

import sqlparse
from sqlparse.lexer import Lexer


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_threads_parse() -> None:
    Lexer._default_intance = None
    seen: list[str] = []
    together(*[lambda: seen.append(sqlparse.parse("select 1")[0].get_type())] * 2)
    assert seen == ["SELECT", "SELECT"]
