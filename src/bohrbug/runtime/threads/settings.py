"""How executions on the threads runtime are run, whatever their plans."""

from __future__ import annotations

from dataclasses import dataclass

EXTERNAL_PATIENCE = 5.0
"""Seconds of real time to wait for something outside our control, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is the same for all executions of a test.

    Parameters:
        leak_steps: steps that tasks may still do after the test has ended.
        epoch: the virtual ``time.time()`` at the beginning, in seconds.
        uptime: the virtual ``time.monotonic()``, likewise.
        external_patience: seconds of real time to wait for something outside our
            control before an execution is given up.
        real_entropy: what the system gives at random is not the same in each execution.
        late_pauses: ``asyncio.sleep(0)`` may take more than one turn of its event loop.
        is_live: the execution is the real one, which lasts as long as it takes: whoever waits for
            something outside our control waits as long as it would natively.
        is_service: moreover it is one that others depend on, and that is not looked at most of the
            time: time is the real one, and no failure ends it.
        cancel: which tasks of event loops may be cancelled while they wait, see
            :mod:`.loops.cancelling`.
        gc: a garbage collection may come while a task holds a lock, by choice.
    """

    leak_steps: int = 20_000
    epoch: float = 1_700_000_000.0
    uptime: float = 0.0
    external_patience: float = EXTERNAL_PATIENCE
    real_entropy: bool = False
    late_pauses: bool = True
    is_live: bool = False
    is_service: bool = False
    cancel: tuple[str, ...] = ()
    gc: bool = False
