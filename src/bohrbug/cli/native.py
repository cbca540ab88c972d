"""Native programs on the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console

from bohrbug.cli.exploring import Showing, tell, usage_error, write_reproductions
from bohrbug.exploration.native import (
    ALLOWABLE_MISUSES,
    FAULTS,
    KIND,
    Command,
    command_from,
    native_explorer,
    replay_native,
    words_of,
)
from bohrbug.exploration.native_outcomes import NativeExplainer
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.replaying import Replay
from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.result import Result
from bohrbug.exploration.saving import ResumeError
from bohrbug.exploration.store import ExplorationStore, Subject
from bohrbug.report.headline import failure_headline
from bohrbug.report.preempted import preemptions_in_words
from bohrbug.report.progress import ProgressLine
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.elf import is_elf
from bohrbug.runtime.posix.ended import Printed
from bohrbug.runtime.posix.engines import AUTO, ENGINES
from bohrbug.runtime.posix.gdb import gdb_path, run_gdb

_FAULT_NAMES = ", ".join(FAULTS)
_MISUSE_NAMES = ", ".join(ALLOWABLE_MISUSES)


class _Accesses(click.IntRange):
    """A number that may be left out: then the program must not be taken for it."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """As ``click.IntRange.convert``."""
        if not str(value).lstrip("-").isdigit():
            self.fail(
                f"{str(value)!r} is no number of accesses. To leave the number out, write "
                f"'--' before the program: --sample-accesses -- {value}",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


def is_native(program: str, arguments: Sequence[str], raw: Sequence[str]) -> bool:
    """Whether a command line means a native program.

    It does after ``--``, unless what follows is a Python script or a function; and without it
    where the file is a program for this machine.

    Parameters:
        program: the first word that is no option.
        arguments: what follows it.
        raw: the command line as it was given.
    """
    if program.endswith(".py"):
        return False
    words = [program, *arguments]
    if list(raw[-len(words) - 1 :]) == ["--", *words]:
        return not _is_function(program)
    return is_elf(Path(program))


def _is_function(program: str) -> bool:
    module, colon, _ = program.partition(":")
    return bool(colon) and "/" not in module and not Path(program).exists()


@dataclass(frozen=True, slots=True)
class NativeFlags:
    """What a command line says that only native programs have.

    Parameters:
        check: a command to run after each execution.
        same_output: the program must print the same each time.
        exit_code: what it should exit with.
        faults: the calls that may fail.
        most_faults: how many of them fail in one execution.
        watch: memory whose accesses the processor tells of.
        sample: at how many instructions that access memory tasks are held in each execution.
        engine: what executes it.
        fibers: one kernel thread may wear all tasks.
        allowed_misuses: the kinds of misuse that are no failure.
    """

    check: str | None
    same_output: bool
    exit_code: int | None
    faults: tuple[str, ...]
    most_faults: int
    watch: tuple[str, ...] = ()
    sample: int = 0
    engine: str = AUTO
    fibers: bool = True
    allowed_misuses: tuple[str, ...] = ()

    @property
    def any_given(self) -> bool:
        """Whether it says anything."""
        return self != NativeFlags(None, False, None, (), 1)

    def refuse(self) -> None:
        """End the command if any was given: the test is no native program."""
        if self.any_given:
            usage_error(
                "--check, --same-output, --exit-code, --fault, --most-faults, --allow-misuse, "
                "--watch, --sample-accesses, --engine and --no-fibers are for native programs"
            )

    def command(self, program: str, arguments: Sequence[str]) -> Command:
        """The test that a command line means."""
        return Command(
            (program, *arguments),
            self.exit_code,
            self.same_output,
            tuple(words_of(self.check)) if self.check else (),
            faults=self.faults,
            most_faults=self.most_faults,
            watch=self.watch,
            sample=self.sample,
            engine=self.engine,
            fibers=self.fibers,
            allowed_misuses=self.allowed_misuses,
        )


def _names(text: str) -> tuple[str, ...]:
    """What an option lists, each name once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def faults_named(text: str | None) -> tuple[str, ...]:
    """The calls that ``--fault`` lists."""
    names = _names(text or "")
    for name in names:
        if name not in FAULTS:
            usage_error(f"--fault: {name} is not one of the calls that can fail: {_FAULT_NAMES}")
    return names


def misuses_named(texts: Sequence[str]) -> tuple[str, ...]:
    """The kinds of misuse that all of ``--allow-misuse`` list."""
    names = _names(",".join(texts))
    for name in names:
        if name not in ALLOWABLE_MISUSES:
            usage_error(
                f"--allow-misuse: {name} is not one of the kinds behind which a program can go on: "
                f"{_MISUSE_NAMES}"
            )
    return names


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


