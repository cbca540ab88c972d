"""Attributes of modelled primitives that change by operations on them, not by stores of a program.

Primitives are modelled as a whole, and nobody is told what they store. But some of their attributes
are there to be read, by a property or plainly: to read one is to inspect the primitive. Frames are
such objects, too: nobody is told how far they are, nor what is stored in local variables.
"""

from __future__ import annotations

import decimal
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import FrameType

from bohrbug.runtime.threads.rewrite.place import Place

INSPECTED: dict[str, tuple[type, ...]] = {
    "unfinished_tasks": (queue.Queue,),
    "queue": (queue.Queue,),
    "maxsize": (queue.Queue,),
    "is_shutdown": (queue.Queue,),
    "_value": (threading.Semaphore,),
    "_flag": (threading.Event,),
    "_waiters": (threading.Condition, Future),
    **dict.fromkeys(("n_waiting", "broken", "_count"), (threading.Barrier,)),
    "_state": (threading.Barrier, Future),
    **dict.fromkeys(("_result", "_exception", "_done_callbacks"), (Future,)),
    **dict.fromkeys(("_shutdown", "_broken", "_threads"), (ThreadPoolExecutor,)),
    "_started": (threading.Thread,),
    **dict.fromkeys(("f_locals", "f_lineno", "f_lasti"), (FrameType,)),
    **dict.fromkeys(("flags", "traps"), (decimal.Context,)),
}
"""Names of attributes, with the classes of whose objects, and those of subclasses, it is true."""

STORED: dict[str, tuple[type, ...]] = {"maxsize": (queue.Queue,)}
"""The same of those that operations go by, and that a program may set."""


def _ignore_future(owner: object, is_write: bool, place: Place) -> None:
    """While nobody is in control."""


def _ignore(owner: object, name: str, is_write: bool, place: Place) -> None:
    """While nobody is in control."""


def _ignore_question(name: str, place: Place) -> None:
    """While nobody is in control."""


def _ignore_assumption(what: str) -> None:
    """While nobody is in control."""


class Inspecting:
    """Who is told of such reads.

    Attributes:
        use_future: called just before a method of a future or task of asyncio, with that, whether
            the method changes it, and the place.
        tell: called just before one, with the object, the attribute, whether the program stores it,
            and the place.
        ask: called where the interpreter is asked for what nothing tells of, such as a count of
            references, with the name of the function and the place.
        assume: called with what is taken for granted from now on, as a verdict says it behind
            "taking".
    """

    use_future: Callable[[object, bool, Place], None] = staticmethod(_ignore_future)
    tell: Callable[[object, str, bool, Place], None] = staticmethod(_ignore)
    ask: Callable[[str, Place], None] = staticmethod(_ignore_question)
    assume: Callable[[str], None] = staticmethod(_ignore_assumption)
