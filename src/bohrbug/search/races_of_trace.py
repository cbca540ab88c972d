"""Reversible races of a trace: pairs of steps that could have happened in the other order.

A race, for partial-order reduction, is a pair of conflicting steps of different tasks with
nothing in between that orders them (Flanagan and Godefroid, POPL 2005).  It is reversible
if the second step would have been possible just before the first.

Two things make that more than a look at vector clocks:

*Blocking.*  A task that acquires a lock comes right after the release, which it cannot
precede; what it can precede is the acquisition before.  So from a step that was not
possible just before the one that it races with, the search goes back over the earlier
steps on the resource to the last one before which it was (disabling events: Abdulla,
Aronis, Jonsson and Sagonas, JACM 2017).  Where the task was waiting at that moment, the
trace says whether it was enabled.  Where it had not come so far yet, :func:`was_open`
knows for locks, events and threads; else the reversal is called uncertain, and trying it shows.
Tasks that are blocked for ever at the end race in the same way, and so does what a task of an
event loop could have done until somebody cancelled it, as the timer of a timeout.

*Order that no resource shows.*  Some steps are taken to conflict with every other
(:data:`~bohrbug.search.footprint.EVERYTHING`):

- the step with which a task comes to a yield, and all steps until those have run that it may
  have to wait for: what fairness allows depends on the order of all of them;
- the last step of an execution that ends before its tasks do, as after a failed assertion:
  whatever was to come has not happened;
- a timeout that fires because nothing else can go on, or beside others once it is due;
- the end of the root, and its wait for the end of all others.

The work is linear in the steps, times the number of tasks, and only for the steps that
are new since the last trace.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from bohrbug.accelerator import native
from bohrbug.model.operation import BEGIN, BUFFER, EXIT, FLUSH, JOIN, ResourceId, TaskId
from bohrbug.model.trace import Trace
from bohrbug.search.enabledness import NEVER_BLOCK, OPENS, was_open
from bohrbug.search.footprint import EVERYTHING, Event, Footprint, Footprints
from bohrbug.search.order_of_trace import (
    beginning_of_step,
    cut_off,
    due_firings,
    effects_from,
    late_firings,
    ordered_by_fairness,
)
from bohrbug.search.reversals import Clock, Recorded, Reversal

_Entry = tuple[int, tuple[int, ...]]
"""Of a resource: the last step that wrote it, or -1, and of each task the last read since."""

_UNTOUCHED: _Entry = (-1, ())


class RaceFinder:
    """Finds the reversible races of one trace after the other.

    Consecutive traces share a prefix, and only what is new is looked at.

    Parameters:
        limit: steps from this one on are not reversed.
        irreversible: return the races that can't be reversed, too, as uncertain ones.
    """

    def __init__(self, limit: int, *, irreversible: bool = False) -> None:
        self._limit = limit
        self._irreversible = irreversible
        self._footprints = Footprints()
        self._numbers: dict[TaskId, int] = {}
        self._names: list[TaskId] = []
        self._zero: Clock = []
        self.recorded = Recorded([], [], [], [], [], [0])
        # The last step of each task; for each step the one of its task before it.
        self._last: list[int] = []
        self._previous: list[int] = []
        self._entries: dict[ResourceId, _Entry] = {}
        self._undo: list[list[tuple[ResourceId, _Entry]]] = []
        self._barriers: list[int] = []
        self._early: frozenset[int] = frozenset()
        self._due: set[int] = set()
        self._types: dict[ResourceId, str] = {}
        # Steps that did more than one thing with a resource.
        self._several: set[tuple[int, ResourceId]] = set()

    def name(self, task: int) -> TaskId:
        """The id of a task by its number."""
        return self._names[task]

    def number(self, name: TaskId) -> int:
        """The number of a task by its id."""
        self._number_names({name})
        return self._numbers[name]

    def resources(self, mask: int) -> tuple[ResourceId, ...]:
        """The resources of a mask of a footprint."""
        return self._footprints.names(mask)

    def footprint(self, reads: Iterable[ResourceId], writes: Iterable[ResourceId]) -> Footprint:
        """The footprint of an event that touches these resources."""
        return self._footprints.of_many(dict.fromkeys(reads, False) | dict.fromkeys(writes, True))

    # -- taking in a trace ---------------------------------------------------------

    def widened(self, reversal: Reversal, sequence: list[Event]) -> list[Event]:
        """A sequence of a reversal that can be compared with those of other executions."""
        known = reversal.recorded.known[reversal.step]
        unknown = ~known
        widen = self._footprints.widened
        return [
            Event(event[0], event[1], widen(event[2], known))
            if (event[2][0] | event[2][1]) & unknown
            else event
            for event in sequence
        ]

    def take(self, trace: Trace, start: int, end: int) -> list[Reversal]:
        """Take in a trace; return the reversible races whose second step is new.

        Parameters:
            trace: agrees with the one before on all steps before ``start``.
            start: the first new step.
            end: steps from this one on are ignored, as if they had not happened.

        Returns:
            The reversals, those of earlier second steps first.
        """
        self._roll_back(start)
        self._number_tasks(trace, start)
        self.recorded = Recorded.beginning(self.recorded, start, trace.choices[:end])
        self._early = frozenset(trace.early_timeouts) if trace.early_timeouts else frozenset()
        effects = effects_from(trace, start)
        late = late_firings(trace, start, end, self._early)
        self._due = due_firings(trace, start, end, self._early)
        ordered = {*ordered_by_fairness(trace, end), *self._due}
        final = end
        if end == len(trace) and cut_off(trace):
            final = beginning_of_step(trace, end - 1)
        # Where something else than a plain step may be, in order.
        stops = sorted({*effects, *late, *ordered}) if effects or late or ordered else []
        found: list[Reversal] = []
        step = start
        while step < end:
            if not self._barriers:
                at = bisect_left(stops, step)
                stop = stops[at] if at < len(stops) else end
                step = self._take_plain(trace, step, min(stop, final), found)
                if step >= end:
                    break
            is_late = step in late
            is_final = step >= final or step in ordered
            self._take_special(trace, step, effects.get(step, ()), is_late, is_final, found)
            step += 1
        if end == len(trace):
            self._reverse_pending(trace, end, found)
        return found

    def _take_plain(self, trace: Trace, start: int, end: int, found: list[Reversal]) -> int:
        """Take in steps that touch one resource each, with nothing before them that orders all.

        Returns:
            The first step that is not such a one, or ``end``.
        """
        if native is not None and not trace.arities and not self._irreversible:
            stopped: int = native.take_plain_steps(
                trace,
                (trace.tasks, trace.operations, trace.choices, trace.enabled, trace.timed),
                self.recorded,
                (
                    self.recorded.tasks,
                    self.recorded.footprints,
                    self.recorded.touched,
                    self.recorded.clocks,
                    self.recorded.known,
                ),
                (self._last, self._previous, self._undo, self._zero),
                (self._numbers, self._entries, self._footprints.single, self._types),
                (NEVER_BLOCK, EVERYTHING, _UNTOUCHED, OPENS),
                self._footprints.of,
                self._reverse,
                (start, end, self._limit),
                not (trace.gates or self._early or self._several),
                found,
            )
            return stopped
        recorded = self.recorded
        tasks, footprints, clocks = recorded.tasks, recorded.footprints, recorded.clocks
        all_touched, known_before = recorded.touched, recorded.known
        operations, names = trace.operations, trace.tasks
        numbers, last, previous_of = self._numbers, self._last, self._previous
        entries, undo = self._entries, self._undo
        for step in range(start, end):
            kind, resource, _ = operations[step]
            is_write = kind.is_write
            footprint = self._footprints.of(is_write, resource)
            if footprint is EVERYTHING:
                return step
            task = numbers[names[step]]
            tasks.append(task)
            previous = last[task]
            clock = (clocks[previous] if previous >= 0 else self._zero).copy()
            footprints.append(footprint)
            all_touched.append(footprint)
            known_before.append(known_before[-1] | footprint.reads | footprint.writes)
            writer, readers = entry = entries.get(resource, _UNTOUCHED)
            if is_write:
                if readers:
                    for other in sorted((*readers, writer), reverse=True):
                        if other >= 0 and clock[tasks[other]] <= other:
                            self._reverse(trace, step, other, clock, found)
                            clock = list(map(max, clock, clocks[other]))
                elif writer >= 0 and clock[tasks[writer]] <= writer:
                    self._reverse(trace, step, writer, clock, found)
                    clock = list(map(max, clock, clocks[writer]))
                entries[resource] = (step, ())
            else:
                if writer >= 0 and clock[tasks[writer]] <= writer:
                    self._reverse(trace, step, writer, clock, found)
                    clock = list(map(max, clock, clocks[writer]))
                if readers:
                    readers = tuple([other for other in readers if tasks[other] != task])
                entries[resource] = (writer, (*readers, step))
            undo.append([(resource, entry)])
            clock[task] = step + 1
            clocks.append(clock)
            previous_of.append(previous)
            last[task] = step
            if step in trace.arities:
                self._reverse_data_choice(trace, step, found)
        return end

    def _take_special(
        self,
        trace: Trace,
        step: int,
        effects: Iterable[tuple[int, TaskId, ResourceId, bool]],
        is_late: bool,
        is_ordered: bool,
        found: list[Reversal],
    ) -> None:
        """Take in one step of any kind.

        Parameters:
            trace: the trace.
            step: the step.
            effects: of the step.
            is_late: it is a timeout that fires because no task is enabled.
            is_ordered: its order with all steps matters.
            found: where to note reversals.
        """
        recorded = self.recorded
        tasks, clocks = recorded.tasks, recorded.clocks
        kind, resource, _ = trace.operations[step]
        task = self._numbers[trace.tasks[step]]
        tasks.append(task)
        previous = self._last[task]
        clock = (clocks[previous] if previous >= 0 else self._zero).copy()
        if kind is FLUSH:
            buffered = self._buffered_before(trace, effects)
            clock = list(map(max, clock, clocks[buffered]))
            previous = max(previous, buffered)
        touched = {resource: kind.is_write}
        for _, _, also, writes in effects:
            if also in touched:
                self._several.add((step, also))
            touched[also] = touched.get(also, False) or writes
        footprint = self._footprints.of(kind.is_write, resource)
        everything = is_ordered or is_late or footprint is EVERYTHING
        if footprint is not EVERYTHING:
            footprint = self._footprints.of_many(touched)
        recorded.touched.append(footprint)
        recorded.known.append(recorded.known[-1] | footprint.reads | footprint.writes)
        recorded.footprints.append(EVERYTHING if everything else footprint)
        for other in sorted(self._before(task, touched, everything), reverse=True):
            if clock[tasks[other]] <= other:
                if not is_late or step in self._due:
                    self._reverse(trace, step, other, clock, found, previous)
                clock = list(map(max, clock, clocks[other]))
        self._undo.append(self._touch(step, task, touched))
        if everything:
            self._barriers.append(step)
        if is_late:
            self._other_firings(trace, step, found)
        clock[task] = step + 1
        clocks.append(clock)
        self._previous.append(self._last[task])
        self._last[task] = step
        if step in trace.arities:
            self._reverse_data_choice(trace, step, found)

    def _buffered_before(
        self, trace: Trace, effects: Iterable[tuple[int, TaskId, ResourceId, bool]]
    ) -> int:
        """The step that put a store into its buffer: it comes first, as in order of program."""
        for _, _, entry, _ in effects:
            writer = self._entries.get(entry, _UNTOUCHED)[0]
            if writer >= 0 and trace.operations[writer][:2] == (BUFFER, entry):
                return writer
        raise ValueError("a store reaches memory that was put nowhere")

    def _reverse_data_choice(self, trace: Trace, step: int, found: list[Reversal]) -> None:
        """Any other value could have been chosen."""
        if step < self._limit:
            event = self.recorded.event(step)
            for value in range(trace.arities[step]):
                if value != event.choice:
                    other = event._replace(choice=value)
                    found.append(Reversal(self.recorded, step, other, uncertain=False))

    def _roll_back(self, start: int) -> None:
        """Forget all steps from ``start`` on."""
        tasks, last, entries = self.recorded.tasks, self._last, self._entries
        for step in range(len(tasks) - 1, start - 1, -1):
            last[tasks[step]] = self._previous.pop()
            for resource, entry in self._undo.pop():
                entries[resource] = entry
        while self._barriers and self._barriers[-1] >= start:
            self._barriers.pop()
        if self._several:
            self._several = {each for each in self._several if each[0] < start}

    def _number_tasks(self, trace: Trace, start: int) -> None:
        self._number_names({*trace.tasks[start:], *trace.final_pending, *trace.withdrawn})

    def _number_names(self, names: set[TaskId]) -> None:
        new = names.difference(self._numbers)
        if not new:
            return
        for name in sorted(new):
            self._numbers[name] = len(self._names)
            self._names.append(name)
            self._last.append(-1)
        for clock in self.recorded.clocks:
            clock += [0] * (len(self._names) - len(clock))
        self._zero = [0] * len(self._names)

    def _before(self, task: int, touched: dict[ResourceId, bool], everything: bool) -> set[int]:
        """Steps that a step must come after, directly."""
        if everything:
            found = {step for other, step in enumerate(self._last) if other != task and step >= 0}
        else:
            found = set()
            for resource, is_write in touched.items():
                writer, readers = self._entries.get(resource, _UNTOUCHED)
                if writer >= 0:
                    found.add(writer)
                if is_write:
                    found.update(readers)
        if self._barriers:
            found.add(self._barriers[-1])
        return found

    def _touch(
        self, step: int, task: int, touched: dict[ResourceId, bool]
    ) -> list[tuple[ResourceId, _Entry]]:
        """Note what a step touched; return what is needed to undo that."""
        tasks = self.recorded.tasks
        before = []
        for resource, is_write in touched.items():
            entry = self._entries.get(resource, _UNTOUCHED)
            before.append((resource, entry))
            if is_write:
                self._entries[resource] = (step, ())
            else:
                others = tuple([other for other in entry[1] if tasks[other] != task])
                self._entries[resource] = (entry[0], (*others, step))
        return before

    # -- what can be reversed --------------------------------------------------------

    def _reverse(
        self,
        trace: Trace,
        step: int,
        other: int,
        clock: Clock,
        found: list[Reversal],
        previous: int | None = None,
    ) -> None:
        """Note the reversal for the race of ``other`` with the later ``step``, if there is one.

        Parameters:
            trace: the trace.
            step: the later step.
            other: the earlier step.
            clock: what is known to happen before the later one but for the race.
            found: where to note it.
            previous: the step behind which the later one was next, if not that of its task.
        """
        task = self.recorded.tasks[step]
        if previous is None:
            previous = self._last[task]
        if other in trace.arities:
            # What can't come between a data choice and its step has to come before both.
            other = beginning_of_step(trace, other)
            if clock[self.recorded.tasks[other]] > other:
                return
        place = self._place_before(trace, step, other, task, trace.tasks[step], previous)
        if place is not None and place[0] < self._limit:
            found.append(self._reversal(place, self.recorded.event(step), step))
        if self._irreversible and (place is None or place[0] != other) and other < self._limit:
            found.append(Reversal(self.recorded, other, self.recorded.event(step), True, step))

    def _reversal(self, place: tuple[int, bool], event: Event, step: int) -> Reversal:
        """The reversal of a race.

        Parameters:
            place: the step that the event can come before, and whether that is uncertain.
            event: the event.
            step: its index, or -1 if it was never done.
        """
        recorded = self.recorded
        earlier, uncertain = place
        touched = recorded.touched[step] if step >= 0 else event.footprint
        if recorded.touched[earlier].conflicts_with(touched):
            # What made it conflict with everything may not be so in the other order.
            event = event._replace(footprint=touched)
        elif recorded.footprints[earlier] is EVERYTHING and not uncertain:
            return Reversal(recorded, earlier, event, True, step, resumes=True)
        return Reversal(recorded, earlier, event, uncertain, step)

    def _place_before(
        self,
        trace: Trace,
        step: int | None,
        other: int,
        task: int,
        name: TaskId,
        previous: int,
    ) -> tuple[int, bool] | None:
        """The last step, from ``other`` backwards, before which a task's operation was possible.

        Parameters:
            trace: the trace.
            step: of the operation, or ``None`` if it was never done.
            other: the step that it races with.
            task: number of the task.
            name: id of the task.
            previous: the task's step before, or -1.

        Returns:
            The step, and whether that is uncertain; ``None`` if there is no such step.
        """
        spawn = self._spawn_before(trace, step, name) if previous < 0 else -1
        if other < spawn:
            # The task was not there yet, but it can be spawned before, unless that depends on it.
            depends = self.recorded.clocks[spawn][self.recorded.tasks[other]] > other
            return None if depends else (other, False)
        # From here on the task stood before its operation, and the trace says what was possible.
        # A task's first operation is possible as soon as the task exists.
        standing = previous + 1
        if other >= standing:
            if name in trace.enabled[other] or name in trace.timed[other]:
                return other, False
            if step is not None and self._is_opened_beside(trace, step, other):
                return other, False
            if step is None:
                footprint = self._pending_footprint(trace, name)
                many = bool(self._barriers)
            else:
                footprint = self.recorded.footprints[step]
                touched = footprint.reads | footprint.writes
                many = bool(touched & (touched - 1))
            if many:
                tasks, footprints = self.recorded.tasks, self.recorded.footprints
                for earlier in range(other - 1, standing - 1, -1):
                    if (
                        (name in trace.enabled[earlier] or name in trace.timed[earlier])
                        and tasks[earlier] != task
                        and footprints[earlier].conflicts_with(footprint)
                    ):
                        return earlier, False
        if step in self._due:
            # Whether it is by then, only the time tells.
            return None if other >= standing else (other, True)
        return self._along_resource(trace, step, other, task, name, previous)

    def _is_opened_beside(self, trace: Trace, step: int, other: int) -> bool:
        """Whether what made a step possible since ``other``, with which it races, can precede both.

        So it is if the two race for another reason than the operation's own resource: had one
        of the writes of that come after ``other``, the two would be ordered by it.
        """
        resource = trace.operations[step].resource
        writer = self._entries.get(resource, _UNTOUCHED)[0]
        return writer > other and self._entry_before(other, resource) is None

    def _spawn_before(self, trace: Trace, step: int | None, name: TaskId) -> int:
        """The step that spawned a task, whose first operation is that of ``step``; -1 for none."""
        operation = trace.operations[step] if step is not None else trace.never_done(name)
        if operation.kind is not BEGIN:
            return -1
        # What the step itself does is noted only once its races are found.
        return self._entries.get(operation.resource, _UNTOUCHED)[0]

    def _pending_footprint(self, trace: Trace, name: TaskId) -> Footprint:
        operation = trace.never_done(name)
        return self._footprints.of(operation.kind.is_write, operation.resource)

    def _along_resource(
        self,
        trace: Trace,
        step: int | None,
        other: int,
        task: int,
        name: TaskId,
        previous: int,
    ) -> tuple[int, bool] | None:
        """The same along the writes of the operation's own resource."""
        operation = trace.operations[step] if step is not None else trace.never_done(name)
        resource = operation.resource
        standing = previous + 1
        tasks = self.recorded.tasks
        known = self.recorded.clocks[previous] if previous >= 0 else self._zero
        before = self._entry_before(other, resource)
        if before is None:
            # The two race for another reason: then the resource does not stand in the way.
            if other < standing and step is not None:
                # But waiting for the end of all others needs something of each of them.
                return other, operation.kind is JOIN and resource == EXIT
            writer = self._entries.get(resource, _UNTOUCHED)[0]
        else:
            writer = other
            if other >= standing:
                writer = before[0]
        while writer >= 0 and known[tasks[writer]] <= writer and tasks[writer] != task:
            if writer >= standing:
                possible: bool | None = name in trace.enabled[writer] or name in trace.timed[writer]
            elif step is not None and step in self._early:
                possible = True
            else:
                possible = was_open(
                    trace,
                    operation,
                    step,
                    self._type_of,
                    writer,
                    self._write_before,
                    self._several,
                )
            if possible is None or possible:
                return writer, possible is None
            before = self._entry_before(writer, resource)
            assert before is not None
            writer = before[0]
        return None

    def _entry_before(self, step: int, resource: ResourceId) -> _Entry | None:
        """What was noted of a resource before a step that touched it."""
        for touched, entry in self._undo[step]:
            if touched == resource:
                return entry
        return None

    def _type_of(self, trace: Trace, resource: ResourceId) -> str:
        """The type of a resource; ids are the same in all executions."""
        found = self._types.get(resource)
        if found is None:
            description = trace.resources.get(resource)
            found = self._types[resource] = "" if description is None else description.type
        return found

    def _write_before(self, step: int, resource: ResourceId) -> int:
        """The write of a resource before a step that touched it, -1 if there was none."""
        entry = self._entry_before(step, resource)
        return -1 if entry is None else entry[0]

    def _other_firings(self, trace: Trace, step: int, found: list[Reversal]) -> None:
        """Any other timeout could have fired instead."""
        if step >= self._limit:
            return
        for name in trace.timed[step]:
            number = self._numbers.get(name)
            if name != trace.tasks[step] and number is not None:
                event = Event(number, name, EVERYTHING)
                found.append(Reversal(self.recorded, step, event, uncertain=False))

    def _reverse_pending(self, trace: Trace, end: int, found: list[Reversal]) -> None:
        """Reverse what was never done with what it could have come before."""
        if not end:
            return
        barrier = self._barriers[-1] if self._barriers else -1
        for name, operation in (*trace.final_pending.items(), *trace.withdrawn.items()):
            task = self._numbers[name]
            latest = max(self._entries.get(operation.resource, _UNTOUCHED)[0], barrier)
            if latest in trace.arities:
                latest = beginning_of_step(trace, latest)
            previous = self._last[task]
            known = self.recorded.clocks[previous] if previous >= 0 else self._zero
            if latest < 0 or known[self.recorded.tasks[latest]] > latest:
                continue
            place = self._place_before(trace, None, latest, task, name, previous)
            if place is not None and place[0] < self._limit:
                footprint = self._pending_footprint(trace, name)
                found.append(self._reversal(place, Event(task, name, footprint), -1))
