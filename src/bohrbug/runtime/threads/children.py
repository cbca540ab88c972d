"""Children of a test, which get the processor until each of them waits or has ended.

A child runs natively.  Whether it has written its answer when a task looks would depend on the load
of the machine, and so would the schedules that there are.  So before anybody looks, children that
compute are given the time for it, as if they were fast: what a task could see before is what it
sees if its look comes before what the child waits for.  Only the kernel knows whether a process
waits, and only Linux tells (``/proc``, see proc(5)).
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from bohrbug.runtime.threads import forks
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.imports import loading
from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.outside import ChildrenWait

# Bound here: what the program sees of these is under control.
_real_open, _real_read, _real_close = os.open, os.read, os.close
_real_listdir, _real_getpid = os.listdir, os.getpid
_real_monotonic = time.monotonic
_real_sleep = time.sleep

PATIENCE = 1.0
"""Seconds for which all looks of an execution wait for one child that computes."""

PAUSE = 0.0003
"""Seconds between two looks at a child."""

_TELLS = os.path.exists("/proc/self/stat")
_WAITING = frozenset("STtI")
_ENDED = frozenset("ZXx")

_left: dict[int, float] = {}
"""By the ids of children that have not ended: for how many seconds they are still waited for."""
_started: dict[int, bool] = {}
"""All children, by their ids."""
_in_import: dict[int, Execution] = {}
"""Those that a module has started while it was loaded, and in which execution."""
forgotten_afterwards(_left, _started, _in_import)


FAST = "child processes as faster than all tasks"
"""What is assumed where a task has started a child."""

IN_ORDER = "the order in which child processes go on as it was"
"""What is assumed where there were several."""


def child_started(execution: Execution, pid: int) -> None:
    """A task has started a child."""
    if pid in _started or pid in _in_import:
        # It goes through several functions.
        return
    if _TELLS and loading.is_under_way:
        _in_import[pid] = execution
    else:
        _assume(execution, pid)
    # What runs live takes its time anyway, and others wait for it.
    if _TELLS and not execution.settings.is_live:
        _left[pid] = PATIENCE


def _assume(execution: Execution, pid: int) -> None:
    execution.trace.uncontrolled.assume(IN_ORDER if _started else FAST)
    _started[pid] = True


def _import_is_over() -> None:
    """Nothing is assumed of children that have ended in the import: no task runs meanwhile.

    As those of ``ctypes.util.find_library``, which asks programs, and waits for their ends.
    """
    for pid, execution in _in_import.items():
        if _state_of(f"/proc/{pid}/stat")[0] not in _ENDED:
            _assume(execution, pid)
    _in_import.clear()


loading.at_end.append(_import_is_over)


def settle_children() -> None:
    """Let the children come to where they wait, or to their end."""
    if _left:
        _settle()


def _wait_for_ever() -> bool:
    """Whether no child goes on any more, and one at least waits for ever."""
    found = False
    for pid in (*_started, *_in_import):
        if forks.waits_for_ever(pid):
            found = True
        elif not _TELLS or _state_of(f"/proc/{pid}/stat")[0] not in _ENDED:
            return False
    return found


ChildrenWait.for_ever = staticmethod(_wait_for_ever)


def end_those_left() -> None:
    """An execution was not finished, as it has failed: its processes end as its tasks do.

    Those of ``multiprocessing`` may wait for tasks that are no more, and the interpreter waits for
    them at its exit.
    """
    module: Any = sys.modules.get("multiprocessing.process")
    ours = _started.keys() | _in_import.keys()
    processes = [] if module is None or not ours else [*module._children]
    forks.end_those_that_wait({process.ident for process in processes})
    for process in processes:
        is_ours = process._parent_pid == _real_getpid() and process.ident in ours
        if is_ours and module.BaseProcess.is_alive(process):
            module.BaseProcess.kill(process)


def _settle() -> None:
    # Twice in a row: one may have woken another that was looked at before.
    quiet = 0
    while quiet < 2:
        began = _real_monotonic()
        computing = [pid for pid in [*_left] if _computes(pid)]
        if not _left:
            return
        if not computing:
            quiet += 1
            continue
        quiet = 0
        _real_sleep(PAUSE)
        for pid in computing:
            _left[pid] -= _real_monotonic() - began
            if _left[pid] <= 0:
                del _left[pid]


def _computes(pid: int) -> bool:
    """Whether a child, or a process that it has started, goes on by itself."""
    folder = f"/proc/{pid}"
    state, threads = _state_of(f"{folder}/stat")
    if state in _ENDED:
        _left.pop(pid, None)
        return False
    if state not in _WAITING:
        return True
    try:
        names = _real_listdir(f"{folder}/task") if threads > 1 else [str(pid)]
    except OSError:
        # It has ended meanwhile.
        return True
    if threads > 1 and any(
        _state_of(f"{folder}/task/{name}/stat")[0] not in _WAITING | _ENDED for name in names
    ):
        return True
    return any(
        _computes(int(each))
        for name in names
        for each in _text_of(f"{folder}/task/{name}/children").split()
    )


def _state_of(file: str) -> tuple[str, int]:
    """The state of a process or of one of its threads, and how many threads it has."""
    text = _text_of(file)
    if not text:
        return "X", 0
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[17])


def _text_of(file: str) -> str:
    """What a file says; nothing if it is not there (the kernel need not list children)."""
    try:
        descriptor = _real_open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return _real_read(descriptor, 65_536).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        _real_close(descriptor)
