"""How the exploration of a test goes on, shown behind its name while it lasts."""

from __future__ import annotations

import pytest

from bohrbug.exploration.progress import Progress
from bohrbug.report.estimated import estimate_in_words
from bohrbug.report.wording import plural, rate_in_words

_SAVE, _RESTORE_AND_CLEAR = "\x1b7", "\x1b8\x1b[K"
_LEAST = 24


class SessionProgress:
    """Shows figures at the right of pytest's line; only on a terminal that can take them away.

    Parameters:
        config: of pytest.
    """

    def __init__(self, config: pytest.Config) -> None:
        reporter = config.pluginmanager.getplugin("terminalreporter")
        self._writer = None
        if reporter is not None and not hasattr(config, "workerinput"):
            writer = config.get_terminal_writer()
            if writer.hasmarkup and reporter.isatty and reporter.verbosity >= 0:
                self._writer = writer
        self._shown = False

    def update(self, progress: Progress) -> None:
        """Show new figures."""
        writer = self._writer
        if writer is None:
            return
        space = writer.fullwidth - writer.width_of_current_line - 2
        if space < _LEAST:
            return
        of = "" if progress.budget is None else f"/{progress.budget:,}"
        parts = [f"{progress.executions:,}{of}"]
        if progress.elapsed > 0:
            parts.append(f"{rate_in_words(progress.rate)}/s")
        if progress.failures:
            parts.append(plural(progress.failures, "failure"))
        if progress.races:
            parts.append(plural(progress.races, "race"))
        if progress.words:
            parts.append(progress.words)
        if progress.estimate is not None:
            parts.append(estimate_in_words(progress.estimate, progress.elapsed))
        self._put((_RESTORE_AND_CLEAR if self._shown else "") + _SAVE)
        self._shown = True
        self._put(f" \x1b[2m{', '.join(parts)[: space - 1]}\x1b[0m")

    def close(self) -> None:
        """Take the figures away."""
        if self._shown:
            self._put(_RESTORE_AND_CLEAR)
            self._shown = False

    def _put(self, text: str) -> None:
        # Not through the writer, which counts what it writes as part of the line.
        assert self._writer is not None
        file = self._writer._file
        file.write(text)
        file.flush()
