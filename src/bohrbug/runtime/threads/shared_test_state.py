"""What lives on from one execution of a test to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING

from bohrbug.runtime.threads.monitoring import Explainer, Visitor
from bohrbug.runtime.threads.resources import OlderObjects
from bohrbug.runtime.threads.task import CarrierPool, Task

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution


def _unchanged(code: CodeType) -> CodeType:
    return code


@dataclass(slots=True)
class LooksApart:
    """Whether it is of use to look which tasks of an event loop have nothing in common.

    Parameters:
        made: how often that was looked for.
        was_useful: some were found.
    """

    made: int = 0
    was_useful: bool = False


@dataclass(frozen=True, slots=True)
class SharedTestState:
    """What all executions of a test share.

    Parameters:
        explainer: builds outcomes.
        invariant: called before every step from the second task on; what it
            raises, or a false result, decides the outcome.
        end_hooks: called when the test has ended and threads are still alive.
        swap: exchanges what the interpreter keeps per OS thread and tasks must not share.
        pool: where carriers come from.
        names: ids of objects that live on, too.
        namespaces: see :func:`~bohrbug.runtime.threads.data.naming.names_of`.
        visitor: looks in on executions, if anybody does.
        original: from code that was rewritten to what it was before.
        looks_apart: how often tasks of event loops were told apart.
    """

    explainer: Explainer
    invariant: Callable[[], object] | None
    end_hooks: tuple[Callable[[Execution], object], ...]
    swap: Callable[[Task, Task], None]
    pool: CarrierPool = field(default_factory=CarrierPool)
    names: OlderObjects = field(default_factory=OlderObjects)
    namespaces: set[object] = field(default_factory=set)
    visitor: Visitor | None = None
    original: Callable[[CodeType], CodeType] = _unchanged
    looks_apart: LooksApart = field(default_factory=LooksApart)
