"""A task ends its process: that would be this tool's, with nothing said."""

from __future__ import annotations

# Functions in C: those of the module ``signal`` are code that is looked into.
import _signal  # type: ignore[import-not-found]
import os
import signal
import sys
from collections.abc import Callable, Collection
from stat import S_ISREG, S_IXGRP, S_IXOTH, S_IXUSR
from typing import Any, NoReturn

from bohrbug.model.operation import END, ROOT
from bohrbug.model.outcome import PASSED, Outcome, OutcomeKind
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.stacks import frames_from, is_own
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import TaskKilled
from bohrbug.runtime.threads.unraisable import fall_silent

patches = LatePatches()


class Exiting:
    """What it means that a program ends its process.

    Attributes:
        may_succeed: whether it has passed if the status is 0, as a script has. A test would end
            whatever runs it.
    """

    may_succeed = False


_EXECUTABLE = S_IXUSR | S_IXGRP | S_IXOTH

_real_exit = os._exit
_real_stat = os.stat

_NAMES = {int(each): each.name for each in signal.Signals}
_ENDING_NOTHING = frozenset(
    number
    for number, name in _NAMES.items()
    if name in ("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH")
    or name in ("SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU")
)
"""Signals that do nothing, or only stop the process, where the program has no handler."""
_NEVER_BLOCKED = getattr(signal, "SIGKILL", None)
_real_abort = os.abort


@patches.function(os, "_exit")
def end_process(status: int) -> NoReturn:
    """Stands for ``os._exit``: the execution ends at once, and no other task goes on."""
    if _goes_on() or not isinstance(status, int):
        # Another type is refused.
        _real_exit(status)
    if status or not Exiting.may_succeed:
        _end(OutcomeKind.EXCEPTION, "os._exit", f"os._exit({status}) ends the process")
    _end(OutcomeKind.PASSED, "os._exit", "")


@patches.function(os, "abort")
def abort() -> NoReturn:
    """Stands for ``os.abort``."""
    if _goes_on():
        _real_abort()
    _end(OutcomeKind.EXCEPTION, "os.abort", "os.abort() ends the process")


def _replacing(name: str) -> Callable[..., NoReturn]:
    real = getattr(os, name)

    def replace_process(path: Any, *arguments: Any) -> NoReturn:
        """Let another program take the place of this one: what that does can't be told."""
        if _goes_on() or not _can_be_executed(path):
            # It is refused: whoever looks for a program in several folders goes on.
            real(path, *arguments)
        words = f"os.{name}() puts another program in the process's place"
        _end(OutcomeKind.HANG, f"os.{name}", words)

    return replace_process


for _name in ("execv", "execve"):
    patches.add(os, _name, _replacing(_name))


def end_by_signal(number: int) -> None:
    """Let a signal that a task sends to its own process end the execution, if it would end that.

    Parameters:
        number: of the signal; one that is none is for the system to refuse.
    """
    if _goes_on() or number in _ENDING_NOTHING or number not in _signal.valid_signals():
        return
    if _signal.getsignal(number) != _signal.SIG_DFL:
        return
    if number != _NEVER_BLOCKED and number in _mask():
        return
    name = _NAMES.get(number, str(number))
    _end(OutcomeKind.EXCEPTION, name, f"the signal {name} ends the process")


def _mask() -> Collection[int]:
    """The signals that are blocked."""
    if hasattr(_signal, "pthread_sigmask"):
        blocked: set[int] = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
        return blocked
    return ()


def _can_be_executed(path: Any) -> bool:
    """Whether there is a program; what the kernel thinks of its format is not found out."""
    try:
        mode = _real_stat(path).st_mode
    except (OSError, TypeError, ValueError):
        return False
    return S_ISREG(mode) and bool(mode & _EXECUTABLE)


def _goes_on() -> bool:
    """Whether it is a process of its own that ends, or one of which every end is to be seen."""
    execution = controlled()
    return execution is None or execution.settings.is_service


def _end(kind: OutcomeKind, function: str, words: str) -> NoReturn:
    """The running task ends the process.

    Parameters:
        kind: of the outcome.
        function: by which it does.
        words: what that means.
    """
    execution = controlled()
    assert execution is not None
    frame = sys._getframe(2)
    while is_own(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    state = execution.resources.state_named(ROOT, "thread 0", "Thread")
    execution.perform(END, state, place_of(frame))
    outcome = PASSED
    if kind is not OutcomeKind.PASSED:
        outcome = Outcome(
            kind,
            words,
            task=execution.current.id,
            exception=function,
            stack=frames_from(frame),
        )
    # What is left at once, such as coroutines, is no fault of the program.
    fall_silent()
    execution.ending.abort(outcome)
    raise TaskKilled
