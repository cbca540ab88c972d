"""What the terminal shows: verdicts beside the tests, and a section at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from bohrbug.exploration.result import Failure, Result, VerdictKind
from bohrbug.exploration.verdicts import Caveat, CaveatKind
from bohrbug.model.standstill import is_long
from bohrbug.paths import DIRECTORY
from bohrbug.report.headline import failure_headline
from bohrbug.report.verdict import one_line_verdict
from bohrbug.report.wording import plural, seconds_in_words

ATTRIBUTE = "bohrbug"
"""Attribute of test reports; plain data, so that pytest-xdist can pass it on."""


_MOST_FAILURES = 10
_MOST_LINES = 5

_NOT_DETERMINISTIC = "the test is not deterministic"

_MUCH_LONGER = 1.5
"""Times the seconds of a test; less is the usual overtime, as for confirming a failure."""


def _failure_line(test: str, failure: Failure, more: str = "") -> str:
    line = f"{test}: {failure_headline(failure.outcome)}{more}"
    path = failure.reproduction
    return line if path is None else f"{line} (bohrbug explain {DIRECTORY / path.name})"


def _untimely_line(test: str, failure: Failure) -> tuple[float, str]:
    """What is said of a failure that needs a timeout to fire early, behind how early that is."""
    stall = failure.trace.longest_stall
    if is_long(stall):
        early = f", {stall:,.0f} s early"
    else:
        # One that an earlier process has found does not tell how early.
        early = f", {stall:.2g} s early, as on a busy machine" if stall else ""
    return stall, _failure_line(test, failure, early)


def overdrawn_line(result: Result, seconds: float | None) -> str:
    """What is said of a test that took much longer than it was given; "" if it did not.

    The time is looked at between executions, and an execution is never cut short.
    """
    if seconds is None or result.seconds <= _MUCH_LONGER * seconds:
        return ""
    executions = plural(result.executions, "execution")
    taken, given = seconds_in_words(result.seconds), seconds_in_words(seconds)
    return f"{result.test}: {taken} in {executions}, given {given}"


@dataclass(slots=True)
class Met:
    """What limits verdicts in the same way, as the tests of a session have met it.

    Attributes:
        words: of the first one.
        test: the first one.
        tests: how many.
        times: how often, in all tests.
    """

    words: str
    test: str
    tests: int = 0
    times: int = 0

    def line(self) -> str:
        """What is said of it."""
        if self.words.startswith(_NOT_DETERMINISTIC):
            if self.tests == 1:
                return f"{self.test}: {self.words}"
            how = self.words.removeprefix(_NOT_DETERMINISTIC)
            return f"{self.tests:,} tests are not deterministic, such as {self.test}{how}"
        if self.tests == 1:
            often = f" ({self.times:,} times)" if self.times > 1 else ""
        elif self.times > self.tests:
            often = f" ({self.times:,} times, in {self.tests:,} tests)"
        else:
            often = f" ({self.tests:,} tests)"
        return self.words + often


def _limit(test: str, caveat: Caveat) -> tuple[str, str, str, int]:
    """What a caveat has in common with those of other tests, what it says, of what, how often."""
    if caveat.kind is CaveatKind.DIVERGENCE:
        # Where they differ is another place for each test.
        return _NOT_DETERMINISTIC, str(caveat), test, 0
    return caveat.gist, caveat.gist, test, caveat.times


def report_data(result: Result) -> dict[str, Any]:
    """What the summary needs to know of a result."""
    return {
        "verdict": result.verdict.kind.value,
        "line": one_line_verdict(result),
        "executions": result.executions,
        "seconds": result.seconds,
        "races": [race.label for race in result.races if race.stale is None],
        "over_awaits": [race.label for race in result.races if race.stale is not None],
        "untimely": [_untimely_line(result.test, failure) for failure in result.untimely],
        "reproductions": [
            str(failure.reproduction)
            for failure in result.failures
            if failure.reproduction is not None
        ],
        "failures": [_failure_line(result.test, failure) for failure in result.failures],
        # Plain text, and without those that are listed as untimely.
        "limits": [
            _limit(result.test, caveat)
            for caveat in result.verdict.caveats
            if caveat.kind is not CaveatKind.UNTIMELY
        ],
        "notices": list(result.notices),
        "tasks": result.tasks,
        "concurrent": result.is_concurrent,
        "virtual_seconds": result.virtual_seconds,
    }


@dataclass(slots=True)
class Summary:
    """Adds up the results of a session."""

    tests: int = 0
    unchanged: int = 0
    known_failures: int = 0
    concurrent: int = 0
    executions: int = 0
    seconds: float = 0.0
    verdicts: Counter[str] = field(default_factory=Counter)
    caveats: dict[str, Met] = field(default_factory=dict)
    notices: Counter[str] = field(default_factory=Counter)
    races: Counter[str] = field(default_factory=Counter)
    over_awaits: Counter[str] = field(default_factory=Counter)
    plain: Counter[str] = field(default_factory=Counter)
    fixed: list[str] = field(default_factory=list)
    trouble: Counter[str] = field(default_factory=Counter)
    untimely: list[tuple[float, str]] = field(default_factory=list)
    overdrawn: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    reproductions: list[str] = field(default_factory=list)
    replayed: list[str] = field(default_factory=list)
    live: list[tuple[int, int]] = field(default_factory=list)

    def add(self, data: dict[str, Any]) -> None:
        """Take note of one report."""
        if "replayed" in data:
            self.replayed.extend(data["replayed"].splitlines())
            return
        if "live" in data:
            self.live.append(data["live"])
            if data.get("trouble"):
                self.trouble[data["trouble"]] += 1
            return
        if "plain" in data:
            self.plain[data["plain"]] += 1
            return
        if "unchanged" in data and data["failures"]:
            self.known_failures += 1
        elif "unchanged" in data:
            self.unchanged += 1
        else:
            self.tests += 1
            self.concurrent += data["concurrent"]
        self.executions += data["executions"]
        self.seconds += data["seconds"]
        self.verdicts[data["verdict"]] += 1
        # Tests are counted; one may have several races on a variable.
        # Absent in what earlier versions have kept of tests that held.
        self._meet(data.get("limits", ()))
        self.notices.update(data["notices"])
        self.races.update(dict.fromkeys(data["races"]).keys())
        self.over_awaits.update(dict.fromkeys(data.get("over_awaits", ())).keys())
        self.fixed += data.get("fixed", ())
        if data.get("trouble"):
            self.trouble[data["trouble"]] += 1
        self.untimely.extend((stall, line) for stall, line in data["untimely"])
        if "overdrawn" in data:
            self.overdrawn.append(data["overdrawn"])
        self.failures.extend(data["failures"])
        self.reproductions.extend(data.get("reproductions", ()))

    def _meet(self, limits: Iterable[tuple[str, str, str, int]]) -> None:
        gists = set()
        for gist, words, test, times in limits:
            met = self.caveats.setdefault(gist, Met(words, test))
            met.tests += gist not in gists
            met.times += times
            gists.add(gist)

    def write(self, reporter: pytest.TerminalReporter, *, with_failures: bool = False) -> None:
        """Print the section.

        Parameters:
            reporter: where to print to.
            with_failures: list the failures, as nothing above says how to see and to replay them.
        """
        known = self.unchanged + self.known_failures
        if not (self.tests or known or self.plain or self.replayed or self.live):
            return
        reporter.section("Bohrbug")
        if self.live:
            self._write_live(reporter)
            return
        for line in self.replayed:
            reporter.line(line)
        if self.replayed and not self.tests:
            return
        if self.tests or not known:
            explored = f"{plural(self.tests, 'test')} explored"
            if self.concurrent < self.tests:
                several = f"{self.concurrent:,}" if self.concurrent else "none"
                explored += f", {several} of them with a choice between tasks"
            executions = plural(self.executions, "execution")
            reporter.line(f"{explored}: {executions} in {seconds_in_words(self.seconds)}")
        if self.unchanged:
            tests = plural(self.unchanged, "test")
            reporter.line(
                f"not explored again: {tests} in which nothing failed, and nothing has changed"
                " since (--bohrbug-again explores them)"
            )
        if self.known_failures:
            fail = "tests fail" if self.known_failures > 1 else "test fails"
            reporter.line(
                f"replayed, not explored again: {self.known_failures:,} {fail} as before, and"
                " nothing has changed since (--bohrbug-again explores them)"
            )
        kinds = [kind.value for kind in VerdictKind if self.verdicts[kind.value]]
        if kinds:
            counts = ", ".join(f"{kind}: {self.verdicts[kind]:,}" for kind in kinds)
            reporter.line(f"verdicts: {counts}")
        for reason, count in self.plain.items():
            reporter.line(f"not explored: {plural(count, 'test')}, {reason}")
        for what in self.fixed:
            reporter.line(f"fixed: {what} (its remembered schedule passes now)")
        for what in self.trouble:
            reporter.line(what)
        if with_failures and self.failures:
            reporter.line("failures:")
            self._some(reporter, self.failures)
        self._list_untimely(reporter)
        if self.overdrawn:
            reporter.line("took longer than --bohrbug-seconds says, as no execution is cut short:")
            self._some(reporter, self.overdrawn)
        met = sorted(self.caveats.values(), key=lambda met: -met.tests)
        self._show(reporter, "not controlled, or not certain", [each.line() for each in met])
        self._list(reporter, "notes", self.notices)
        self._list(reporter, "data races seen", self.races)
        self._list(reporter, "races over an await seen", self.over_awaits)

    def _write_live(self, reporter: pytest.TerminalReporter) -> None:
        rounds, fragments = (sum(numbers) for numbers in zip(*self.live, strict=True))
        made = f"{plural(rounds, 'round')} ({plural(fragments, 'fragment')})"
        reporter.line(f"{plural(len(self.live), 'test')} run live: {made}")
        for reason, count in self.plain.items():
            reporter.line(f"not run live: {plural(count, 'test')}, {reason}")
        for what in self.trouble:
            reporter.line(what)

    def _list_untimely(self, reporter: pytest.TerminalReporter) -> None:
        """Tests that fail only if a timeout fires early: no failures, but worth a word.

        Those come first that need the least, as they may well fail on a busy machine.
        """
        if not self.untimely:
            return
        reporter.line(
            "would fail if a timeout or a sleep ended while other tasks could still run "
            "(--bohrbug-timeouts=early makes it a failure):"
        )
        self._some(reporter, [line for _, line in sorted(self.untimely)])

    @staticmethod
    def _some(reporter: pytest.TerminalReporter, lines: list[str]) -> None:
        for line in lines[:_MOST_FAILURES]:
            reporter.line(f"  {line}")
        if len(lines) > _MOST_FAILURES:
            reporter.line(f"  and {len(lines) - _MOST_FAILURES:,} more")

    def _list(self, reporter: pytest.TerminalReporter, title: str, found: Counter[str]) -> None:
        lines = [
            f"{what} ({plural(count, 'test')})" if count > 1 else what
            for what, count in found.most_common()
        ]
        self._show(reporter, title, lines)

    @staticmethod
    def _show(reporter: pytest.TerminalReporter, title: str, lines: list[str]) -> None:
        if not lines:
            return
        reporter.line(f"{title}:")
        for line in lines[:_MOST_LINES]:
            reporter.line(f"  {line}")
        if len(lines) > _MOST_LINES:
            reporter.line(f"  and {len(lines) - _MOST_LINES:,} more")
