"""What a run with real threads can be told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NativeThreadsOptions:
    """How real threads are delayed.

    Parameters:
        budget: the percentage of the run's time that windows may take.
        seed: of what is drawn.
        seconds: after so many seconds there are no more windows; ``None``: no limit.
        gil: delay threads only where a build with the GIL can switch them.
        hang_seconds: threads that wait for locks for so long are a deadlock; 0: they never are.
        scope: changes of the modules whose functions have cue points, see
            :class:`~bohrbug.runtime.threads.rewrite.scope.Scope`.

    Raises:
        ValueError: a value makes no sense.
    """

    budget: float = 20.0
    seed: int = 0
    seconds: float | None = None
    gil: bool = False
    hang_seconds: float = 10.0
    scope: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.budget <= 99:
            raise ValueError(f"budget must be from 1 to 99 (per cent), not {self.budget:g}")
        if self.seconds is not None and self.seconds <= 0:
            raise ValueError(f"seconds must be more than 0, not {self.seconds:g}")
