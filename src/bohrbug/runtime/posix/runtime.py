"""The POSIX runtime: from plans to traces, by starting the program anew for each execution."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.posix import build, watchpoints
from bohrbug.runtime.posix.accesses import (
    HooksFolder,
    PointKey,
    Points,
    SeenAccess,
    SeenRace,
    Witnessed,
    seen_in,
    unseen_in,
    witnessed_in,
)
from bohrbug.runtime.posix.ahead import SMALL_SEGMENTS, Ahead, Made, Prepared, made_of
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.commands import command_of
from bohrbug.runtime.posix.elf import is_of_rust
from bohrbug.runtime.posix.engines import Choice, Done, Engine, ways_in_words
from bohrbug.runtime.posix.fibers import Fibers
from bohrbug.runtime.posix.launching import (
    Ended,
    Input,
    Launcher,
    Printed,
    environment_for,
    kill_all,
    supported_here,
)
from bohrbug.runtime.posix.layout import FAULTS
from bohrbug.runtime.posix.native_trace import NativeTrace
from bohrbug.runtime.posix.recorded import Dependences, Reading
from bohrbug.runtime.posix.sampled import SampledPoints
from bohrbug.runtime.posix.segment import SMALL, Segment, SegmentFile
from bohrbug.runtime.posix.serving import Server
from bohrbug.runtime.posix.settings import NativeSettings
from bohrbug.runtime.posix.symbols import Symbols
from bohrbug.runtime.protocol import Executed, Foresight

_FIRST = 10
"""Executions that are looked at for what the others will have, too."""


Explainer = Callable[[Reading, Trace, Ended, Printed], Outcome]
"""Turns how an execution ended into an outcome; the monitors do."""


class NativeRuntime:
    """Executes plans of one command.

    Parameters:
        command: the program and its arguments.
        settings: how executions are run.
        explainer: turns ends of executions into outcomes.
        environment: of the program; by default that of this process.
        on_printed: given what each execution printed.

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
    ) -> None:
        if not supported_here():
            raise UnsupportedError("native programs can be explored on Linux 5.3 and newer only")
        self.command = command_of(command)
        self.settings = settings
        self.explainer = explainer
        self.shim = build.shim()
        # What programs preload, with colons in between.
        self._preload = str(self.shim)
        if "malloc" in settings.faults:
            self._preload += f":{build.allocations()}"
        program = str(Path(self.command[0]).resolve())
        self._watchpoints = watchpoints.watchpoints(settings.watch, program)
        if settings.watch or settings.sample:
            self._preload += f":{watchpoints.hooks_to_preload(settings.level)}"
        self.points = Points(settings.level)
        if settings.sample:
            watchpoints.check_registers(len(settings.watch), settings.sample)
            self.points = SampledPoints(settings.level, program, settings.sample, settings.seed)
        self._hooks: HooksFolder | None = None
        self.printed = Printed(b"", b"")
        self.printed_by_failure: Printed | None = None
        self._on_printed = on_printed
        self.watchdog: Any = None
        self._environment = dict(os.environ) if environment is None else environment
        self._symbols = Symbols()
        # What executions may need at most; the limit itself goes down as they are known better.
        self._most_steps = settings.max_steps
        self._file: SegmentFile | None = None
        self._segment: Segment | None = None
        self._ahead = Ahead(())
        self._foresee: Foresight | None = None
        self._launcher: Launcher | None = None
        self._interrupted = False
        is_watched = bool(settings.watch or settings.sample)
        # What the processor watches for, it watches in one kernel thread, and for its life.
        self._choice = Choice(settings.engine, may_restore=not is_watched)
        # What the first execution did, which a process that is restored has to repeat.
        self._reference: Done | None = None
        watched = "registers that watch one kernel thread each" if is_watched else ""
        self.fibers = Fibers(watched or ("" if settings.fibers else "the settings"))
        self._has_hooks = False
        self._told_of_futexes = False
        self._executions = 0
        self._cpus = os.sched_getaffinity(0)
        self._known = Dependences()
        # What each segment was last prepared with, beside a plan.
        self._prepared: dict[int, tuple[object, ...]] = {}
        self._nobody_comes = False
        # Signals, as bits, of which child processes may die.
        self._right_deaths = 0
        # Data choices of the first execution that had any: from it on the same, whoever goes on.
        self._choices = 0
        self.has_learned = False
        self.made = 0

    # -- life ------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._input = Input()
        self._cpus = os.sched_getaffinity(0)
        self._open()
        return self

    def _open(self) -> None:
        self._choice.reset()
        self._reference = None
        self._prepared.clear()
        self._file = SegmentFile(self._most_steps, SMALL_SEGMENTS)
        self._segment = self._file.first
        self._ahead = Ahead(self._file.small)
        self._hooks = HooksFolder(build.hooks())
        self._launcher = Launcher(
            self.command,
            self._hooks.environment(self._environment),
            self._preload,
            self.settings.hang_seconds,
            lambda: self._interrupted,
            self._input,
        )

    def __exit__(self, *exc_info: object) -> None:
        if self._file is not None:
            self._file.close()
        if self._launcher is not None:
            self._launcher.close()
        if self._hooks is not None:
            self._hooks.close()
        self._file = self._segment = self._launcher = self._hooks = None
        self._input.close()

    def settle(self, number: int) -> None:
        """Go on in a forked process: with a segment, a fork server and a processor of its own.

        Parameters:
            number: of the process, from 0.
        """
        assert self._file is not None
        assert self._launcher is not None
        self._file.close()
        self._launcher.leave()
        cpus = sorted(self._cpus)
        os.sched_setaffinity(0, {cpus[number % len(cpus)]})
        self._open()

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
        return self._symbols.newer_sources()

    def interrupt(self) -> None:
        """End the running execution (the user pressed Ctrl-C)."""
        self._interrupted = True

    # -- executing ---------------------------------------------------------------------

    def execute(
        self, plan: Plan, learn: bool = True, watch: bool = False, discover: bool = False
    ) -> Executed:
        """Execute a plan.

        A failure is executed once more at once, with the stack of every step.

        Parameters:
            plan: the plan.
            learn: false for a replay, which gets stacks at once.
            watch, discover: mean nothing here: accesses to memory are always seen, or never.
        """
        self.made += 1
        self.has_learned = False
        if learn:
            self.points.take_fresh()
            self._check_engine()
        trace, reading = self._run(plan, with_stacks=not learn)
        if learn and trace.outcome.is_failure:
            trace, reading = self._with_stacks(plan, trace, reading)
        new_points = int(self.has_learned) + (self.points.learn(trace.seen) if learn else 0)
        # The first one shows what is expected of the others.
        self.has_learned = self.has_learned or not self._executions or self.points.has_fresh
        self._executions += 1
        return Executed(trace, new_points, reading.task_count, nudged=reading.nudges > 0)

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
        _, reading = self._run(again, with_stacks=True, wanted=wanted, like=trace)
        assert self._segment is not None
        return witnessed_in(self._segment, reading, len(wanted))

    def _with_stacks(
        self, plan: Plan, trace: NativeTrace, reading: Reading
    ) -> tuple[NativeTrace, Reading]:
        """The same failure, with the stack of every step, if it comes again."""
        again, more = self._run(replace(plan, prefix=tuple(trace.choices)), with_stacks=True)
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
        return self._run(plan, with_stacks=False)

    def _run(
        self,
        plan: Plan,
        *,
        with_stacks: bool,
        wanted: Sequence[SeenAccess] = (),
        like: NativeTrace | None = None,
    ) -> tuple[NativeTrace, Reading]:
        self._interrupted = False
        started = time.perf_counter()
        engine = self._choice.current if not with_stacks else Engine.ANEW
        if like is not None:
            engine = like.engine
        made = self._taken(plan, engine) if not with_stacks and like is None else None
        while made is None:
            fibers = self.fibers.in_use
            if like is not None or with_stacks:
                fibers = fibers and like is not None and like.on_fibers
            made = self._make(plan, engine, fibers, with_stacks, wanted)
            if made is None:
                engine = self._choice.current
            elif not self.fibers.learn(made.segment, made.ended.hung):
                made = None
                # One that waits may have threads that fibers alone can use.
                assert self._launcher is not None
                self._launcher.end_server()
        segment, ended, names, self.printed = made.segment, made.ended, made.names, made.printed
        if not segment.header.started and not ended.interrupted:
            raise UnsupportedError(
                f"{self.command[0]} did not take part: the shim {self.shim} was not loaded, or "
                f"the program ended before it (exit code {ended.code}): "
                + self.printed.stderr.decode("utf-8", "replace").strip()
            )
        assert self._hooks is not None
        self._hooks.check(segment)
        if segment.accesses.watch_error:
            raise watchpoints.refused(segment.accesses.watch_error)
        ended_by_itself = ended.code >= 0 and not ended.hung and not ended.interrupted
        if self._reference is None and ended_by_itself and not with_stacks:
            self._reference = Done.of(plan, engine, segment, self.printed)
        self._choices = self._choices or segment.header.choices
        self._nobody_comes |= bool(segment.header.waited_in_vain)
        reading = self._read(segment, names, learn=not with_stacks)
        trace = NativeTrace(plan, reading)
        trace.engine = engine
        trace.on_fibers = bool(segment.header.fibers)
        trace.seen = seen_in(segment, reading)
        self._has_hooks |= trace.seen.takes_part
        trace.races = [seen.race for seen in trace.seen.races]
        self._note_futexes(trace, reading)
        for what in unseen_in(segment, trace.seen):
            trace.uncontrolled.note(what)
        trace.outcome = self.explainer(reading, trace, ended, self.printed)
        if trace.outcome.kind is OutcomeKind.PASSED:
            self._right_deaths |= segment.header.deaths
        if trace.outcome.is_failure:
            self.printed_by_failure = self.printed
        if self._on_printed is not None:
            self._on_printed(self.printed)
        trace.seconds = time.perf_counter() - started
        return trace, reading

    def _note_futexes(self, trace: NativeTrace, reading: Reading) -> None:
        """Say once that there are locks of which the shim sees little."""
        settings = self.settings
        sees_all = self._has_hooks and not (settings.watch or settings.sample)
        if self._told_of_futexes or sees_all or self._executions >= _FIRST:
            return
        self._told_of_futexes = reading.has_futexes or is_of_rust(Path(self.command[0]).resolve())
        if self._told_of_futexes:
            trace.uncontrolled.note(
                "locks made of futexes, as those of Rust are, are scheduling points only where a "
                "task waits or wakes another one up"
            )

    def _make(
        self,
        plan: Plan,
        engine: Engine,
        fibers: bool,
        with_stacks: bool,
        wanted: Sequence[SeenAccess],
    ) -> Made | None:
        """Execute a plan, and perhaps those behind it; ``None`` if that engine could not do it."""
        assert self._segment is not None
        assert self._launcher is not None
        self._collect_ahead(goes_on=False)
        prepared = [self._prepare(self._segment, plan, with_stacks, fibers)]
        self._prepare_accesses(self._segment, wanted)
        foresee = self._foresee
        if not with_stacks and fibers == self.fibers.in_use and self._may_go_ahead(engine):
            assert foresee is not None
            for more, small in self._ahead.places(plan, foresee):
                prepared.append(self._prepare(small, more, False, fibers))
        made = made_of(prepared, self._end_by(engine, [each.segment for each in prepared]))
        if len(prepared) > 1:
            self._ahead.keep(made[1:], self._launcher.waited)
        return made[0] if made else None

    def _may_go_ahead(self, engine: Engine) -> bool:
        """Whether an engine can make more executions than the one that is asked for."""
        if self._foresee is None or self._has_hooks or self.settings.max_steps > SMALL.steps:
            # Each execution may show scheduling points for the next, or may need more room.
            return False
        safe_forks = engine is Engine.FORK_SERVER and not self._choice.leaves_something
        return engine is Engine.SNAPSHOT or safe_forks

    def _look_ahead(self, plan: Plan, engine: Engine) -> None:
        """Let the waiting program go on while what it has made is looked at."""
        launcher, fibers = self._launcher, self.fibers.in_use
        assert launcher is not None
        if not self._may_go_ahead(engine) or not launcher.serves(engine):
            return
        assert self._foresee is not None
        places = self._ahead.places_beyond(plan, self._rules(), self._foresee)
        if places:
            self._ahead.get_ready([self._prepare(at, more, False, fibers) for more, at in places])
        segments = self._ahead.segments_of_next
        if segments and not self._ahead.is_under_way:
            launcher.order(segments, is_awaited=False)
            self._ahead.begin()

    def _collect_ahead(self, *, goes_on: bool) -> None:
        """Wait for what is under way and nobody has asked for; then nothing is, or what is next."""
        if not goes_on:
            self._ahead.stop()
        prepared = self._ahead.end()
        if prepared:
            launcher = self._launcher
            assert launcher is not None
            server, ends = launcher.server, launcher.collect(self._ahead.segments_of_next)
            assert server is not None
            if launcher.has_orders:
                self._ahead.begin()
            self._note_ends(server, prepared[0].segment, len(ends))
            self._ahead.keep(made_of(prepared, ends), launcher.waited)

    def _taken(self, plan: Plan, engine: Engine) -> Made | None:
        """What the execution of a plan showed, if it was made together with those before it."""
        rules = self._rules()
        if self._ahead.awaits(plan, rules):
            self._collect_ahead(goes_on=self._ahead.is_by(rules))
        self._look_ahead(plan, engine)
        made = self._ahead.take(plan, rules)
        if made is None or self.fibers.learn(made.segment, made.ended.hung):
            return made
        return None

    def foresee(self, plans: Foresight | None) -> None:
        """See :class:`~bohrbug.runtime.protocol.Foreseeing`."""
        self._foresee = plans

    def _end_by(self, engine: Engine, segments: list[Segment]) -> list[tuple[Ended, Printed]]:
        """Execute what segments say; see :meth:`Launcher.run_served`."""
        launcher, segment = self._launcher, segments[0]
        assert launcher is not None
        if engine is Engine.ANEW:
            ended = launcher.run(segment)
            if not self._choice.is_settled:
                self._choice.settle(segment)
            return [(ended, launcher.printed)]
        stacks = self._choice.stacks
        is_safe = engine is Engine.FORK_SERVER and self._may_go_ahead(engine)
        waits = launcher.serves(engine, is_safe)
        if not waits and not launcher.serve(segment, engine, stacks, is_safe):
            self._choice.leave(engine, None, is_safe)
            return []
        server = launcher.server
        assert server is not None
        served = launcher.run_served(segments)
        self._note_ends(server, segment, len(served))
        return served

    def _note_ends(self, server: Server, segment: Segment, executions: int) -> None:
        """Take note of how a waiting program has carried out an order."""
        assert self._launcher is not None
        if not executions:
            self._choice.leave(server.engine, segment, server.is_safe)
        elif self._launcher.server is None and server.engine is Engine.SNAPSHOT:
            self._choice.lost(server.executions)

    def _check_engine(self) -> None:
        """See now and then that a process that is restored does again what the first one did."""
        if self._choice.current is not Engine.SNAPSHOT or self._executions & self._executions - 1:
            return
        reference = self._reference
        if reference is None:
            self._choice.drop(Engine.SNAPSHOT, "no execution is known that could be repeated")
            return
        self._collect_ahead(goes_on=False)
        segment, launcher = self._segment, self._launcher
        assert segment is not None
        assert launcher is not None
        self._prepare(segment, reference.plan, False, self.fibers.in_use)
        self.points.prepare(segment)
        ends = self._end_by(Engine.SNAPSHOT, [segment])
        if not ends or not self.fibers.learn(segment, ends[0][0].hung):
            return
        printed = ends[0][1]
        self._reference = Done.of(reference.plan, Engine.SNAPSHOT, segment, printed)
        if not self._reference.is_like(reference):
            self._choice.drop(Engine.SNAPSHOT, "a repeated execution was not the same")
            launcher.end_server()

    def _prepare(
        self, segment: Segment, plan: Plan, with_stacks: bool, fibers: bool = False
    ) -> Prepared:
        settings = self.settings
        prepared = (len(plan.prefix) if with_stacks else None, fibers, self._rules())
        if prepared == self._prepared.get(segment.start):
            return Prepared(plan, segment.prepare_again(plan), segment)
        self._prepared[segment.start] = prepared
        names = segment.prepare(
            plan,
            settings.max_steps,
            late_timeouts=settings.late_timeouts,
            after_release=settings.after_release,
            with_stacks=len(plan.prefix) + 1 if with_stacks else 0,
            one_cpu=settings.one_cpu,
            fibers=fibers,
            starter=os.getpid(),
            epoch=settings.epoch * 10**9,
            shim=self._preload.encode(),
            faults=sum(1 << i for i, call in enumerate(FAULTS) if call in settings.faults),
            faults_left=settings.most_faults,
            expected_choices=self._choices,
            nobody_comes=self._nobody_comes,
            right_deaths=self._right_deaths,
            kernel_matters=self._known.kernel,
            polls_matter=self._known.polls,
            cpus=self._cpus,
        )
        return Prepared(plan, names, segment)

    def _rules(self) -> tuple[object, ...]:
        """What executions depend on beside their plans."""
        learnt = (self._choices, self._nobody_comes, self._right_deaths, self._known)
        return (self.settings, self.fibers.in_use, *learnt)

    def _prepare_accesses(self, segment: Segment, wanted: Sequence[SeenAccess] = ()) -> None:
        self.points.prepare(segment, wanted)
        watchpoints.prepare(segment.accesses, self._watchpoints, self.settings.sample)

    def lend(self, plan: Plan, start: Callable[[Mapping[str, str]], object]) -> None:
        """Let somebody else, such as a debugger, start the program that executes a plan.

        It need not be entered for that.

        Parameters:
            plan: the plan.
            start: given what the environment of the program has to have beyond that of this
                process; returns when all is over.
        """
        hooks = HooksFolder(build.hooks())
        with SegmentFile(self.settings.max_steps) as segments:
            segment = segments.first
            self._prepare(segment, plan, with_stacks=False)
            self._prepare_accesses(segment)
            wanted = environment_for(segment, self._preload, hooks.environment(self._environment))
            more = {name: wanted[name] for name in wanted if wanted[name] != os.environ.get(name)}
            try:
                start(more)
            finally:
                if segment.header.processes:
                    kill_all(segment.processes[0].pid, segment)
                hooks.close()

    def _read(self, segment: Segment, names: tuple[TaskId, ...], learn: bool) -> Reading:
        assert self._hooks is not None
        ours = (self._preload, self._hooks.path)
        reading = Reading(segment, names, self._symbols, ours[0], self._known, ours[1])
        known = self._known | reading.dependences()
        if known is self._known or not learn:
            return reading
        # From now on steps depend on each other that did not before: searches begin again.
        self._known = known
        self.has_learned = True
        return Reading(segment, names, self._symbols, ours[0], known, ours[1])

    # -- for explorations that are kept in a file -----------------------------------------

    def sources(self) -> list[str]:
        """The files on which it depends what an execution does: the program."""
        return [str(Path(self.command[0]).resolve())]

    def counters(self) -> list[int]:
        """How many executions there were, and data choices in the first that had any."""
        return [self._executions, self._choices]

    def set_counters(self, counters: list[int]) -> None:
        """Go on counting from what :meth:`counters` gave."""
        # Older files have one.
        self._executions, self._choices = (*counters, 0)[:2]

    # -- what is of use to the threads runtime -------------------------------------------------

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
    def accesses(self) -> str:
        """Whose accesses to memory are seen, for people."""
        settings = self.settings
        if settings.sample:
            return f"accesses to memory sampled, {settings.sample} at a time"
        if settings.watch:
            return f"accesses seen of {', '.join(settings.watch)} only"
        if settings.level == "sync" or not self._has_hooks:
            return "accesses to memory not seen"
        return "accesses to memory seen"

    @property
    def is_settling(self) -> bool:
        """Whether the last execution has shown accesses that will be scheduling points."""
        return self.points.has_fresh

    def want_points(self, keys: Iterable[PointKey]) -> None:
        """Make these accesses scheduling points."""
        self.points.want(keys)

    def look_closer(self) -> bool:
        """There is nothing that could be watched more closely."""
        return False

    def skipped_functions(self) -> tuple[()]:
        """No function is chosen for its accesses to be made visible."""
        return ()

    def point_keys(self) -> tuple[PointKey, ...]:
        """The accesses to memory that are scheduling points."""
        return self.points.keys()

    def take_new_points(self) -> None:
        """Let accesses that the last execution has shown be scheduling points now, not later."""
        self.points.take_fresh()

    def name_older_objects(self, origin: str) -> None:
        """No object is older than an execution."""
