"""What a segment holds after an execution, in the words of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

from bohrbug.model.decision import Decision, Readiness, Standing
from bohrbug.model.operation import CHOOSE, WAKE, Operation, ResourceId, Site, TaskId
from bohrbug.model.outcome import Abandoned, BlockedTask, Divergence, Held
from bohrbug.model.plan import Choice
from bohrbug.model.trace import Gate
from bohrbug.runtime.posix import enumerations, layout
from bohrbug.runtime.posix.naming import Naming
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.symbols import Place, Symbols

KERNEL = "kernel"
"""What the kernel keeps: readiness of descriptors, processes, signals.  One resource, as nobody can
tell what a poll or a wait for any child depends on."""

_ALL_PARKED = (
    *(
        enumerations.DEADLOCK,
        enumerations.STEP_LIMIT,
        enumerations.COMES_FURTHER,
        enumerations.STUCK_OUTSIDE,
        enumerations.ASKED,
    ),
)
"""Endings at which nobody had begun what was next."""

_FIELDS = tuple(name for name, _ in layout.StepRecord._fields_)

_CHANGES_KERNEL = frozenset(flags for flags in range(256) if flags & enumerations.WRITES_KERNEL)
_POLLS = frozenset(flags for flags in _CHANGES_KERNEL if flags & enumerations.ON_DESCRIPTOR)

_WAKE = enumerations.KINDS.index(WAKE)
_CHOOSE = enumerations.KINDS.index(CHOOSE)


@dataclass(frozen=True, slots=True)
class Dependences:
    """Steps that the program was seen to do, which others depend on that have no effect else.

    Parameters:
        kernel: changes of what the kernel keeps, see :data:`KERNEL`.
        polls: waits for any of several descriptors.
        numbers: uses of descriptors that were closed before, which may meet what another task has
            opened since: from then on making, using and closing descriptors are operations.
        room: waits for room in a pipe or a socket: from then on there is a point behind each
            operation that makes room.
        modes: settings of whether calls on a descriptor wait, or how long: from then on there is a
            point before each call that waits.
    """

    kernel: bool = False
    polls: bool = False
    numbers: bool = False
    room: bool = False
    modes: bool = False

    def __or__(self, other: Dependences) -> Dependences:
        both = Dependences(
            self.kernel or other.kernel,
            self.polls or other.polls,
            self.numbers or other.numbers,
            self.room or other.room,
            self.modes or other.modes,
        )
        return self if both == self else both


NO_DEPENDENCES = Dependences()


def _of_header(name: str) -> Any:
    """A field of the segment's header."""
    return property(attrgetter(f"_header.{name}"))


