"""What a command line says of a native program.

What carries it out is :mod:`bohrbug.cli.native`, which need not be loaded for Python tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import click

from bohrbug.cli.exploring import usage_error
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.store import Subject
from bohrbug.platforms.posix.command import ALLOWABLE_MISUSES, FAULTS, Command, words_of
from bohrbug.runtime.posix.elf import is_elf
from bohrbug.runtime.posix.engines import AUTO, ENGINES

_FAULT_NAMES = ", ".join(FAULTS)
_MISUSE_NAMES = ", ".join(ALLOWABLE_MISUSES)


class _Accesses(click.IntRange):
    """A number that may be left out: then the program must not be taken for it."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """As ``click.IntRange.convert``."""
        if not str(value).lstrip("-").isdigit():
            self.fail(
                f"{str(value)!r} is not a number of accesses. To omit the number, write "
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
        expected: all of it, with no program yet.
        given: the flags that were given.
    """

    expected: Command
    given: tuple[str, ...] = ()

    @property
    def any_given(self) -> bool:
        """Whether it says anything."""
        return bool(self.given)

    def refuse(self) -> None:
        """End the command if any was given: the test is no native program."""
        if self.given:
            _refuse(self.given, "native programs", "a Python test")

    def command(self, program: str, arguments: Sequence[str]) -> Command:
        """The test that a command line means."""
        return replace(self.expected, words=(program, *arguments))


_PYTHON_ONLY = ("scope", "interpreter", "entropy", "async_order", "cancel", "gc", "asyncio_errors")
"""Options of explorations that mean nothing to a native program."""


def refuse_python_options(given: Mapping[str, Any]) -> None:
    """End the command if an option was given that only Python tests have.

    What ``pyproject.toml`` says is for all tests of a project, and is passed over.

    Parameters:
        given: the options on the command line, by name.
    """
    flags = tuple(_flag(name) for name in _PYTHON_ONLY if name in given)
    if flags:
        _refuse(flags, "Python tests", "a native program")


def _refuse(flags: Sequence[str], meant: str, found: str) -> NoReturn:
    verb = "is" if len(flags) == 1 else "are"
    usage_error(f"{', '.join(flags)} {verb} for {meant}, and this is {found}")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


_NATIVE_ONLY = (
    *("check", "same_output", "exit_code", "fault", "most_faults", "allow_misuse", "watch"),
    *("sample_accesses", "engine", "no_fibers"),
)


def _given_flags() -> tuple[str, ...]:
    """Which of the flags for native programs the command line has."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    return tuple(
        _flag(name) for name in _NATIVE_ONLY if context.get_parameter_source(name) is source
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
                f"--allow-misuse: {name} is not one of the kinds after which a program can "
                f"continue: {_MISUSE_NAMES}"
            )
    return names


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
        expected = Command(
            (),
            exit_code,
            same_output,
            tuple(words_of(check)) if check else (),
            faults=faults_named(fault),
            most_faults=most_faults,
            watch=watch,
            sample=sample_accesses or 0,
            engine=engine,
            fibers=not no_fibers,
            allowed_misuses=misuses_named(allow_misuse),
        )
        return command(flags=NativeFlags(expected, _given_flags()), **others)

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
            help="Hold tasks of a native program at N of its accesses to memory (3), others in "
            "each execution, and see which tasks access the same memory.",
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
            help="The largest number of calls that fail in one execution of a native program.",
        ),
        click.option(
            "--allow-misuse",
            multiple=True,
            metavar="KIND,...",
            help="Let a native program continue after misuse, as the C library does: "
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
