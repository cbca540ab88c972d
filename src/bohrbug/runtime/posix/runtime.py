"""The POSIX runtime: from plans to traces, by starting the program anew for each execution."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from bohrbug.model.conditions import RELAXED, SC, TSO, Conditions
from bohrbug.model.operation import Site
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.posix import build, watchpoints
from bohrbug.runtime.posix.accesses import (
    HooksFolder,
    PointKey,
    Points,
    SeenRace,
    Witnessed,
    witnessed_in,
)
from bohrbug.runtime.posix.ahead import SMALL_SEGMENTS
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.commands import command_of
from bohrbug.runtime.posix.completed import CompletedExecution
from bohrbug.runtime.posix.ended import Ended, Printed
from bohrbug.runtime.posix.engines import Choice, Engine, ways_in_words
from bohrbug.runtime.posix.fibers import Fibers
from bohrbug.runtime.posix.launching import Launcher
from bohrbug.runtime.posix.learnt import Learnt
from bohrbug.runtime.posix.making import Making
from bohrbug.runtime.posix.native_trace import NativeTrace
from bohrbug.runtime.posix.preparing import Preparation
from bohrbug.runtime.posix.recorded import Dependences, Reading
from bohrbug.runtime.posix.segment import POLICIES, SegmentFile
from bohrbug.runtime.posix.settings import NativeSettings
from bohrbug.runtime.posix.standard_streams import Input
from bohrbug.runtime.posix.starting import Starter, environment_for, supported_here
from bohrbug.runtime.posix.trace_reading import TraceReader
from bohrbug.runtime.posix.watching import Watch, kill_all
from bohrbug.runtime.protocol import Executed, Foresight, Guard, NoGuard

NOT_EXECUTED = 127
"""The exit code of a program that the loader has ended."""

LACKS_SYMBOL = b"symbol lookup error"
"""What the loader says then, of a function that it looks up when it is called first."""

NUMBERS: PointKey = ("the numbers of descriptors", "", 0, 0)
"""In a reproduction file: making, using and closing descriptors are scheduling points."""

MODES: PointKey = ("whether calls on descriptors wait", "", 0, 0)
"""There is a scheduling point before each call on a descriptor that waits."""

ROOM: PointKey = ("the room in pipes and sockets", "", 0, 0)
"""There is a scheduling point behind each call that makes room."""

LEARNT_POINTS = {
    NUMBERS: Dependences(numbers=True),
    MODES: Dependences(modes=True),
    ROOM: Dependences(room=True),
}
"""What stands in a reproduction file for points that some execution has shown to matter."""

Explainer = Callable[[Reading, Trace, Ended, Printed], Outcome]
"""Turns how an execution ended into an outcome; the monitors do."""


@dataclass(frozen=True, slots=True)
class Means:
    """What one process makes executions with.

    Parameters:
        segments: where they happen.
        hooks: the folder with the library of hooks.
        launcher: starts the program.
        making: makes them with the others.
    """

    segments: SegmentFile
    hooks: HooksFolder
    launcher: Launcher
    making: Making

    def close(self) -> None:
        """Give everything back."""
        self.segments.close()
        self.launcher.close()
        self.hooks.close()

    def leave(self) -> None:
        """In a forked process: what the other one goes on with is its own."""
        self.segments.close()
        self.launcher.leave()


class NativeRuntime:
    """Executes plans of one command.

    Parameters:
        command: the program and its arguments.
        settings: how executions are run.
        explainer: turns ends of executions into outcomes.
        environment: of the program; by default that of this process.
        on_printed: given what each execution printed that was made to search.
        on_replayed: given what each replay printed.

    Raises:
        UnsupportedError: the command or this system is not one for native programs.
    """

    def __init__(
        self,
        command: Sequence[str],
        settings: NativeSettings,
        explainer: Explainer,
        environment: dict[str, str] | None = None,
        on_printed: Callable[[Printed], object] | None = None,
        on_replayed: Callable[[Printed], object] | None = None,
    ) -> None:
        if not supported_here():
            raise UnsupportedError("native programs can be explored on Linux 5.3 and newer only")
        self.command = command_of(command)
        self.explainer = explainer
        self.shim = build.shim()
        program = Path(self.command[0]).resolve()
        self._learnt = Learnt()
        self._preparation = Preparation(settings, str(program), self._learnt)
        self._reader = TraceReader(program, self._preparation)
        self.printed = Printed(b"", b"")
        self.printed_by_failure: Printed | None = None
        self._on_printed = on_printed
        self._on_replayed = on_replayed
        self._environment = dict(os.environ) if environment is None else environment
        # What executions may need at most; the limit itself goes down as they are known better.
        self._most_steps = settings.max_steps
        self._means: Means | None = None
        self._interrupted = False
        is_watched = bool(settings.watch or settings.sample)
        # What the processor watches for, it watches in one kernel thread, and for its life.
        self._choice = Choice(settings.engine, may_restore=not is_watched)
        watched = "registers that watch one kernel thread each" if is_watched else ""
        self.fibers = Fibers(watched or ("" if settings.fibers else "the settings"))
        self.made = 0

    # -- life ------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._input = Input()
        self._cpus = os.sched_getaffinity(0)
        self._begin()
        return self

    def _begin(self) -> None:
        self._choice.reset()
        self._preparation.begin(self._cpus)
        segments = SegmentFile(self._most_steps, SMALL_SEGMENTS)
        hooks = HooksFolder(build.hooks())
        environment = hooks.environment(self._environment)
        launcher = Launcher(
            Starter(self.command, environment, self._preparation.preload, self._input),
            Watch(self.settings.hang_seconds, lambda: self._interrupted),
        )
        making = Making(launcher, self._choice, self.fibers, self._preparation, segments)
        self._means = Means(segments, hooks, launcher, making)

    def __exit__(self, *exc_info: object) -> None:
        self.means.close()
        self._means = None
        self._input.close()

    def settle(self, number: int) -> None:
        """Go on in a forked process: with a segment, a fork server and a processor of its own.

        Parameters:
            number: of the process, from 0.
        """
        self.means.leave()
        cpus = sorted(self._cpus)
        os.sched_setaffinity(0, {cpus[number % len(cpus)]})
        self._begin()

    @property
    def means(self) -> Means:
        """What this process makes executions with, from entering to leaving."""
        assert self._means is not None
        return self._means

    @property
    def settings(self) -> NativeSettings:
        """How executions are run."""
        return self._preparation.settings

    @property
    def execution(self) -> NativeRuntime:
        """What can be interrupted."""
        return self

    @property
    def engine(self) -> Engine:
        """What the last execution that was not a replay was made by, or the next one will be."""
        return self._choice.current

    @property
    def engine_note(self) -> str:
        """How executions are made, and why not faster, in one sentence."""
        fibers = self.fibers
        # Whoever asked for it knows.
        why = "" if not self.settings.fibers else fibers.forbidden_by
        return ways_in_words(self._choice, fibers.in_use, why)

    @property
    def newer_sources(self) -> list[str]:
        """Files of the source that were changed since the program was built."""
        return self._reader.symbols.newer_sources()

    def interrupt(self) -> None:
        """End the running execution (the user pressed Ctrl-C)."""
        self._interrupted = True

    # -- executing ---------------------------------------------------------------------

    def execute(self, plan: Plan, learn: bool = True, watch: bool = False) -> Executed:
        """Execute a plan.

        A failure is executed once more at once, with the stack of every step.

        Parameters:
            plan: the plan.
            learn: false for a replay, which gets stacks at once.
            watch: means nothing here: accesses to memory are always seen, or never.
        """
        learnt, points, making = self._learnt, self.points, self.means.making
        self._use(plan.conditions)
        self.made += 1
        known = learnt.dependences
        if learn:
            points.take_fresh()
            # After 1, 2, 4, 8, ... executions.
            if not learnt.executions & learnt.executions - 1:
                making.check_engine()
        make = making.make if learn else making.make_with_stacks
        trace, reading = self._run(plan, make, learn=learn)
        if learn and trace.outcome.is_failure:
            trace, reading = self._with_stacks(plan, trace, reading)
        # If steps depend on each other from now on that did not before, searches begin again.
        depends_on_more = learnt.dependences is not known
        new_points = int(depends_on_more) + (points.learn(trace.seen) if learn else 0)
        # The first one shows what is expected of the others.
        has_learned = depends_on_more or not learnt.executions or points.has_fresh
        learnt.executions += 1
        return Executed(
            trace,
            reading.task_count,
            is_concurrent=reading.task_count > 1,
            changes=new_points,
            has_learned=has_learned,
            nudged=reading.nudges > 0,
        )

    def _use(self, conditions: Conditions) -> None:
        """Let executions run under these conditions; what is accessed is found out here."""
        settings = self._preparation.settings
        late, most = conditions.late_timeouts, min(conditions.max_steps, self._most_steps)
        memory = conditions.memory
        if (settings.late_timeouts, settings.max_steps, settings.memory) != (late, most, memory):
            self._preparation.settings = replace(
                settings, late_timeouts=late, max_steps=most, memory=memory
            )

    def foresee(self, plans: Foresight | None) -> None:
        """See :class:`~bohrbug.runtime.protocol.Foreseeing`; a forked process knows nothing."""
        self.means.making.foresee(plans)

    def witness(self, trace: NativeTrace, races: Sequence[SeenRace]) -> list[Witnessed | None]:
        """Execute once more, and look at both accesses of races.

        Parameters:
            trace: the execution in which they were seen; nothing was learnt from later ones.
            races: some of its races.

        Returns:
            The first and the second access of each race, one after the other; ``None`` for what
            did not come again.
        """
        wanted = [access for race in races for access in (race.first, race.second)]
        # In the same way as before, so that the heap lies where it lay.
        again = Plan(tuple(trace.choices))
        make = partial(
            self.means.making.make_with_stacks,
            wanted=wanted,
            engine=trace.engine,
            on_fibers=trace.on_fibers,
        )
        _, reading = self._run(again, make, learn=False)
        return witnessed_in(self.means.segments.first, reading, len(wanted))

    def _with_stacks(
        self, plan: Plan, trace: NativeTrace, reading: Reading
    ) -> tuple[NativeTrace, Reading]:
        """The same failure, with the stack of every step, if it comes again."""
        making = self.means.making
        repeated = replace(plan, prefix=tuple(trace.choices))
        again, more = self._run(repeated, making.make_with_stacks, learn=False)
        if again.outcome.kind is trace.outcome.kind and again.divergence is None:
            again.plan = plan
            return again, more
        # What is seen in faster ways only may not be of the program.
        why = "a failure did not come again in a program started anew"
        if not trace.on_fibers and trace.engine is not Engine.SNAPSHOT:
            self._choice.drop(Engine.FORK_SERVER, why)
            return trace, reading
        self._choice.drop(Engine.SNAPSHOT, why)
        self.fibers.forbid("a failure that did not come again in a program started anew")
        return self._run(plan, making.make, learn=True)

    def _run(
        self, plan: Plan, make: Callable[[Plan], CompletedExecution], *, learn: bool
    ) -> tuple[NativeTrace, Reading]:
        self._interrupted = False
        started = time.perf_counter()
        made = make(plan)
        self.printed = made.printed
        self._check(made)
        trace, reading = self._reader.read(plan, made, self.means.hooks, learn)
        trace.outcome = self.explainer(reading, trace, made.ended, made.printed)
        if trace.outcome.kind is OutcomeKind.PASSED:
            self._learnt.right_deaths |= made.segment.header.deaths
        if trace.outcome.is_failure:
            self.printed_by_failure = made.printed
        on_printed = self._on_printed if learn else self._on_replayed
        if on_printed is not None:
            on_printed(made.printed)
        trace.seconds = time.perf_counter() - started
        return trace, reading

    def _check(self, made: CompletedExecution) -> None:
        """See that the program took part in an execution, and that it was as it was to be."""
        segment, ended = made.segment, made.ended
        if not segment.header.started and not ended.interrupted:
            raise UnsupportedError(
                f"{self.command[0]} did not take part: the shim {self.shim} was not loaded, or "
                f"the program ended before it (exit code {ended.code}): "
                + made.printed.stderr.decode("utf-8", "replace").strip()
            )
        if ended.code == NOT_EXECUTED and LACKS_SYMBOL in made.printed.stderr:
            said = made.printed.stderr.decode("utf-8", "replace").strip()
            raise UnsupportedError(f"{self.command[0]} can't be executed under control: {said}")
        self.means.hooks.check(segment)
        if self.settings.memory != SC and not segment.accesses.takes_part:
            raise UnsupportedError(
                f"--memory {self.settings.memory} needs a program that tells of its stores, and "
                f"{self.command[0]} does not: compile it with -fsanitize=thread"
            )
        if segment.accesses.watch_error:
            raise watchpoints.refused(segment.accesses.watch_error)

    def lend(self, plan: Plan, start: Callable[[Mapping[str, str]], object]) -> None:
        """Let somebody else, such as a debugger, start the program that executes a plan.

        It need not be entered for that.

        Parameters:
            plan: the plan.
            start: given what the environment of the program has to have beyond that of this
                process; returns when all is over.
        """
        hooks, preparation = HooksFolder(build.hooks()), self._preparation
        with SegmentFile(self.settings.max_steps) as segments:
            segment = segments.first
            self._use(plan.conditions)
            preparation.prepare(segment, plan)
            preparation.prepare_accesses(segment)
            base = hooks.environment(self._environment)
            wanted = environment_for(segment, preparation.preload, base)
            more = {name: wanted[name] for name in wanted if wanted[name] != os.environ.get(name)}
            try:
                start(more)
            finally:
                if segment.header.processes:
                    kill_all(segment.processes[0].pid, segment)
                hooks.close()

    # -- for explorations that are kept in a file -----------------------------------------

    def sources(self) -> list[str]:
        """The files on which it depends what an execution does: the program."""
        return [str(Path(self.command[0]).resolve())]

    def counters(self) -> list[int]:
        """How many executions there were, and data choices in the first that had any."""
        return [self._learnt.executions, self._learnt.choices]

    def set_counters(self, counters: list[int]) -> None:
        """Go on counting from what :meth:`counters` gave."""
        # Older files have one.
        self._learnt.executions, self._learnt.choices = (*counters, 0)[:2]

    # -- what some runtimes only have an answer to ---------------------------------------------

    policies: frozenset[type] = POLICIES
    """The policies of plans that it can execute."""

    discovers = False
    """Accesses to memory are always seen, or never."""

    def guard(self, seconds: float, on_stuck: Callable[[str], object] | None, more: int) -> Guard:
        """None is needed: whoever waits for the program ends it."""
        return NoGuard()

    def afresh(self) -> AbstractContextManager[object]:
        """See :class:`~bohrbug.runtime.protocol.Runtime`; the names are those of the program."""
        return nullcontext()

    unseen = "in native programs accesses to memory are not all in the graph"
    """What the happens-before graph does not have."""

    @property
    def faults(self) -> str:
        """Which calls may fail, for people."""
        settings = self.settings
        if not settings.faults:
            return ""
        return f"at most {settings.most_faults} failing of {', '.join(settings.faults)}"

    @property
    def misses_accesses(self) -> bool:
        """Whether accesses to memory are wanted, and nothing has told of them."""
        settings = self.settings
        is_wanted = settings.level != "sync" and not (settings.sample or settings.watch)
        return is_wanted and not self._learnt.has_hooks

    @property
    def accesses(self) -> str:
        """Whose accesses to memory are seen, for people."""
        settings, order = self.settings, self._memory
        if settings.sample:
            return f"accesses to memory sampled, {settings.sample} at a time{order}"
        if settings.watch:
            return f"accesses seen of {', '.join(settings.watch)} only{order}"
        if settings.level == "sync" or self.misses_accesses:
            return "accesses to memory not seen"
        return f"accesses to memory seen of code with hooks{order}"

    @property
    def _memory(self) -> str:
        """As what memory is taken, where it matters: if another one could show something else."""
        learnt, places = self._learnt, len(self._learnt.weak_places)
        if self.settings.memory == TSO:
            text = ", memory as x86 has it (total store order)"
            if learnt.stack_in_order:
                text += " but for stores of tasks to their own stacks, which are seen at once"
            return text
        if self.settings.memory == RELAXED:
            return ", memory as C11 has it without load buffering and reordered stores"
        if not learnt.memory_matters:
            return ""
        where = f"{places:,} place{'s' * (places > 1)}"
        more = f" (weaker memory could show more at {where})" if places else ""
        return f", memory sequentially consistent{more}"

    def note_weak_place(self, site: Site) -> None:
        """A load there may overtake a store before it, where memory is weaker."""
        self._learnt.weak_places.add(site)

    @property
    def points(self) -> Points:
        """The accesses to memory that are scheduling points."""
        return self._preparation.points

    def want_points(self, keys: Iterable[PointKey]) -> None:
        """Make these accesses, and what stands for learnt dependences, scheduling points."""
        # As lists, if they come from a file.
        wanted = {(path, name, line, at) for path, name, line, at in keys}
        for key, dependence in LEARNT_POINTS.items():
            if key in wanted:
                self._learnt.dependences |= dependence
        self.points.want(wanted - LEARNT_POINTS.keys())

    def skipped_functions(self) -> tuple[()]:
        """No function is chosen for its accesses to be made visible."""
        return ()

    def point_keys(self) -> tuple[PointKey, ...]:
        """The accesses to memory that are scheduling points, and what stands for dependences."""
        learnt = self._learnt.dependences
        shown = [key for key, each in LEARNT_POINTS.items() if learnt | each == learnt]
        return (*self.points.keys(), *shown)