class Reading(Naming):
    """What a segment holds after an execution.

    Parameters:
        segment: the segment; what nobody has asked for is read when it is used again.
        names: the tasks that the plan names, see :meth:`Segment.prepare`.
        symbols: the modules seen so far.
        preload: the shim and what else is preloaded, whose frames are left out of stacks.
        hooks: path of the folder with the library of hooks, or "".
        known: what earlier executions have shown, or this one.
    """

    def __init__(
        self,
        segment: Segment,
        names: tuple[TaskId, ...],
        symbols: Symbols,
        preload: str,
        known: Dependences,
        hooks: str = "",
    ) -> None:
        super().__init__(segment, symbols, preload, hooks)
        self._header = header = segment.header
        self._names = names
        self.ending: int = header.ending
        self._known = known
        # The last step on record was not done if it is to be asked for.
        self._asked_step: int | None = (
            header.steps - 1 if self.ending == enumerations.ASKED else None
        )
        self.steps: int = header.steps - (self._asked_step is not None)
        segment.read_by(self)

    def detach(self) -> None:
        """See :class:`~bohrbug.runtime.posix.segment.Reader`."""
        self._header = layout.Header.from_buffer_copy(self._header)
        for name in ("tasks", "resources", "_stacks", "_mappings", "_all_steps", "_pool"):
            getattr(self, name)

    ending_task = _of_header("ending_task")
    ending_site = _of_header("ending_site")
    ending_resource = _of_header("ending_resource")
    ending_stack = _of_header("ending_stack")
    signal = _of_header("signal")
    fault_address = _of_header("fault_address")
    now = _of_header("now")
    nudges = _of_header("nudges")
    running = _of_header("running")
    task_count = _of_header("tasks")
    data_choices = _of_header("choices")
    """How many data choices there were."""

    @property
    def message(self) -> str:
        """What is said of the ending."""
        text: bytes = self._header.message
        return text.decode("utf-8", "replace")

    @property
    def ending_misuse(self) -> str:
        """The kind of the misuse that ended the execution, where one did."""
        return enumerations.MISUSES[self._header.ending_misuse]

    def misuses_let_pass(self) -> list[tuple[str, Site | None]]:
        """The kinds of misuse that the execution went on behind, and the first place of each."""
        return [
            (kind, self.site(record.site, self.tasks[record.task].process))
            for kind, record in zip(enumerations.MISUSES, self._header.let_pass, strict=True)
            if record.count
        ]

    @cached_property
    def _all_steps(self) -> bytes:
        return self._segment.read_steps()

    @property
    def _steps(self) -> bytes:
        """The records of what was done."""
        return self._all_steps[: self.steps * layout.STEP.size]

    @cached_property
    def _pool(self) -> Sequence[int]:
        return self._segment.read_pool()

    @cached_property
    def _columns(self) -> dict[str, Sequence[int]]:
        """What the steps hold, by field."""
        rows = list(layout.STEP.iter_unpack(self._steps))
        columns = zip(*rows, strict=True) if rows else [()] * len(_FIELDS)
        return dict(zip(_FIELDS, columns, strict=True))

    @cached_property
    def _firsts(self) -> tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
        """By task and by resource the first call with a stack: its process, site and stack."""
        tasks: dict[int, tuple[int, ...]] = {}
        resources: dict[int, tuple[int, ...]] = {}
        names = ("task", "resource", "process", "site", "stack")
        for task, number, *where in zip(*(self._columns[name] for name in names), strict=True):
            if where[2] < len(self._stacks):
                resources.setdefault(number, tuple(where))
                if where[1]:
                    tasks.setdefault(task, tuple(where))
        if self.ending_task < len(self.tasks) and self.ending_stack < len(self._stacks):
            process = self.tasks[self.ending_task].process
            last = (process, self.ending_site, self.ending_stack)
            tasks.setdefault(self.ending_task, last)
            resources.setdefault(self.ending_resource, last)
        return tasks, resources

    def first_stack(self, task: int) -> list[Place]:
        """See :meth:`Naming.first_stack`."""
        process, _, stack = self._firsts[0].get(task, (0, 0, layout.NONE))
        frames = self._places_of_stack(stack, process)
        return [frame for frame in frames if not self._is_ours(frame.module)]

    def first_use(self, resource: int) -> Place | None:
        """See :meth:`Naming.first_use`."""
        process, site, stack = self._firsts[1].get(resource, (0, 0, layout.NONE))
        return self.telling_place(site, stack, process)

    # -- tasks -----------------------------------------------------------------------

    def operation(self, task: int) -> Operation:
        """What a task was about to do at the end."""
        record = self.tasks[task]
        return Operation(
            enumerations.KINDS[record.kind],
            self.resource_id(record.resource),
            self.telling_place(record.site, record.stack, record.process),
        )

    def alive(self) -> list[int]:
        """Indices of the tasks that had not ended."""
        return [i for i, record in enumerate(self.tasks) if record.state == enumerations.ALIVE]

    def pending(self) -> list[int]:
        """Those of them that had not begun what they were about to do."""
        if self.ending in _ALL_PARKED:
            return self.alive()
        return [task for task in self.alive() if task != self.running]

    def holders_of(self, number: int) -> list[int]:
        """Indices of the tasks that hold a resource; a task is held by itself until it ends."""
        if number & layout.TASK_BIT:
            return [number & ~layout.TASK_BIT]
        record = self.resources[number]
        if record.owner.task < layout.OUTSIDE:
            return [record.owner.task]
        if record.type != enumerations.RWLOCK or not record.readers:
            return []
        return sorted({reader.task for reader in record.reader if reader.site})

    def _awaited(self, task: int) -> list[int]:
        """Indices of the tasks that hold what a task waits for."""
        record = self.tasks[task]
        # Whoever sleeps, or waits for a signal, waits for nobody, though its resource is itself.
        alone = record.resource == layout.TASK_BIT | task
        if record.condition == enumerations.ALWAYS or record.kind == _WAKE or alone:
            return []
        writers = self._waiting_writers(record.resource)
        if record.condition == enumerations.READABLE and writers:
            # Readers have it, or it is free: a writer is let in first.
            return writers
        return self.holders_of(record.resource)

    def _waiting_writers(self, number: int) -> list[int]:
        """Indices of the tasks that wait to write, of a reader-writer lock that nobody writes."""
        if number & layout.TASK_BIT or self.resources[number].owner.task < layout.OUTSIDE:
            return []
        return [
            task
            for task in self.alive()
            if self.tasks[task].condition == enumerations.WRITABLE
            and self.tasks[task].resource == number
        ]

    def _locked_before_fork(self, number: int) -> Abandoned | None:
        """Where a lock was taken that a process has a locked copy of, but not its holder."""
        if number & layout.TASK_BIT:
            return None
        record = self.resources[number]
        owner = record.owner
        if record.destroyed or owner.task != layout.OUTSIDE or not owner.site:
            return None
        place = self.telling_place(owner.site, owner.stack, record.process)
        return Abandoned("", place.resolve()) if place is not None else None

    @property
    def has_futexes(self) -> bool:
        """Whether the program has waited by a futex of its own, or woken others."""
        return any(record.type == enumerations.FUTEX for record in self.resources)

    def held_by(self, task: int) -> tuple[Held, ...]:
        """What a task holds."""
        process = self.tasks[task].process
        held = []
        for number, record in enumerate(self.resources):
            if record.destroyed:
                continue
            holders = [record.owner] if record.owner.task == task else []
            if record.type == enumerations.RWLOCK:
                holders += [r for r in record.reader if r.site and r.task == task]
            for holder in holders:
                # None where it was taken before anybody looked, as before main.
                place = (
                    self.telling_place(holder.site, holder.stack, process) if holder.site else None
                )
                site = place.resolve() if place is not None else None
                held.append(Held(self.resource_id(number), site))
        return tuple(held)

    def blocked(self) -> list[BlockedTask]:
        """Every task that waits, with what it waits for and who holds that."""
        found = []
        for index in self.alive():
            record = self.tasks[index]
            if record.condition == enumerations.ALWAYS:
                continue
            holders = self._awaited(index)
            found.append(
                BlockedTask(
                    self.ids[index],
                    self.operation(index),
                    tuple(self.ids[holder] for holder in holders),
                    self.held_by(index),
                    self.stack(record.stack, record.process, record.site),
                    False,
                    record.blocked_since,
                    self._locked_before_fork(record.resource),
                )
            )
        return found

    # -- the columns -----------------------------------------------------------------

    def divergence(self) -> Divergence | None:
        """Where the prefix could not be followed."""
        if not self._header.diverged:
            return None
        step: int = self._header.diverged_step
        found = ", ".join(self.options(step)) or "no task"
        wanted: int = self._header.diverged_name
        expected = "?"
        if wanted < len(self._names):
            expected = self._names[wanted]
        elif wanted != layout.NONE and wanted & layout.VALUE_BIT:
            expected = f"the value {wanted & ~layout.VALUE_BIT}"
        return Divergence(step, expected, found)

    def asked(self) -> Decision | None:
        """The decision that the execution ended at, if it did."""
        step = self._asked_step
        if step is None:
            return None
        last = layout.STEP.unpack(self._all_steps[-layout.STEP.size :])
        row = dict(zip(_FIELDS, last, strict=True))
        at, enabled, timed = row["options"], row["enabled"], row["timed"]
        if row["kind"] == _CHOOSE:
            standings = tuple(self._standing(index, None) for index in self.alive())
            chooser = self.ids[row["task"]]
            what = self.describe(row["resource"]).label
            values = tuple(range(enabled))
            return Decision(step, chooser, values, timed, standings, False, enabled, what)
        options = [self.ids[index] for index in self._pool[at : at + enabled + timed]]
        readiness = dict.fromkeys(options, Readiness.ENABLED)
        readiness |= dict.fromkeys(options[enabled:], Readiness.TIMED)
        running = self.ids[self.running] if self.running < len(self.ids) else "0"
        return Decision(
            step,
            running,
            tuple(options),
            self.ids[row["task"]],
            tuple(self._standing(index, readiness.get(self.ids[index])) for index in self.alive()),
            bool(row["flags"] & enumerations.YIELDED),
        )

    def _standing(self, index: int, readiness: Readiness | None) -> Standing:
        record = self.tasks[index]
        if readiness is None:
            yielded = record.condition == enumerations.ALWAYS
            readiness = Readiness.YIELDED if yielded else Readiness.BLOCKED
        return Standing(
            self.ids[index],
            readiness,
            self.operation(index),
            self.stack(record.stack, record.process, record.site),
            self.held_by(index),
            tuple(self.ids[holder] for holder in self._awaited(index)),
        )

    def options(self, step: int) -> tuple[TaskId, ...]:
        """The tasks that could have been chosen at a step."""
        if step >= self.steps:
            return ()
        columns = self._columns
        if columns["kind"][step] == _CHOOSE:
            return ()
        at = columns["options"][step]
        count = columns["enabled"][step] + columns["timed"][step]
        return tuple(self.ids[index] for index in self._pool[at : at + count])

    def who_ran(self) -> list[TaskId]:
        """The task of each step."""
        ids = self.ids
        return [ids[index] for index in self._columns["task"]]

    def choices(self) -> list[Choice]:
        """The choice sequence."""
        chosen: list[Choice] = list(self.who_ran())
        for step in self.arities():
            chosen[step] = self._columns["timed"][step]
        return chosen

    def arities(self) -> dict[int, int]:
        """Of data choices the number of values."""
        if not self.data_choices:
            return {}
        columns = self._columns
        return {
            step: columns["enabled"][step]
            for step, kind in enumerate(columns["kind"])
            if kind == _CHOOSE
        }

    def who_yielded(self) -> list[bool]:
        """For each step whether the task that ran before had given control away."""
        return [bool(value & enumerations.YIELDED) for value in self._columns["flags"]]

    def who_could_run(self) -> tuple[list[tuple[TaskId, ...]], list[tuple[TaskId, ...]]]:
        """For each step the enabled tasks, and those whose timeout could fire."""
        ids, columns = self.ids, self._columns
        sets: dict[tuple[int, int], tuple[TaskId, ...]] = {}

        def some(start: int, count: int) -> tuple[TaskId, ...]:
            found = sets.get((start, count))
            if found is None:
                found = tuple(ids[index] for index in self._pool[start : start + count])
                sets[start, count] = found
            return found

        rows = list(zip(columns["options"], columns["enabled"], columns["timed"], strict=True))
        enabled = [some(at, count) for at, count, _ in rows]
        timed = [some(at + first, count) if count else () for at, first, count in rows]
        for step in self.arities():
            enabled[step], timed[step] = (ids[columns["task"][step]],), ()
        return enabled, timed

    def gates(self) -> dict[int, Gate]:
        """Of steps on mutexes and semaphores whether acquiring would have blocked."""
        found = {}
        for step, value in enumerate(self._columns["flags"]):
            if value & enumerations.GATED:
                is_open = bool(value & enumerations.OPEN)
                found[step] = Gate(is_open, is_open, bool(value & enumerations.WAITS))
        return found

    def early_timeouts(self) -> list[int]:
        """Steps whose timeout could have fired at any time before."""
        flags = self._columns["flags"]
        return [step for step, value in enumerate(flags) if value & enumerations.COULD_FIRE]

    def dependences(self) -> Dependences:
        """What was seen of steps that depend on each other without a resource in common."""
        # One byte of each record, without taking them apart.
        flags = set(self._steps[layout.FLAGS_AT :: layout.STEP.size])
        kernel = not flags.isdisjoint(_CHANGES_KERNEL)
        polls = kernel and not flags.isdisjoint(_POLLS)
        numbers = bool(self._header.stale_numbers)
        room = bool(self._header.lacked_room)
        modes = bool(self._header.set_modes)
        found = Dependences(kernel, polls, numbers, room, modes)
        return NO_DEPENDENCES if found == NO_DEPENDENCES else found

    def effects(self) -> list[tuple[int, TaskId, ResourceId, bool]]:
        """What steps touched beside their operation's resource, see :class:`Trace`."""
        writes = enumerations.WRITES_KERNEL
        if self._known.polls:
            writes |= enumerations.ON_DESCRIPTOR
        touches = writes | enumerations.READS_KERNEL if self._known.kernel else 0
        found = []
        names = ("effect", "flags", "task", "resource", "kind")
        columns = zip(*(self._columns[name] for name in names), strict=True)
        common = self._in_common
        for step, (number, flags, task, resource, kind) in enumerate(columns):
            if resource in common:
                is_write = enumerations.KINDS[kind].is_write
                found.append((step, self.ids[task], common[resource], is_write))
            if number != layout.NONE:
                found.append((step, self.ids[task], self.resource_id(number), True))
            if flags & touches:
                found.append((step, self.ids[task], KERNEL, bool(flags & writes)))
        return found

    @cached_property
    def _in_common(self) -> dict[int, ResourceId]:
        """Of memory that was accessed under several names what stands for all of them.

        By plain and by atomic operations, or as a whole and in parts: two of these may have no byte
        in common, but a third one has bytes of both.
        """
        if not self._header.overlaps:
            return {}
        pieces = sorted(
            (record.space, record.address, record.address + record.bytes, number)
            for number, record in enumerate(self.resources)
            if record.bytes
        )
        groups: list[list[int]] = []
        last, until = -1, 0
        for space, begin, end, number in pieces:
            if space == last and begin < until:
                groups[-1].append(number)
                until = max(until, end)
            else:
                groups.append([number])
                last, until = space, end
        return {
            number: f"bytes of {self.resource_id(group[0])}"
            for group in groups
            if len(group) > 1
            for number in group
        }

    def operations(self) -> list[Operation]:
        """What was done in each step."""
        known: dict[tuple[int, ...], Operation] = {}
        operations = []
        names = ("process", "kind", "resource", "site", "stack")
        for key in zip(*(self._columns[name] for name in names), strict=True):
            operation = known.get(key)
            if operation is None:
                process, kind, number, site, stack = key
                place = self.telling_place(site, stack, process)
                operation = Operation(enumerations.KINDS[kind], self.resource_id(number), place)
                known[key] = operation
            operations.append(operation)
        return operations

    def final_pending(self) -> dict[TaskId, Operation]:
        """What each task that did not end was about to do."""
        return {self.ids[index]: self.operation(index) for index in self.pending()}
