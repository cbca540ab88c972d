"""Exploring, replaying and debugging native programs, from the command line.

Loaded only where there is one, as it takes a tenth of the time to start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from bohrbug.cli.exploring import OutputOptions, tell, usage_error, write_reproductions
from bohrbug.cli.html import ResultPage
from bohrbug.debugger.choice import DebuggerChoice
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.replaying import Replay
from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.result import Result
from bohrbug.exploration.saving import ResumeError
from bohrbug.exploration.store import ExplorationStore, Subject
from bohrbug.platforms.posix.command import ALLOWABLE_MISUSES, KIND, Command, command_from
from bohrbug.platforms.posix.exploring import native_explorer, replay_native, runtime_of
from bohrbug.platforms.posix.outcomes import NativeExplainer
from bohrbug.report.headline import failure_headline
from bohrbug.report.preempted import preemptions_in_words
from bohrbug.report.progress import ProgressLine
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.ended import Printed
from bohrbug.runtime.posix.gdb import gdb_path, run_gdb


def printed_text(printed: Printed | None) -> str:
    """What an execution printed, as one text."""
    if printed is None:
        return ""
    return printed.text


def show_printed(printed: Printed) -> None:
    """Pass on what an execution printed."""
    sys.stdout.buffer.write(printed.stdout)
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(printed.stderr)
    sys.stderr.buffer.flush()


def enter_folder_of(target: Mapping[str, Any]) -> None:
    """Go to the folder in which a native program was started, if it is still there."""
    folder = Path(target["directory"])
    if folder.is_dir():
        os.chdir(folder)


def explore_kept(subject: Subject, store: ExplorationStore, showing: OutputOptions) -> NoReturn:
    """Go on with an exploration of a native program that was kept in a file."""
    enter_folder_of(subject.target)
    explore_native(command_from(subject.target), subject.options, showing, store)


def explore_native(
    test: Command, options: ExploreOptions, showing: OutputOptions, store: ExplorationStore
) -> NoReturn:
    """Explore a native program, report and exit."""
    show = show_printed if showing.verbose and not showing.as_json else None
    silent = showing.quiet or showing.as_json
    page = ResultPage(showing.html)
    try:
        with ProgressLine(Console(file=sys.stderr), silent=silent) as line:
            progress = page.following(line.update)
            explorer, runtime = native_explorer(test, options, progress, show, store)
            try:
                result = explorer.explore()
            except KeyboardInterrupt:
                result = explorer.result
                result.interrupted = True
    except (UnsupportedError, ResumeError) as error:
        usage_error(str(error))
    # A replay is to know it before it has seen an execution that passes.
    explainer = runtime.explainer
    if isinstance(explainer, NativeExplainer) and explainer.expectation.was_refuted:
        test = replace(test, exit_code=0)
    write_reproductions(explorer, test.target(), store)
    if result.executions > 1:
        # The first one is started anew with kernel threads always.
        result.notices.append(runtime.engine_note)
    if runtime.misses_accesses and result.is_concurrent and not result.failures:
        result.notices.append(
            "data races and atomics were not seen; "
            "compile it with -fsanitize=thread to explore them"
        )
    if wrong := _allowable_misuses(result):
        result.notices.append(
            f"--allow-misuse {','.join(wrong)} also explores what comes after the misuse"
        )
    newer = [Path(file).name for file in runtime.newer_sources]
    if newer:
        result.notices.append(
            f"changed after the program was built, so its lines may not fit: {', '.join(newer)}"
        )
    printed = printed_text(runtime.printed_by_failure)
    tell(result, printed, showing, store, lambda: page.write(result, printed))


def _allowable_misuses(result: Result) -> list[str]:
    """The kinds of misuse that were failures, and could be allowed."""
    kinds = dict.fromkeys(failure.outcome.exception for failure in result.failures)
    return [kind for kind in ALLOWABLE_MISUSES if kind in kinds]


def replay_command_of(
    reproduction: Reproduction, debugger: DebuggerChoice, times: int, verbose: bool
) -> tuple[Replay, str]:
    """Replay a native program; what it gave, and what the failing execution printed."""
    if debugger:
        option = "--pdb" if debugger.pdb else "--debugpy"
        usage_error(
            f"{option} is for Python tests, but this file is of a native program: use --gdb"
        )
    enter_folder_of(reproduction.target)
    try:
        replayed, runtime = replay_native(reproduction, times, show_printed if verbose else None)
    except UnsupportedError as error:
        usage_error(str(error))
    return replayed, printed_text(runtime.printed_by_failure)


def debug_native(reproduction: Reproduction) -> None:
    """Replay a native program under gdb, which is left to the user."""
    if reproduction.target.get("kind") != KIND:
        usage_error("--gdb is for native programs; for Python tests use --pdb")
    enter_folder_of(reproduction.target)
    failure = reproduction.failure
    test = command_from(reproduction.target)
    watches = bool(test.watch or test.sample)
    runtime = runtime_of(test, reproduction.options)
    runtime.want_points(reproduction.points)
    end = f"The execution is ended here: {failure_headline(failure.outcome)}"

    def start(environment: Mapping[str, str]) -> None:
        stops = preemptions_in_words(failure.trace)
        run_gdb(runtime.command, environment, runtime.shim, stops, end, watches)

    try:
        gdb_path()
        runtime.lend(failure.plan.under(reproduction.conditions), start)
    except UnsupportedError as error:
        usage_error(str(error))
