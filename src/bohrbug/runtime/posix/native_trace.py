"""Traces of native programs."""

from __future__ import annotations

from typing import Any

from bohrbug.model.checksum import checksum_of_plan
from bohrbug.model.outcome import PASSED, Uncontrolled
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.recorded import Reading


class NativeTrace(Trace):
    """A trace of which each column is made when somebody asks for it: most searches need few.

    Its outcome is that it passed, until somebody says otherwise.

    Parameters:
        plan: the plan that was executed.
        reading: what the segment held then.
    """

    ONE_IN = 500
    """To make the columns takes as long as to execute the program several times."""

    __slots__ = ("_reading", "engine", "on_fibers", "seen")

    _reading: Reading
    engine: Engine
    """What it was executed by."""
    on_fibers: bool
    """Whether one kernel thread wore all tasks."""
    seen: Any
    """What the hooks have seen, see :class:`bohrbug.runtime.posix.accesses.Seen`."""

    def __init__(self, plan: Plan, reading: Reading) -> None:
        # The other slots are set when somebody asks for them.
        self.plan = plan
        self._reading = reading
        self.races = []
        self.outcome = PASSED
        self.raised = None
        self.divergence = reading.divergence()
        self.uncontrolled = Uncontrolled()
        self.virtual_time = reading.now / 1e9
        self.seconds = 0.0
        # Not measured, and so never too long.
        self.longest_stall = 0.0

    def __len__(self) -> int:
        return self._reading.steps

    def checksum(self) -> int:
        """That of its plan: choices are read only if somebody looks at them."""
        return checksum_of_plan(self.plan)

    @property
    def task_count(self) -> int:
        """See :class:`~bohrbug.model.trace.Trace`."""
        return int(self._reading.task_count)

    def __getattr__(self, name: str) -> Any:
        # Called only for slots that are not set yet.
        reading = object.__getattribute__(self, "_reading")
        match name:
            case "tasks":
                self.tasks = reading.who_ran()
            case "choices":
                self.choices = reading.choices()
            case "arities":
                self.arities = reading.arities()
            case "defaults":
                # Only event loops have a next step of their own, beside that of the running task.
                self.defaults = {}
            case "withdrawn":
                # Nor does anything else offer what it takes back.
                self.withdrawn = {}
            case "enabled" | "timed":
                self.enabled, self.timed = reading.who_could_run()
            case "yielded":
                self.yielded = reading.who_yielded()
            case "operations":
                self.operations = reading.operations()
            case "effects":
                self.effects = reading.effects()
            case "gates":
                self.gates = reading.gates()
            case "early_timeouts":
                self.early_timeouts = reading.early_timeouts()
            case "final_pending":
                self.final_pending = reading.final_pending()
            case "task_infos":
                self.task_infos = reading.infos()
            case "resources":
                self.resources = reading.descriptions()
            case _:
                raise AttributeError(name)
        return object.__getattribute__(self, name)
