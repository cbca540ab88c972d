"""Preparing segments for executions, by the settings and by what earlier ones have shown."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bohrbug.model.plan import Plan
from bohrbug.runtime.posix import build, watchpoints
from bohrbug.runtime.posix.accesses import Points, SeenAccess
from bohrbug.runtime.posix.completed import Prepared
from bohrbug.runtime.posix.enumerations import FAULTS, MEMORIES, MISUSES
from bohrbug.runtime.posix.learnt import Learnt
from bohrbug.runtime.posix.sampled import SampledPoints
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.settings import NativeSettings


class Preparation:
    """Tells the shim what it has to know of an execution, beside what is in its environment.

    Parameters:
        settings: how executions are run; may be replaced from one execution to the next.
        program: path of the program.
        learnt: what executions have shown so far; kept up to date by whoever reads them.

    Raises:
        UnsupportedError: what is to be watched can't be.
    """

    def __init__(self, settings: NativeSettings, program: str, learnt: Learnt) -> None:
        self.settings = settings
        self.learnt = learnt
        libraries = [str(build.shim()), str(build.allocations())]
        self._watchpoints = watchpoints.watchpoints(settings.watch, program)
        if settings.watch or settings.sample:
            libraries.append(str(watchpoints.hooks_to_preload(settings.level)))
        self.preload = ":".join(libraries)
        """What programs preload, with colons in between."""
        self.points = Points(settings.level)
        """The accesses to memory that are scheduling points."""
        if settings.sample:
            watchpoints.check_registers(len(settings.watch), settings.sample)
            self.points = SampledPoints(settings.level, program, settings.sample, settings.seed)
        self._cpus = os.sched_getaffinity(0)
        # What each segment was last prepared with, beside a plan.
        self._prepared: dict[int, tuple[object, ...]] = {}

    def begin(self, cpus: set[int]) -> None:
        """From now on with new segments.

        Parameters:
            cpus: the processors that programs are to believe in.
        """
        self._cpus = cpus
        self._prepared.clear()

    @property
    def rules(self) -> tuple[object, ...]:
        """What executions depend on beside their plans, and what carries their tasks."""
        learnt = self.learnt
        return (
            self.settings,
            learnt.choices,
            learnt.nobody_comes,
            learnt.right_deaths,
            learnt.dependences,
        )

    def prepare(
        self, segment: Segment, plan: Plan, *, fibers: bool = False, with_stacks: bool = False
    ) -> Prepared:
        """Put a plan into a segment.

        Parameters:
            segment: where the execution is to be.
            plan: the plan.
            fibers: one kernel thread may wear all tasks.
            with_stacks: with the stacks of its first steps, and of those from near the end of its
                prefix on.
        """
        stacks = len(plan.prefix) + 1 if with_stacks else 0
        prepared = (stacks, fibers, self.rules)
        if prepared == self._prepared.get(segment.start):
            return Prepared(plan, segment.prepare_again(plan), segment)
        self._prepared[segment.start] = prepared
        settings, learnt = self.settings, self.learnt
        names = segment.prepare(
            plan,
            settings.max_steps,
            late_timeouts=settings.late_timeouts,
            after_release=settings.after_release,
            with_stacks=stacks,
            one_cpu=settings.one_cpu,
            fibers=fibers,
            memory=MEMORIES.index(settings.memory),
            starter=os.getpid(),
            epoch=settings.epoch * 10**9,
            shim=self.preload.encode(),
            faults=sum(1 << i for i, call in enumerate(FAULTS) if call in settings.faults),
            faults_left=settings.most_faults,
            allowed_misuses=sum(
                1 << i for i, kind in enumerate(MISUSES) if kind in settings.allowed_misuses
            ),
            expected_choices=learnt.choices,
            nobody_comes=learnt.nobody_comes,
            right_deaths=learnt.right_deaths,
            kernel_matters=learnt.dependences.kernel,
            polls_matter=learnt.dependences.polls,
            numbers_matter=learnt.dependences.numbers,
            room_matters=learnt.dependences.room,
            modes_matter=learnt.dependences.modes,
            cpus=self._cpus,
        )
        return Prepared(plan, names, segment)

    def prepare_accesses(self, segment: Segment, wanted: Sequence[SeenAccess] = ()) -> None:
        """Say which accesses to memory matter in an execution.

        Parameters:
            segment: where it is to be.
            wanted: accesses to be looked at closely.
        """
        self.points.prepare(segment, wanted)
        watchpoints.prepare(segment.accesses, self._watchpoints, self.settings.sample)
