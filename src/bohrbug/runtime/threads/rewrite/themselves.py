"""Whether an object stands for nothing but itself when it is told of as a whole."""

from __future__ import annotations

import decimal
import mmap

from bohrbug.runtime.threads.rewrite import delegates, families, lives, memory, parts
from bohrbug.runtime.threads.rewrite.attributes import depends_on_special_methods
from bohrbug.runtime.threads.rewrite.classes import FOREIGN, remember_class


class _OnlyThemselves(dict[type, bool]):
    """By class, as that is asked of thousands of objects."""

    def __missing__(self, class_: type) -> bool:
        answer = not (
            class_ in families.VIEWS
            or class_ in (memoryview, mmap.mmap)
            or issubclass(class_, memory.DATA)
            or class_ in lives.PROXIES
            or delegates.DELEGATES[class_] is not None
            or class_ in parts.PARTS
            or FOREIGN[class_]
            or issubclass(class_, decimal.Decimal)
        )
        self[class_] = answer
        remember_class(self, class_)
        return answer


ONLY_THEMSELVES = _OnlyThemselves()
depends_on_special_methods(ONLY_THEMSELVES)


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    ONLY_THEMSELVES.clear()
