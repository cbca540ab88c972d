"""From executions to traces."""

from __future__ import annotations

from pathlib import Path

from bohrbug.model.conditions import TSO
from bohrbug.model.outcome import LONG_RUNS, REPEATED_YIELDS
from bohrbug.model.plan import Plan
from bohrbug.runtime.posix.accesses import HooksFolder, seen_in, unseen_in
from bohrbug.runtime.posix.accesses_layout import STACK_IN_ORDER
from bohrbug.runtime.posix.completed import CompletedExecution
from bohrbug.runtime.posix.elf import has_fences, has_futex_calls, has_hooks, is_of_rust
from bohrbug.runtime.posix.enumerations import USE_AFTER_FREE
from bohrbug.runtime.posix.native_trace import NativeTrace
from bohrbug.runtime.posix.preparing import Preparation
from bohrbug.runtime.posix.recorded import Reading
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.symbols import Symbols

NOT_MODELLED = (
    "asynchronous input and output (aio_read and its like): threads of the C library do it",
    "getaddrinfo_a: threads of the C library do it",
    "mq_notify: the kernel and threads of the C library do what follows",
    "process_vm_readv and process_vm_writev are no scheduling points",
    "vmsplice is no scheduling point",
    "threads and signals by which the C library tells of the end of something (SIGEV_THREAD)",
)
"""What is said of ``enum not_modelled`` in segment.h."""

_FIRST = 10
"""Executions that are looked at for what the others will have, too."""


EXIT_HANDLERS = "exit handlers and destructors of static objects as one step"
"""What is assumed where a process has ended while others of its threads were alive."""

SIGNAL_HANDLERS = "signals as coming at scheduling points"
"""What is assumed where a handler of a signal has run: really it comes in the midst of code."""

CANCELLATION = "asynchronous cancellation as coming at calls"
"""What is assumed where it has ended a thread: really it comes in the midst of code, too."""


OPENMP = ("libgomp.", "libomp.", "libiomp5.")
"""How the names of OpenMP's runtimes begin: of GCC, clang and Intel."""


_SEEN_BY_CALLS = ("libc.", "libpthread.", "ld-linux", "libstdc++.", *OPENMP)
"""How the names of libraries begin whose futexes are no locks of programs, or are told of else."""


def modules_with_futexes(segment: Segment) -> list[Path]:
    """The program and the libraries of an execution that make ``futex`` calls themselves."""
    modules = (
        Path(module.path.decode("utf-8", "surrogateescape"))
        for module in segment.modules
        if not module.is_shim
    )
    return [
        module
        for module in dict.fromkeys(modules)
        if not module.name.startswith(_SEEN_BY_CALLS) and has_futex_calls(module)
    ]


def has_openmp(segment: Segment) -> bool:
    """Whether a runtime of OpenMP has started threads in an execution."""
    runtimes = [
        (module.start, module.end)
        for module in segment.modules
        if Path(module.path.decode("utf-8", "surrogateescape")).name.startswith(OPENMP)
    ]
    return bool(runtimes) and any(
        start <= task.routine < end for task in segment.tasks for start, end in runtimes
    )


