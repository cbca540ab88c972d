"""A native program under gdb, stopped where its plan takes control from a task."""

from __future__ import annotations

import platform
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.standstill import NUDGE
from bohrbug.runtime.posix.tools import said_by

_ARGUMENTS = {"x86_64": ("$edi", "$rsi"), "aarch64": ("$w0", "$x1")}
"""The registers of the first two arguments of a function, as many bits as they have."""

_FRAMES = 24
"""Frames of the shim, at most, that lie between its breakpoint and the program."""

_LONGEST_INSTRUCTION = 15
"""Bytes, on x86-64."""

_OLDEST = 12
"""The first version of gdb that knows the commands used here."""

_BY_PERF = 6
"""What a SIGTRAP says of its cause that a debug register has sent: TRAP_PERF of the kernel."""

_VERSION = re.compile(r"\b(\d+)\.\d+")

_FILTER = """\
import gdb


class BohrbugFilter:
    name = "bohrbug"
    priority = 100
    enabled = True

    def filter(self, frames):
        is_ours = False
        for frame in frames:
            inferior = frame.inferior_frame()
            # What called a handler of ours is no part of the program either.
            if is_ours and inferior.type() == gdb.SIGTRAMP_FRAME:
                continue
            is_ours = (gdb.solib_name(inferior.pc()) or "").startswith({ours!r})
            if not is_ours:
                yield frame


gdb.frame_filters["bohrbug"] = BohrbugFilter()
"""
"""Takes the frames of the shim and of the hooks out of stacks, in a gdb that has Python."""


def gdb_path() -> str:
    """The path of gdb.

    Raises:
        UnsupportedError: there is none, it is too old, or this is another kind of machine.
    """
    path = shutil.which("gdb")
    if path is None:
        raise UnsupportedError("--gdb needs gdb: install it (Debian: apt install gdb)")
    if platform.machine() not in _ARGUMENTS:
        raise UnsupportedError(f"--gdb is not available on {platform.machine()}")
    said = said_by([path, "--version"]) or "a program that does not tell its version"
    version = _VERSION.search(said.partition("\n")[0])
    if version is None or int(version[1]) < _OLDEST:
        raise UnsupportedError(f"--gdb needs gdb {_OLDEST} or newer; {path} is {said[:60].strip()}")
    return path


def gdb_script(
    environment: Mapping[str, str],
    stops: Sequence[tuple[int, str]],
    end: str,
    watches: bool = False,
) -> str:
    """Commands for gdb that start the program and stop it where something is to be seen.

    Parameters:
        environment: variables of the program.
        stops: numbers of steps before which control is taken from a task, each with what to say.
        end: what to say where the execution is ended from within, as in a deadlock.
        watches: debug registers tell of accesses to memory, by a signal that gdb takes for its own.
    """
    step, site = _ARGUMENTS[platform.machine()]
    far = f"$bohrbug_left < 0 || $bohrbug_left > {_LONGEST_INSTRUCTION}"
    lines = [
        "set confirm off",
        "set breakpoint pending on",
        # The shell would be the first process of the execution.
        "set startup-with-shell off",
        "set print thread-events off",
        "set print inferior-events off",
        # Child processes belong to the execution.
        "set detach-on-fork off",
        "set schedule-multiple on",
        "set follow-fork-mode parent",
        "set disable-randomization on",
        f"handle SIG{NUDGE} nostop noprint pass",
        "unset environment LINES",
        "unset environment COLUMNS",
        *(f"set environment {name} {value}" for name, value in environment.items()),
        # The frame that goes on from where the program called, or stands just before.
        "define bohrbug-program-frame",
        "  set $bohrbug_frames = 0",
        "  set $bohrbug_left = $bohrbug_site - (long)$pc",
        f"  while $bohrbug_frames < {_FRAMES} && ({far})",
        "    up-silently",
        "    set $bohrbug_frames = $bohrbug_frames + 1",
        "    set $bohrbug_left = $bohrbug_site - (long)$pc",
        "  end",
        "  frame",
        "end",
        # That the shim is not loaded yet is no news.
        "set logging file /dev/null",
        "set logging redirect on",
        "set logging enabled on",
    ]
    for number, words in stops:
        lines += [
            f"break bohrbug_hands_over if {step} == {number}",
            "commands",
            "silent",
            f"set $bohrbug_site = {site}",
            *_echo(words),
            # The end of a thread has no place in the program.
            "if $bohrbug_site",
            "bohrbug-program-frame",
            "end",
            "end",
        ]
    lines += ["break bohrbug_ends", "commands", "silent", *_echo(end), "end"]
    if watches:
        # gdb sends its own, of breakpoints, with another code, and keeps all to itself.
        lines += ["catch signal SIGTRAP", f"condition $bpnum $_siginfo.si_code == {_BY_PERF}"]
        lines += ["commands", "silent", "signal SIGTRAP", "end"]
    lines += ["set logging enabled off", "run"]
    return "\n".join(lines) + "\n"


def _echo(words: str) -> Iterable[str]:
    escaped = words.replace("\\", "\\\\").replace("\n", "\\n")
    # Blanks at the beginning are gdb's own unless they are escaped.
    return [f"echo \\n{escaped}\\n"]


def run_gdb(
    command: Sequence[str],
    environment: Mapping[str, str],
    shim: Path,
    stops: Sequence[tuple[int, str]],
    end: str,
    watches: bool = False,
) -> None:
    """Start gdb with a program; returns when its user has left it.

    Parameters:
        command: the program, with its path, and its arguments.
        shim: the library that it preloads.
        environment, stops, end, watches: see :func:`gdb_script`.

    Raises:
        UnsupportedError: there is no gdb.
    """
    gdb = gdb_path()
    with tempfile.TemporaryDirectory(prefix="bohrbug-") as folder:
        frames, commands = Path(folder) / "frames.py", Path(folder) / "commands"
        # The loader looks for the hooks first in the first folder.
        hooks = environment.get("LD_LIBRARY_PATH", "").partition(":")[0]
        ours = (str(shim), hooks) if hooks else (str(shim),)
        frames.write_text(_FILTER.format(ours=ours), encoding="utf-8")
        commands.write_text(gdb_script(environment, stops, end, watches), encoding="utf-8")
        # Ctrl-C is for gdb, which stops the program then.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            scripts = ["-x", str(frames), "-x", str(commands)]
            # Without a limit: it is the user who ends it.
            subprocess.run([gdb, "-q", *scripts, "--args", *command], check=False)
        finally:
            signal.signal(signal.SIGINT, before)
