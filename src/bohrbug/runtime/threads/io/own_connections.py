"""Tasks that wait for each other over connections of this process: nobody outside can wake them.

The kernel may need a moment to bring what was sent, see :mod:`.in_flight`.  Once nothing is on its
way, a connection of which this process has both ends is like a pipe: only a task makes it ready.
So is a port that the kernel has chosen for a task: nobody else has been told its number.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Collection
from enum import Enum
from typing import Any

from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.channels import Reach, channels_of, names_of, reach_of
from bohrbug.runtime.threads.io.in_flight import connections
from bohrbug.runtime.threads.outside import NobodyOutside, threads_outside

_real_fstat = os.fstat


_LOOPBACK = ("127.0.0.1", "::1")


def nobody_outside(execution: Execution) -> bool:
    """Whether all that tasks wait for outside their own control can only come from a task.

    Parameters:
        execution: no task of which can go on.
    """
    outside = execution.outside
    if outside.has_children or outside.in_child or threads_outside(execution):
        return False
    ends: set[tuple[Any, Any]] | None = None
    found: set[_End] = set()
    for task in execution.alive:
        if not task.external:
            continue
        waits_on = outside.waiting_on.get(task)
        if waits_on is None:
            return False
        if ends is None:
            ends = {(own, peer) for _, own, peer in connections()}
        found.update(_end_at(execution, descriptor, ends) for descriptor in waits_on())
    # Who only listens is a server, and that nobody comes is no mistake of its own; but if tasks
    # are its clients, nobody else is.
    is_among_us = _End.IN_A_CONNECTION in found or _End.OF_A_SERVER_IN_USE in found
    return _End.ELSEWHERE not in found and is_among_us


class _End(Enum):
    """Where the other end of a descriptor is."""

    IN_A_CONNECTION = "of a connection, in this process"
    OF_A_TASK = "in this process"
    OF_A_SERVER_IN_USE = "of whoever connects to a port to which a task has connected"
    ELSEWHERE = "perhaps elsewhere"


def _end_at(execution: Execution, descriptor: int, ends: Collection[tuple[Any, Any]]) -> _End:
    try:
        is_socket = stat.S_ISSOCK(_real_fstat(descriptor).st_mode)
    except OSError:
        # Closed by another task; its own look tells the one that waits.
        return _End.ELSEWHERE
    if is_socket:
        family, own, peer = names_of(descriptor)
        if family in (socket.AF_INET, socket.AF_INET6) and own:
            if peer:
                return _End.IN_A_CONNECTION if (peer[:2], own[:2]) in ends else _End.ELSEWHERE
            channels = channels_of(execution)
            if own[0] not in _LOOPBACK or own[1] not in channels.chosen_by_kernel:
                return _End.ELSEWHERE
            # A run that goes on for as long as its program may be told of by the program.
            is_in_use = own[1] in channels.reached and not execution.settings.is_live
            return _End.OF_A_SERVER_IN_USE if is_in_use else _End.OF_A_TASK
    is_local = reach_of(execution, descriptor) is Reach.LOCAL
    return _End.OF_A_TASK if is_local else _End.ELSEWHERE


NobodyOutside.holds = staticmethod(nobody_outside)