def native_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that only native programs have; the command gets them as ``flags``."""

    @wraps(command)
    def wrapped(
        *,
        check: str | None,
        same_output: bool,
        exit_code: int | None,
        fault: str | None,
        most_faults: int,
        allow_misuse: tuple[str, ...],
        watch: tuple[str, ...],
        sample_accesses: int | None,
        engine: str,
        no_fibers: bool,
        **others: Any,
    ) -> Any:
        flags = NativeFlags(
            check,
            same_output,
            exit_code,
            faults_named(fault),
            most_faults,
            watch,
            sample_accesses or 0,
            engine,
            not no_fibers,
            misuses_named(allow_misuse),
        )
        return command(flags=flags, **others)

    for decorate in (
        click.option(
            "--engine",
            type=click.Choice(ENGINES),
            metavar="|".join(ENGINES),
            default=AUTO,
            help="How a native program gets to its main function in each execution.",
        ),
        click.option(
            "--no-fibers",
            is_flag=True,
            help="Give each task of a native program a kernel thread of its own.",
        ),
        click.option(
            "--sample-accesses",
            is_flag=False,
            flag_value=3,
            type=_Accesses(1, 3),
            metavar="[N]",
            help="Hold tasks of a native program at N of its accesses to memory (3), other ones in "
            "each execution, and see who comes to the same memory.",
        ),
        click.option(
            "--watch",
            multiple=True,
            metavar="SYMBOL[:SIZE]|0xADDRESS:SIZE",
            help="Let the processor watch memory of a native program; up to four times.",
        ),
        click.option(
            "--most-faults",
            type=click.IntRange(min=1),
            default=1,
            metavar="N",
            show_default=True,
            help="How many calls fail in one execution of a native program, at most.",
        ),
        click.option(
            "--allow-misuse",
            multiple=True,
            metavar="KIND,...",
            help="Let a native program go on behind misuse, as the C library does: "
            f"{_MISUSE_NAMES}.",
        ),
        click.option(
            "--fault",
            metavar="CALL,...",
            help=f"Let calls of a native program fail, as a choice: {_FAULT_NAMES}.",
        ),
        click.option(
            "--exit-code",
            type=int,
            metavar="N",
            help="What a native program should exit with, if not as in its first execution.",
        ),
        click.option(
            "--same-output", is_flag=True, help="A native program must print the same each time."
        ),
        click.option(
            "--check",
            metavar="COMMAND",
            help="Run after each execution of a native program; must exit with 0.",
        ),
    ):
        wrapped = decorate(wrapped)
    return wrapped


def subject_of(test: Command, options: ExploreOptions) -> Subject:
    """What an exploration of a native program is of."""
    return Subject(test.target(), test.name, options)


def enter_folder_of(target: Mapping[str, Any]) -> None:
    """Go to the folder in which a native program was started, if it is still there."""
    folder = Path(target["directory"])
    if folder.is_dir():
        os.chdir(folder)


def explore_kept(subject: Subject, store: ExplorationStore, showing: Showing) -> NoReturn:
    """Go on with an exploration of a native program that was kept in a file."""
    enter_folder_of(subject.target)
    explore_native(command_from(subject.target), subject.options, showing, store)


def explore_native(
    test: Command, options: ExploreOptions, showing: Showing, store: ExplorationStore
) -> NoReturn:
    """Explore a native program, report and exit."""
    show = show_printed if showing.verbose and not showing.as_json else None
    silent = showing.quiet or showing.as_json
    try:
        with ProgressLine(Console(file=sys.stderr), silent=silent) as line:
            explorer, runtime = native_explorer(test, options, line.update, show, store)
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
    if wrong := _allowable_misuses(result):
        result.notices.append(
            f"--allow-misuse {','.join(wrong)} explores what lies behind the misuse, too"
        )
    newer = [Path(file).name for file in runtime.newer_sources]
    if newer:
        result.notices.append(
            f"changed after the program was built, so its lines may not fit: {', '.join(newer)}"
        )
    tell(result, printed_text(runtime.printed_by_failure), showing, store)


def _allowable_misuses(result: Result) -> list[str]:
    """The kinds of misuse that were failures, and could be allowed."""
    kinds = dict.fromkeys(failure.outcome.exception for failure in result.failures)
    return [kind for kind in ALLOWABLE_MISUSES if kind in kinds]


def replay_command_of(
    reproduction: Reproduction, with_pdb: bool, times: int, verbose: bool
) -> tuple[Replay, str]:
    """Replay a native program; what it gave, and what the failing execution printed."""
    if with_pdb:
        usage_error("--pdb is for Python tests, and this file is of a native program")
    enter_folder_of(reproduction.target)
    try:
        replayed, runtime = replay_native(reproduction, times, show_printed if verbose else None)
    except UnsupportedError as error:
        usage_error(str(error))
    return replayed, printed_text(runtime.printed_by_failure)


def debug_native(reproduction: Reproduction) -> None:
    """Replay a native program under gdb, which is left to the user."""
    if reproduction.target.get("kind") != KIND:
        usage_error("--gdb is for native programs; for Python tests there is --pdb")
    enter_folder_of(reproduction.target)
    failure = reproduction.failure
    test = command_from(reproduction.target)
    watches = bool(test.watch or test.sample)
    runtime = test.runtime(reproduction.options)
    runtime.want_points(reproduction.points)
    end = f"The execution is ended here: {failure_headline(failure.outcome)}"

    def start(environment: Mapping[str, str]) -> None:
        stops = preemptions_in_words(failure.trace)
        run_gdb(runtime.command, environment, runtime.shim, stops, end, watches)

    try:
        gdb_path()
        runtime.lend(failure.plan, start)
    except UnsupportedError as error:
        usage_error(str(error))
