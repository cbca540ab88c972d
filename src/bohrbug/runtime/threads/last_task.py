"""What is left of an execution once all other tasks were joined: nobody is told what it accesses.

Nothing of it can be reordered, and a teardown that empties a database can be most of what an
execution does.  See :mod:`.lone` for the other end, before there is a second task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bohrbug.accelerator import native
from bohrbug.runtime.threads.control import is_unseen
from bohrbug.runtime.threads.data.sinks import AroundSink
from bohrbug.runtime.threads.data.variables import Variables
from bohrbug.runtime.threads.rewrite import tell

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

MANY_FUNCTIONS = 100
"""So many functions must be rewritten for that to be worth it: a small test has ended by then."""


class SinkOfLastTask(AroundSink):
    """Stands before the sink of an execution whose root task is alone again, until it is not.

    Nothing that the task accesses can be reordered, so that nobody has to be told of it.  Only what
    the program lets go of is still let go of by us, too.

    Parameters:
        execution: has the usual sink, which is enabled.
        variables: of that sink.

    Attributes:
        usual: the sink behind it.
    """

    def __init__(self, execution: Execution, variables: Variables) -> None:
        super().__init__(execution.sink)
        self.usual = self._usual
        self._execution = execution
        self._sweep = variables.sweep
        self._usual.enabled = False
        variables.let_go_of_unnamed()
        self._be_set(self)

    @property
    def enabled(self) -> bool:
        """See :class:`.WatchingSink`; a second task sets it."""
        return bool(self._usual.enabled)

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._usual.enabled = value
        # Else another sink was put around this one meanwhile.
        if value and self._execution.sink is self:
            self._be_set(self._usual)

    def stand_before(self, usual: Any) -> None:
        """Stand before another sink, which stands before the one up to now."""
        super().__init__(usual)
        self.usual = usual

    def _be_set(self, sink: Any) -> None:
        self._execution.sink = sink
        tell.replace_sink(sink)

    def attribute(self, owner: Any, name: str, is_write: bool, place: Any) -> None:
        """See :class:`.WatchingSink`."""
        if self.enabled:
            self._usual.attribute(owner, name, is_write, place)
        elif is_write:
            self._let_go()

    def item(self, owner: Any, key: object, is_write: bool, place: Any) -> None:
        """See :class:`.WatchingSink`."""
        if self.enabled:
            self._usual.item(owner, key, is_write, place)
        elif is_write:
            self._let_go()

    def whole(self, owner: Any, is_write: bool, place: Any) -> None:
        """See :class:`.WatchingSink`."""
        if self.enabled:
            self._usual.whole(owner, is_write, place)
        elif is_write:
            self._let_go()

    def _let_go(self) -> None:
        if not is_unseen():
            self._sweep()


class Company:
    """Knows whether an execution is one to fall silent once its root task is alone again.

    Attributes:
        falls_silent: whether it is; a class attribute, as there is one execution at a time.
        variables: those that its sink knows.
    """

    falls_silent = False
    variables: Variables | None = None

    @classmethod
    def expect(cls, functions: int, variables: Variables | None) -> None:
        """An execution begins, or with no variables has ended.

        Parameters:
            functions: how many are rewritten.
            variables: those that its sink knows.
        """
        cls.falls_silent = variables is not None and functions >= MANY_FUNCTIONS
        cls.variables = variables

    @classmethod
    def has_left(cls, execution: Execution | None) -> None:
        """A task was joined: perhaps the root task is alone now."""
        variables = cls.variables
        if (
            execution is not None
            and variables is not None
            and getattr(execution.sink, "may_fall_silent", False)
            and execution.sink.enabled
            and not execution.aborting
            and not execution.suspended
            and not execution.collecting
            and execution.loops is None
            and execution.is_alone()
        ):
            SinkOfLastTask(execution, variables)


if native is not None:
    native.use_silent_sink(SinkOfLastTask)
