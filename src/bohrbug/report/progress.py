"""One line that says how an exploration is getting on."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from bohrbug.exploration.progress import Progress
from bohrbug.report.estimated import estimate_in_words
from bohrbug.report.glyphs import glyphs_for
from bohrbug.report.style import FAILED, QUIET, WARNED
from bohrbug.report.wording import plural, rate_in_words, seconds_in_words

# Kept from before any execution, in which the clock is virtual.
_now = time.monotonic

_REFRESH = 0.1
_PLAIN_INTERVAL = 10.0
_BAR = 16


class ProgressLine:
    """Shows the progress of one exploration.

    On a terminal it is one line that changes in place and goes away at the
    end; elsewhere a line is printed at most every ten seconds.  It starts no
    thread: what is shown changes only when :meth:`update` is called.

    Parameters:
        console: where to print to.
        silent: show nothing at all.
    """

    def __init__(self, console: Console, *, silent: bool = False) -> None:
        self._console = console
        self._silent = silent
        self._glyphs = glyphs_for(console.encoding)
        self._live: Live | None = None
        self._shown = _now()
        self._first = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def update(self, progress: Progress) -> None:
        """Show new figures, if the last ones have stood long enough."""
        if self._silent:
            return
        now = _now()
        terminal = self._console.is_terminal
        interval = _REFRESH if terminal else _PLAIN_INTERVAL
        if now - self._shown < interval and not (terminal and self._first):
            return
        self._shown = now
        self._first = False
        line = self.line(progress)
        if not terminal:
            self._console.print(line, soft_wrap=True, highlight=False)
            return
        line.truncate(max(self._console.width - 1, 20))
        if self._live is None:
            self._live = Live(
                line,
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(line, refresh=True)

    def line(self, progress: Progress) -> Text:
        """The line for these figures."""
        between = f" {self._glyphs.dash} "
        text = Text(no_wrap=True)
        if progress.budget is None:
            text.append(plural(progress.executions, "execution"))
        else:
            done = int(min(progress.executions / progress.budget, 1.0) * _BAR)
            text.append(self._glyphs.rule * done, style="green")
            text.append(self._glyphs.light_rule * (_BAR - done), style=QUIET)
            text.append(f" {progress.executions:,} of {progress.budget:,} executions")
        text.append(f"{between}{rate_in_words(progress.rate)}/s")
        if progress.failures:
            text.append(between)
            text.append(plural(progress.failures, "failure"), style=FAILED)
        if progress.races:
            text.append(between)
            text.append(plural(progress.races, "race"), style=WARNED)
        if progress.words:
            text.append(between)
            text.append(self._glyphs.clean(progress.words))
        if progress.estimate is not None:
            words = estimate_in_words(progress.estimate, progress.elapsed)
            text.append(f"{between}{words}")
        text.append(f"{between}{seconds_in_words(progress.elapsed)}", style=QUIET)
        return text

    def close(self) -> None:
        """Take the line away; safe to call more than once."""
        if self._live is not None:
            self._live.stop()
            self._live = None
