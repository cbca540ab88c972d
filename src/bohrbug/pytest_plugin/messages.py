"""Recording and replaying the messages of each test: one log for each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from bohrbug.report.wording import plural
from bohrbug.runtime.channels.codec import LogError
from bohrbug.runtime.channels.desynchronisation import Desynchronisation, DesynchronisationError
from bohrbug.runtime.channels.installation import install, restore
from bohrbug.runtime.channels.programs import Shared, begin_log, end_log
from bohrbug.runtime.channels.replaying import ReplaySession
from bohrbug.runtime.channels.session import Session, SessionOptions, active

SUFFIX = ".bohrbug"


def register(config: pytest.Config) -> None:
    """Check the options and register the plugin.

    Raises:
        pytest.UsageError: the options contradict each other.
    """
    if config.getoption("bohrbug") or config.getoption("bohrbug_replay"):
        raise pytest.UsageError(
            "bohrbug: messages can't be recorded or replayed while schedules are explored"
        )
    if config.getoption("bohrbug_record") and config.getoption("bohrbug_replay_messages"):
        raise pytest.UsageError("bohrbug: messages are either recorded or replayed")
    # Before test modules are imported, so that they get our functions by name.
    install()
    config.add_cleanup(restore)
    config.pluginmanager.register(MessagesPlugin(config), "bohrbug-messages")


def file_name(node: str) -> str:
    """The name of a test's log."""
    words = re.sub(r"[^\w.]+", "-", node).strip("-")[-80:].lstrip("-.")
    return f"{words}-{hashlib.sha256(node.encode()).hexdigest()[:8]}{SUFFIX}"


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


class MessagesPlugin:
    """Hooks that are there only when messages are recorded or replayed.

    Parameters:
        config: of pytest.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._record = config.getoption("bohrbug_record")
        self._only = config.getoption("bohrbug_record_only")
        folder = self._record or config.getoption("bohrbug_replay_messages")
        self._folder = config.invocation_params.dir / folder
        self._keep_going = bool(config.getoption("bohrbug_messages_keep_going"))
        self._patience = float(config.getoption("bohrbug_patience"))
        self._failed = False
        self._recorded = self._replayed = self._without = 0
        self._desynchronised: list[tuple[str, Desynchronisation]] = []
        self._warnings: list[str] = []
        if not self._record and not self._folder.is_dir():
            raise pytest.UsageError(f"bohrbug: there is no folder {self._folder}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Record or replay a test: its set-up, its call, its teardown."""
        path = self._folder / file_name(item.nodeid)
        if not self._record and not path.exists():
            self._without += 1
            return (yield)
        shared = Shared()
        try:
            session = self._session(item, path, shared)
            self._failed = False
            active.start(session)
            session.begin_process("0")
            try:
                return (yield)
            finally:
                active.stop()
                self._finish(item, path, session, shared)
        finally:
            shared.remove()

    def _session(self, item: pytest.Item, path: Path, shared: Shared) -> Session:
        folder = str(shared.folder)
        if self._record:
            # Beside the log of an earlier run, which stays if this one is not to be kept.
            part = _part(path)
            begin_log(part, ["pytest", item.nodeid])
            return Session(SessionOptions("record", str(part.absolute()), folder))
        file = str(path.absolute())
        options = SessionOptions(
            "replay",
            file,
            folder,
            keep_going=self._keep_going,
            patience=self._patience,
            raises=True,
        )
        try:
            return ReplaySession(options)
        except LogError as error:
            raise pytest.UsageError(f"bohrbug: {error}") from error

    def _finish(self, item: pytest.Item, path: Path, session: Session, shared: Shared) -> None:
        self._warnings += shared.warnings()
        if not isinstance(session, ReplaySession):
            end_log(_part(path), {"passed": not self._failed})
            if self._only is not None and self._failed is (self._only == "pass"):
                _part(path).unlink()
            else:
                _part(path).replace(path)
                self._recorded += 1
            return
        self._replayed += 1
        found = session.desynchronisation or shared.report()
        if found is not None:
            self._desynchronised.append((item.nodeid, found))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """A strict replay that is desynchronised in another thread fails the test, too."""
        result = yield
        session = active.session
        if isinstance(session, ReplaySession) and not self._keep_going:
            session.look_around()
            if session.desynchronisation is not None:
                raise DesynchronisationError(session.desynchronisation)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note whether the test fails."""
        report = yield
        self._failed = self._failed or report.failed
        return report

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what was recorded or replayed."""
        terminalreporter.section("Bohrbug: messages")
        if self._record:
            terminalreporter.line(f"{plural(self._recorded, 'log')} written to {self._folder}")
        else:
            terminalreporter.line(
                f"{plural(self._replayed, 'test')} replayed, "
                f"{len(self._desynchronised)} desynchronised, "
                f"{self._without} without a log"
            )
            for node, found in self._desynchronised:
                terminalreporter.line(f"{node}: {found}")
        for words in dict.fromkeys(self._warnings):
            terminalreporter.line(words)