class TraceReader:
    """Reads executions of one program, and learns from them what later ones depend on.

    Parameters:
        program: path of the program.
        preparation: of segments; has what is learnt.
    """

    def __init__(self, program: Path, preparation: Preparation) -> None:
        self._program = program
        self._preparation = preparation
        self._learnt = preparation.learnt
        self._told_of_futexes = False
        self._told_of_openmp = False
        self.symbols = Symbols()
        """Of the program and its libraries, as far as they were seen."""

    def read(
        self, plan: Plan, made: CompletedExecution, hooks: HooksFolder, learn: bool
    ) -> tuple[NativeTrace, Reading]:
        """The trace of an execution, without its outcome, and what the segment holds.

        Parameters:
            plan: that was to be executed.
            made: the execution.
            hooks: the folder that it had.
            learn: whether later executions depend on what has an effect.
        """
        segment = made.segment
        self._learnt.take_in(segment)
        reading = self._reading(made, hooks, learn)
        trace = NativeTrace(plan, reading)
        trace.engine = made.engine
        trace.on_fibers = bool(segment.header.fibers)
        trace.seen = seen_in(segment, reading)
        self._learnt.has_hooks |= trace.seen.takes_part
        trace.races = [seen.race for seen in trace.seen.races]
        weak = segment.accesses.weak
        self._learnt.memory_matters |= bool(trace.races or weak)
        if weak:
            self._note_weak(segment, reading)
        self._note_futexes(trace, reading, segment)
        self._note_openmp(trace, segment)
        for bit, taken in ((1, REPEATED_YIELDS), (2, LONG_RUNS)):
            if segment.header.yields_assumed & bit:
                trace.uncontrolled.assume(taken)
        if segment.header.ended_beside_others:
            trace.uncontrolled.assume(EXIT_HANDLERS)
        if segment.header.handlers_run:
            trace.uncontrolled.assume(SIGNAL_HANDLERS)
        if segment.header.cancelled_anywhere:
            trace.uncontrolled.assume(CANCELLATION)
        for place, what in enumerate(NOT_MODELLED):
            if segment.header.not_modelled & 1 << place:
                trace.uncontrolled.note(what)
        for what in unseen_in(segment, trace.seen):
            trace.uncontrolled.note(what)
        if self._preparation.settings.memory == TSO and has_fences(self._program):
            trace.uncontrolled.note("fences in assembly (mfence), for which stores do not wait")
        if self._preparation.settings.allowed_misuses:
            self._note_misuses(trace, reading)
        return trace, reading

    def _reading(self, made: CompletedExecution, hooks: HooksFolder, learn: bool) -> Reading:
        learnt, preload = self._learnt, self._preparation.preload

        def read() -> Reading:
            return Reading(
                made.segment, made.names, self.symbols, preload, learnt.dependences, hooks.path
            )

        reading = read()
        known = learnt.dependences | reading.dependences()
        if known is learnt.dependences or not learn:
            return reading
        learnt.dependences = known
        return read()

    def _note_misuses(self, trace: NativeTrace, reading: Reading) -> None:
        """Say behind which misuse the execution went on."""
        places = dict(reading.misuses_let_pass())
        if USE_AFTER_FREE in self._preparation.settings.allowed_misuses:
            # Where it is allowed, only locks in memory that was freed are noticed.
            places.setdefault(USE_AFTER_FREE)
        for kind, site in places.items():
            at = f"{Path(site.filename).name}:{site.line}" if site and site.line else ""
            trace.uncontrolled.let_misuse_pass(kind, at)

    def _note_weak(self, segment: Segment, reading: Reading) -> None:
        """Take note of where weaker memory could show more."""
        learnt, record = self._learnt, segment.accesses
        learnt.stack_in_order |= bool(record.weak & STACK_IN_ORDER)
        for place in set(record.weak_place[: record.weak_places]) - learnt.weak_atomics:
            learnt.weak_atomics.add(place)
            site = reading.site(place, 0)
            if site is not None:
                learnt.weak_places.add(site)

    @property
    def _sees_accesses(self) -> bool:
        settings = self._preparation.settings
        return self._learnt.has_hooks and not (settings.watch or settings.sample)

    def _note_openmp(self, trace: NativeTrace, segment: Segment) -> None:
        """Say once what OpenMP's runtime does unseen: it has no hooks, whatever the program has."""
        matters = bool(trace.races) if self._sees_accesses else self._learnt.executions < _FIRST
        if self._told_of_openmp or not matters or not has_openmp(segment):
            return
        self._told_of_openmp = True
        if self._sees_accesses:
            trace.uncontrolled.note("order by OpenMP's runtime, so that data races may be none")
        else:
            trace.uncontrolled.note(
                "locks of OpenMP's runtime are scheduling points only where a task waits"
            )

    def _note_futexes(self, trace: NativeTrace, reading: Reading, segment: Segment) -> None:
        """Say once that there are locks of which the shim sees little."""
        if self._told_of_futexes or self._learnt.executions >= _FIRST or segment.header.tasks < 2:
            return
        modules = modules_with_futexes(segment)
        if self._sees_accesses:
            self._told_of_futexes = not all(has_hooks(module) for module in modules)
        else:
            self._told_of_futexes = (
                reading.has_futexes or is_of_rust(self._program) or bool(modules)
            )
        if self._told_of_futexes:
            trace.uncontrolled.note(
                "locks made of futexes, as those of Rust and oneTBB are, are scheduling points "
                "only where a task waits or wakes another one up"
            )
