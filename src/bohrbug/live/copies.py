"""Copies of this process: made, held back from the outside, waited for and ended.

A copy is a bare ``clone`` of the process: nothing of Python's own is called before or after it, as
``os.fork`` would do, so that the copy goes on exactly where the program is.  Its end sends no
signal and no other ``wait`` finds it, so that the program does not notice it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import select
import signal
import sys
import time
import types
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NoReturn

from bohrbug.live.system_calls import MACHINES, filter_of, packed

# As they are, whatever stands for them while a program is under control.
_close, _dup2, _open, _pipe, _read, _write = (
    os.close,
    os.dup2,
    os.open,
    os.pipe,
    os.read,
    os.write,
)
_getpid, _kill, _waitpid, _exit = os.getpid, os.kill, os.waitpid, os._exit
_listdir, _set_blocking = os.listdir, os.set_blocking
_poll = getattr(select, "poll", None)
_signal = signal.signal
_set_wakeup_fd = signal.set_wakeup_fd
_monotonic = time.monotonic

_ALL = 0x40000000
"""``__WALL``: wait for what sends no signal at its end, too."""

_PDEATHSIG, _NO_NEW_PRIVILEGES, _SECCOMP, _BY_FILTER = 1, 38, 22, 2

MARK = b"\xff"
"""What follows in a pipe is a report; before it there may be the numbers of signals."""

_BITS_THAT_TAKE_AWAY = 0x80000000 | 0x40000000
"""``EPOLLET`` and ``EPOLLONESHOT``."""


class CannotHoldBack(RuntimeError):
    """Fragments can't be kept from being seen outside here; the message says why."""


_machine = MACHINES.get(platform.machine()) if sys.platform == "linux" else None
_library = ctypes.PyDLL(None, use_errno=True) if _machine is not None else None


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def clone() -> int:
    """Copy this process; the id of the copy, or 0 in the copy.

    Raises:
        OSError: there can be no more processes, or no more memory.
    """
    assert _machine is not None
    assert _library is not None
    process: int = _library.syscall(_machine.clone, 0, 0, 0, 0, 0)
    if process < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return process


