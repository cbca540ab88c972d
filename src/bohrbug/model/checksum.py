"""Numbers that choices have, the same in every process: by them executions are sampled."""

from __future__ import annotations

import marshal
import zlib
from typing import Any

from bohrbug.accelerator import native
from bohrbug.model.plan import NonPreemptive, Plan


def _never_quick(*_: object) -> int | None:
    """Stands for the function in C where there is none."""
    return None


_quick: Any = _never_quick if native is None else native.checksum_of


def checksum_of(
    choices: list[str | int] | tuple[str | int, ...], seed: int = 0, other: bytes = b""
) -> int:
    """The number of some choices.

    Parameters:
        choices: of a plan or trace.
        seed: of the plan's policy, at least 0 and below 2**32.
        other: what else tells plans apart.
    """
    if not other:
        number = _quick(choices, seed, False)
        if number is not None:
            return int(number)
    # Version 0 of the format depends on nothing but the values.
    return zlib.crc32(marshal.dumps(choices, 0) + other, seed)


def checksum_of_rows(rows: list[tuple[Any, ...]]) -> int | None:
    """The same of the choices that rows begin with, where it is quick; else ``None``."""
    number = _quick(rows, 0, True)
    return None if number is None else int(number)


def checksum_of_plan(plan: Plan) -> int:
    """The number by which a plan is sampled.

    What a sample of the executions shows must not depend on the order in which they are
    made, nor on how they are divided among processes: so the plan itself decides.
    """
    policy = plan.policy
    seed = getattr(policy, "seed", None)
    if seed is not None:
        return checksum_of(plan.prefix, seed & 0xFFFFFFFF)
    return checksum_of(
        plan.prefix, other=b"" if isinstance(policy, NonPreemptive) else repr(policy).encode()
    )
