"""How executions of native programs are run."""

from __future__ import annotations

from dataclasses import dataclass

from bohrbug.model.conditions import SC
from bohrbug.runtime.posix.engines import AUTO


@dataclass(frozen=True, slots=True)
class NativeSettings:
    """How executions are run.

    Parameters:
        late_timeouts: a timeout fires only when no task is enabled; as the conditions of the
            last plan said.
        max_steps: steps after which an execution is ended as a livelock, at most: the conditions
            of a plan may say fewer.
        after_release: there is a scheduling point after an operation that lets others go on, too.
        hang_seconds: seconds of real time without a step after which an execution hangs.
        one_cpu: all threads share one processor, which makes handing over several times faster.
        epoch: what the real-time clock says at the beginning of every execution, in seconds.
        engine: how the program gets to its main function, of
            :data:`bohrbug.runtime.posix.engines.ENGINES`: by default in the fastest way that makes
            no difference; failures are confirmed by programs started anew.
        level: which accesses to memory are scheduling points, where they can be seen: ``sync``,
            ``racy`` or ``all``, as in the options.
        fibers: one kernel thread wears all tasks of a program, where that makes no difference;
            failures are confirmed with a kernel thread for each task.
        faults: the calls that may fail, of :data:`bohrbug.runtime.posix.enumerations.FAULTS`.
        most_faults: how many of them fail in one execution.
        allowed_misuses: the kinds of misuse behind which an execution goes on, of
            :data:`bohrbug.runtime.posix.enumerations.ALLOWABLE_MISUSES`.
        watch: memory whose accesses the processor tells of, see
            :func:`bohrbug.runtime.posix.watchpoints.watchpoint`.
        sample: at how many instructions that access memory tasks are held in each execution.
        seed: of the choice of these.
        memory: ``sc``, ``tso`` or ``relaxed``, see :class:`bohrbug.model.conditions.Conditions`.
    """

    late_timeouts: bool = False
    max_steps: int = 300_000
    after_release: bool = True
    hang_seconds: float = 10.0
    one_cpu: bool = True
    epoch: int = 1_700_000_000
    engine: str = AUTO
    fibers: bool = True
    level: str = "racy"
    faults: tuple[str, ...] = ()
    most_faults: int = 1
    allowed_misuses: tuple[str, ...] = ()
    watch: tuple[str, ...] = ()
    sample: int = 0
    seed: int = 0
    memory: str = SC