def hold_back(report: int) -> None:
    """In a copy: let nothing be seen outside from here on, for good.

    What it prints goes nowhere.  It dies with the process that made it.

    Parameters:
        report: the descriptor that it reports to, which does not block.

    Raises:
        CannotHoldBack: the kernel does not let us.
    """
    assert _machine is not None
    assert _library is not None
    _library.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    takes_away = _epoll_takes_away()
    nowhere = _open(os.devnull, os.O_WRONLY)
    printed = _printed_to()
    for descriptor in printed:
        _dup2(nowhere, descriptor)
    _set_wakeup_fd(report, warn_on_full_buffer=False)
    text = packed(filter_of(_machine, _getpid(), {*printed, report}, not takes_away))
    memory = ctypes.create_string_buffer(text, len(text))
    program = _Program(len(text) // 8, ctypes.addressof(memory))
    if (
        _library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        or _library.prctl(_SECCOMP, _BY_FILTER, ctypes.byref(program)) != 0
    ):
        raise CannotHoldBack(os.strerror(ctypes.get_errno()))


def _printed_to() -> set[int]:
    """The descriptors of the standard output and error output, as they are now."""
    found = {1, 2}
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            assert stream is not None
            found.add(stream.fileno())
    return found


_EVENTS = re.compile(r"events:\s*([0-9a-f]+)")


def _epoll_takes_away() -> bool:
    """Whether an epoll object of this process tells of some events only once."""
    for name in _listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if "eventpoll" not in os.readlink(f"/proc/self/fd/{name}"):
                continue
            descriptor = _open(f"/proc/self/fdinfo/{name}", os.O_RDONLY)
            try:
                text = _read(descriptor, 1 << 16).decode()
            finally:
                _close(descriptor)
            if any(int(events, 16) & _BITS_THAT_TAKE_AWAY for events in _EVENTS.findall(text)):
                return True
    return False


def close(descriptor: int) -> None:
    """Close a descriptor of another copy, which this one has got, too."""
    _close(descriptor)


_namespaces: list[tuple[dict[str, object], str]] = []
_modules_known = 0


def know_process() -> None:
    """Find out, before copies are made, who could ask which process it is."""
    global _modules_known
    if len(sys.modules) == _modules_known:
        return
    _modules_known = len(sys.modules)
    _namespaces[:] = [
        (namespace, name)
        for module in list(sys.modules.values())
        if isinstance(module, types.ModuleType) and module.__dict__.get("__name__") != __name__
        for namespace in [vars(module)]
        for name, value in list(namespace.items())
        if value is _getpid
    ]


def pretend(process: int) -> None:
    """In a copy: let the program find that it is the process that was copied."""
    for namespace, name in _namespaces:
        namespace[name] = lambda: process


def give_up() -> NoReturn:
    """In a copy: end it without a word, as something is wrong with it."""
    _exit(1)


def tell(descriptor: int, data: bytes) -> NoReturn:
    """In a copy: write its report, and end it without anything that Python does at an exit."""
    assert _poll is not None
    _set_wakeup_fd(-1)
    left = memoryview(MARK + data)
    poll = _poll()
    poll.register(descriptor, select.POLLOUT)
    while left:
        try:
            left = left[_write(descriptor, left) :]
        except BlockingIOError:
            poll.poll()
        except OSError:
            break
    _exit(0)


@dataclass(slots=True)
class Copy:
    """A copy that runs.

    Parameters:
        process: its id.
        pipe: where it reports.
    """

    process: int
    pipe: int
    _data: bytearray = field(default_factory=bytearray)
    _status: int | None = None

    @property
    def report(self) -> bytes | None:
        """What it has reported; ``None`` if it ended without a word."""
        _, mark, data = bytes(self._data).partition(MARK)
        return data if mark else None

    @property
    def was_stopped(self) -> bool:
        """It was about to do what would have been seen outside, and was not let."""
        before = bytes(self._data).partition(MARK)[0]
        return signal.SIGSYS in before

    @property
    def died_of(self) -> int:
        """The number of the signal that it died of; 0 if it has exited."""
        return os.WTERMSIG(self._status) if self._status and os.WIFSIGNALED(self._status) else 0

    def read(self) -> bool:
        """Take in what there is to read; false at its end."""
        data = _read(self.pipe, 1 << 16)
        self._data += data
        return bool(data)

    def end(self, kill: bool) -> None:
        """Wait for its end.

        Parameters:
            kill: it is still at work.
        """
        if kill:
            with contextlib.suppress(ProcessLookupError):
                _kill(self.process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            self._status = _waitpid(self.process, _ALL)[1]
        _close(self.pipe)


def start() -> tuple[Copy | None, int]:
    """Copy this process.

    Returns:
        In this process the copy, and -1; in the copy ``None``, and where it reports.

    Raises:
        OSError: it can't be copied now.
    """
    reading, writing = _pipe()
    try:
        process = clone()
    except OSError:
        _close(reading)
        _close(writing)
        raise
    if process:
        _close(writing)
        return Copy(process, reading), -1
    _close(reading)
    _set_blocking(writing, False)
    return None, writing


def wait_for(copies: Collection[Copy], seconds: float) -> set[int]:
    """Wait until all copies have ended; those that take longer are ended.

    Parameters:
        copies: that run.
        seconds: of real time, at most.

    Returns:
        The ids of those that took too long.
    """
    assert _poll is not None
    poll = _poll()
    left = {copy.pipe: copy for copy in copies}
    for pipe in left:
        poll.register(pipe, select.POLLIN)
    deadline = _monotonic() + seconds
    late: set[int] = set()
    try:
        while left:
            rest = deadline - _monotonic()
            if rest <= 0:
                late = {copy.process for copy in left.values()}
                break
            for pipe, _ in poll.poll(rest * 1_000):
                copy = left[pipe]
                if not copy.read():
                    poll.unregister(pipe)
                    del left[pipe]
    finally:
        for copy in copies:
            copy.end(kill=copy.pipe in left)
    return late


def check() -> None:
    """Find out whether fragments can be held back here, by trying it.

    Raises:
        CannotHoldBack: they can't, and why.
    """
    if sys.platform != "linux":
        raise CannotHoldBack(f"live rounds need Linux, this is {sys.platform}")
    if _machine is None:
        raise CannotHoldBack(
            f"live rounds need a processor of one of the kinds {', '.join(MACHINES)}, "
            f"this is {platform.machine()}"
        )
    copy, descriptor = start()
    if copy is None:
        _try_to_be_seen(descriptor)
    wait_for([copy], 10.0)
    if copy.report is not None:
        raise CannotHoldBack(f"the kernel offers no filter of system calls: {copy.report.decode()}")
    if not copy.was_stopped:
        raise CannotHoldBack("the kernel does not filter system calls as it should")


def _try_to_be_seen(descriptor: int) -> NoReturn:
    _signal(signal.SIGSYS, lambda *_: _exit(0))
    try:
        hold_back(descriptor)
    except CannotHoldBack as error:
        tell(descriptor, str(error).encode())
    os.nice(0)
    _exit(1)
