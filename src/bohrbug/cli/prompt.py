"""The prompt of ``bohrbug step``: reads commands, moves the session, shows where it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from rich.console import Console

from bohrbug.cli.exit_codes import FOUND, INCONCLUSIVE, NOTHING_FOUND, USAGE
from bohrbug.cli.step_commands import Command, CommandError, help_lines, parse
from bohrbug.exploration.result import Failure
from bohrbug.exploration.stepping.kept import repeatable_end
from bohrbug.exploration.stepping.session import Session, SteppingError
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.trace import Trace
from bohrbug.report.decision import STEPS_IN_LANES, DecisionReport, View, passed_in_words
from bohrbug.report.style import PASSED, WARNED, Paper
from bohrbug.report.text import render_failure

PROMPT = "(bohrbug step) "

Save = Callable[[Trace, Path | None], Path]
"""Writes an execution into a file, at a path or where such files are kept; returns the path."""


def is_terminal() -> bool:
    """Whether somebody types the commands."""
    return sys.stdin is not None and sys.stdin.isatty()


def scripted_commands() -> TextIO:
    """The commands that come through standard input; the test itself gets an empty one."""
    kept = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return os.fdopen(kept, encoding="utf-8", errors="replace")


class Prompt:
    """Takes commands until there are no more.

    Parameters:
        session: what is moved.
        console: where to print to.
        as_failure: an execution in the form that reports take.
        save: writes an execution into a file.
        test: the name of the test.
        script: the commands; ``None``: they are asked for at the terminal.
        in_lanes: the last steps are shown at each stop, one column per task.
    """

    def __init__(
        self,
        session: Session,
        console: Console,
        as_failure: Callable[[Trace], Failure],
        save: Save,
        test: str,
        script: TextIO | None = None,
        *,
        in_lanes: bool = False,
    ) -> None:
        self.session = session
        self._console = console
        self._as_failure = as_failure
        self._save = save
        self._test = test
        self._script = script
        self._report = DecisionReport(console)
        self._report.lanes = STEPS_IN_LANES if in_lanes else 0
        self._printed = ""
        self._quit = False

    # -- reading -----------------------------------------------------------------------

    def run(self) -> int:
        """Take all commands; returns the exit code.

        In a script a command that can't be done ends it; at its end the execution goes on to
        its own end.
        """
        session = self.session
        if self._script is None:
            self._say("a number chooses the task to run, Enter goes on, help lists all commands")
        self._show()
        for number, line in self._lines():
            try:
                command = parse(line)
                if command is None and self._script is None and not session.is_over:
                    command = Command("next")
                if command is not None:
                    self._do(command)
            except (CommandError, SteppingError, OSError) as error:
                if self._script is not None:
                    print(f"bohrbug: line {number}: {error}", file=sys.stderr)
                    return USAGE
                self._say(str(error))
            if self._quit:
                break
        else:
            if self._script is not None and not session.is_over:
                session.to_end()
                self._show()
        return exit_code(session.stop.trace.outcome) if session.is_over else INCONCLUSIVE

    def _lines(self) -> Iterator[tuple[int, str]]:
        if self._script is not None:
            yield from enumerate(self._script, 1)
            return
        with suppress(ImportError):
            # For its editing and its history alone.
            import readline  # noqa: F401
        number = 0
        while True:
            number += 1
            try:
                yield number, input(PROMPT)
            except EOFError:
                print()
                return
            except KeyboardInterrupt:
                print()

    # -- doing -------------------------------------------------------------------------

    def _do(self, command: Command) -> None:
        session = self.session
        argument = command.argument
        match command.name:
            case "choose":
                session.choose(self._choice(argument))
            case "next":
                session.go_on(command.number)
            case "preemption":
                session.to_preemption()
            case "block":
                session.to_blocking(self._task(argument))
            case "end":
                session.to_end()
            case "undo":
                session.undo(command.number)
            case "restart":
                session.start_again()
            case "view":
                self._show(again=True)
                return
            case "lanes":
                self._report.lanes = self._lanes(command)
                self._show(again=True)
                return
            case "save":
                self._write(argument)
                return
            case "quit":
                self._quit = True
                return
            case _:
                self._look(command.name, argument)
                return
        self._show()

    def _lanes(self, command: Command) -> int:
        """How many steps are shown in columns from now on."""
        if command.argument:
            return command.number
        return 0 if self._report.lanes else STEPS_IN_LANES

    def _look(self, name: str, argument: str) -> None:
        """Commands that only show something."""
        view = self._view()
        match name:
            case "history":
                self._report.draw_history(view)
            case "stacks":
                self._report.draw_stacks(view, self._task(argument))
            case "held":
                self._report.draw_held(view)
            case "list":
                self._report.draw_source(view, self._task(argument))
            case _:
                for line in help_lines():
                    self._say(line)

    def _choice(self, word: str) -> str | int:
        """What was chosen: a number counts the options, unless they are numbers themselves."""
        decision = self.session.stop.decision
        if decision is None:
            raise SteppingError("the execution is over")
        if decision.arity:
            if word.isdigit():
                return int(word)
            raise CommandError(f"choose a value; {word!r} is not one")
        return self._task(word) or ""

    def _task(self, word: str) -> str | None:
        """The task that a number of the view or an id means; ``None`` for no word."""
        if not word:
            return None
        decision = self.session.stop.decision
        if not (word.isdigit() and word != "0"):
            known = None if decision is None else decision.standing(word)
            if decision is not None and known is None:
                raise CommandError(f"there is no task {word} now")
            return word
        options = () if decision is None else decision.options
        if int(word) > len(options):
            raise CommandError(f"there is no option {word}; the last one is {len(options)}")
        return str(options[int(word) - 1])

    def _write(self, name: str) -> None:
        trace = repeatable_end(self.session)
        path = self._save(trace, Path(name) if name else None)
        self._say(f"wrote {path}: {_ending(trace.outcome)}")

    # -- showing -----------------------------------------------------------------------

    def _view(self, since: int | None = None, printed: str = "") -> View:
        session = self.session
        return View(
            session.stop.trace,
            session.stop.decision,
            session.stop.length if since is None else since,
            None if session.is_over else session.default,
            session.follows,
            printed,
        )

    def _show(self, *, again: bool = False) -> None:
        session = self.session
        stop = session.stop
        before, self._printed = self._printed, stop.printed
        fresh = "" if before.startswith(stop.printed) else stop.printed.removeprefix(before)
        divergence = session.divergence
        if divergence is not None and not again:
            self._say(
                f"at step {divergence.step} the program took another path: the plan runs "
                f"{divergence.expected}, but there was {divergence.found}",
                WARNED,
            )
        since = stop.length if again else session.since
        self._report.draw(self._view(since, fresh))
        if session.is_over:
            self._show_end(stop.trace)

    def _show_end(self, trace: Trace) -> None:
        paper = Paper(self._console)
        if trace.outcome.is_failure:
            paper.gap()
            render_failure(self._as_failure(trace), self._console, test=self._test)
            return
        passed = trace.outcome.kind is OutcomeKind.PASSED
        sign = paper.glyphs.passed if passed else paper.glyphs.unknown
        paper.gap()
        paper.put(paper.text(f"{sign} {passed_in_words(trace)}", PASSED if passed else WARNED))

    def _say(self, words: str, style: str = "") -> None:
        paper = Paper(self._console)
        paper.put(paper.text(words, style), whole=True)


def _ending(outcome: Outcome) -> str:
    """How a saved execution ends, in words."""
    if outcome.kind is OutcomeKind.PASSED:
        return "the execution passes"
    return f"the execution ends with: {outcome.message or outcome.kind.value}"


def exit_code(outcome: Outcome) -> int:
    """What the end of an execution means for the exit code."""
    if outcome.is_failure:
        return FOUND
    return NOTHING_FOUND if outcome.kind is OutcomeKind.PASSED else INCONCLUSIVE
