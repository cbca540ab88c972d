"""The command ``live --native-threads`` for native programs; loaded only where there is one."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from bohrbug.cli.exit_codes import FOUND, INCONCLUSIVE
from bohrbug.cli.exploring import leave, usage_error
from bohrbug.cli.native_threads_output import say, sum_up
from bohrbug.live.native_threads.harm import Harm
from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.live.native_threads.posix.session import NativeThreadsRun
from bohrbug.live.native_threads.report import harm_lines
from bohrbug.platforms.posix.command import Command
from bohrbug.runtime.posix.build import UnsupportedError


def live_native_delayed(command: Command, options: NativeThreadsOptions, quiet: bool) -> NoReturn:
    """Run a native program once with its real threads, report and exit.

    Parameters:
        command: the program, and the exit code that it should have.
        options: of the run.
        quiet: say nothing if nothing was found.
    """

    def on_harm(harm: Harm) -> None:
        say(harm_lines(harm, options, is_python=False))

    try:
        result, code = NativeThreadsRun(command, options, on_harm).run()
    except UnsupportedError as error:
        usage_error(str(error))
    if not quiet or result.harm or result.counts.races:
        sum_up(result, options)
    if result.harm:
        leave(FOUND)
    if result.interrupted and code == 128 + signal.SIGINT:
        leave(INCONCLUSIVE)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
