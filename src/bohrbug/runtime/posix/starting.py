"""Starting a program under control."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence

from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.c_library import c_library
from bohrbug.runtime.posix.ended import Printed
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.standard_streams import Capture, Input

_ADDR_NO_RANDOMIZE = 0x0040000


def supported_here() -> bool:
    """Whether this system has what starting programs under control needs."""
    return sys.platform.startswith("linux") and hasattr(os, "pidfd_open")


@contextlib.contextmanager
def addresses_not_random() -> Iterator[None]:
    """Programs started in here find their memory at the same addresses each time."""
    before = c_library().personality(0xFFFFFFFF)
    if before >= 0:
        c_library().personality(before | _ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        if before >= 0:
            c_library().personality(before)


def environment_for(segment: Segment, preload: str, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of the tested program.

    Parameters:
        segment: what it takes part in.
        preload: what it preloads, with colons in between.
        base: the environment that it would have had.
    """
    found = preloading(preload, base)
    found["BOHRBUG_SEGMENT"] = segment.path
    return found


def preloading(preload: str, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program that preloads libraries of ours.

    Parameters:
        preload: these, with colons in between.
        base: the environment that it would have had.
    """
    found = dict(base)
    others = found.get("LD_PRELOAD", "")
    found["LD_PRELOAD"] = f"{preload}:{others}" if others else preload
    # Address sanitizer wants to be the first library, for no reason that concerns us.
    options = found.get("ASAN_OPTIONS", "")
    found["ASAN_OPTIONS"] = f"{options}:verify_asan_link_order=0".lstrip(":")
    return found


def spawned(
    command: Sequence[str],
    environment: Mapping[str, str],
    duplicates: Sequence[tuple[int, int]] = (),
) -> int:
    """Start a program in a session of its own; its process.

    So Ctrl-C comes to it once, from us, and a server that ends by ``kill(0, SIGTERM)`` does not
    end us.

    Parameters:
        command: the program and its arguments.
        environment: all of its environment.
        duplicates: descriptors that it gets, each with its number there.

    Raises:
        UnsupportedError: it can't be started.
    """
    try:
        return os.posix_spawn(
            command[0],
            [*command],
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, old, new) for old, new in duplicates],
            setsid=True,
            setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ],
        )
    except OSError as error:
        raise UnsupportedError(f"{command[0]} can't be started: {error.strerror}") from None


class Starter:
    """Starts one program again and again.

    Parameters:
        command: the program and its arguments.
        environment: without what control needs.
        preload: the libraries to preload, with colons in between.
        input: what every execution reads; closed by whoever made it.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        preload: str,
        input: Input,
    ) -> None:
        self._command = list(command)
        self._environment = dict(environment)
        self._preload = preload
        self._input = input
        self._stdout = Capture("bohrbug-stdout")
        self._stderr = Capture("bohrbug-stderr")
        self.looks_up_early = "LD_BIND_NOW" in environment
        """Whether the program would look up the functions that it calls at once by itself."""

    def close(self) -> None:
        """Give everything back."""
        self._stdout.close()
        self._stderr.close()

    @property
    def input_path(self) -> str:
        """Where the program finds its standard input."""
        return self._input.path

    @property
    def printed(self) -> Printed:
        """What was printed since the last :meth:`clear`."""
        return Printed(self._stdout.read(), self._stderr.read())

    def clear(self) -> None:
        """Forget what was printed."""
        self._stdout.clear()
        self._stderr.clear()

    def start(
        self,
        segment: Segment,
        environment: Mapping[str, str] | None = None,
        descriptors: Sequence[tuple[int, int]] = (),
    ) -> int:
        """Start the program; its process.

        Parameters:
            segment: what it takes part in.
            environment: what it has in its environment besides.
            descriptors: what it has open besides, each with its number there.

        Raises:
            UnsupportedError: it can't be started.
        """
        base = {**self._environment, **environment} if environment else self._environment
        stdin = self._input.open()
        pairs = [(stdin, 0), (self._stdout.writer, 1), (self._stderr.writer, 2), *descriptors]
        try:
            with addresses_not_random():
                return spawned(self._command, environment_for(segment, self._preload, base), pairs)
        finally:
            os.close(stdin)
