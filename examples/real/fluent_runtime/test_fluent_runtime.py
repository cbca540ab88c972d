"""fluent.runtime 0.4.0: formatting a message in two threads raises ValueError.

Race: ``FluentLocalization._bundles`` takes the next bundle from a generator that all threads share
(fallback.py). While one thread runs it, another gets "generator already executing", or, when the
generator has ended, sees no bundle at all and returns the message's id.
Reported: projectfluent/python-fluent issue #221.
"""

import threading

from fluent.runtime import FluentLocalization
from fluent.runtime.fallback import AbstractResourceLoader
from fluent.syntax import FluentParser


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Loader(AbstractResourceLoader):
    def resources(self, locale, resource_ids):
        yield [FluentParser().parse("hello = Hello\n")]


def test_both_threads_get_the_text() -> None:
    texts = FluentLocalization(["en"], ["main.ftl"], Loader())
    seen: list[str] = []
    together(*[lambda: seen.append(texts.format_value("hello"))] * 2)
    assert seen == ["Hello", "Hello"]
