"""One execution of a pytest item: its setup, call and teardown, afresh each time."""

from __future__ import annotations

import inspect
import shutil
import sys
import traceback
from pathlib import Path
from types import CodeType

import pytest

from bohrbug.pytest_plugin import internals
from bohrbug.pytest_plugin.async_items import forget_runner
from bohrbug.pytest_plugin.remains import Remains
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.loops.logged import TellsOfLogged, tell_of_logged
from bohrbug.runtime.threads.task import TaskKilled


class ItemExecution(TellsOfLogged):
    """A test in the sense of the explorer: calling it executes a pytest item.

    Fixtures of the scope ``function`` are set up and torn down in each execution; wider
    ones are set up once, outside control.

    Parameters:
        item: to execute.
        asyncio_errors: what asyncio only logs is a failure, ``"fail"``, or noted, ``"note"``.

    Attributes:
        phase: of the last execution that failed: ``setup``, ``call`` or ``teardown``.
        sections: captured output of the last execution that failed, or of the last one.
        skipped: what the last execution raised to be skipped, if it did.
        passed: executions that were not skipped.
        error: the exception of the last execution that failed in the main thread.
        exit: ``pytest.exit`` was called.
        remains: of executions that failed.
    """

    def __init__(self, item: pytest.Function, asyncio_errors: str = "note") -> None:
        self._fails_for_logged = asyncio_errors == "fail"
        self.item = item
        self.phase = "call"
        self.skipped: BaseException | None = None
        self.passed = 0
        self.error: BaseException | None = None
        self.exit: BaseException | None = None
        self.remains = Remains()
        self._failed_subtest: BaseException | None = None
        internals.keep_subtests(item, self.note_subtest)
        self._notes = internals.notes_of(item)
        self._kept = list(internals.sections_of(item))
        self._failing_sections: internals.Sections | None = None

    @property
    def codes(self) -> tuple[CodeType, ...]:
        """The code that is rewritten before the test is executed only once."""
        code = getattr(inspect.unwrap(self.item.obj), "__code__", None)
        return () if code is None else (code,)

    def note_subtest(self, error: BaseException) -> None:
        """A subtest failed: the execution goes on to the end of the test, and has failed then."""
        if self._failed_subtest is None:
            self._failed_subtest = error

    @property
    def sections(self) -> internals.Sections:
        """Captured output to show."""
        if self._failing_sections is not None:
            return self._failing_sections
        return list(internals.sections_of(self.item))

    def let_go(self) -> None:
        """Let go of the objects of the execution that failed last; its traceback keeps its lines.

        Else the next one would find them where it refers to objects weakly.
        """
        if self.error is not None:
            _clear_frames(self.error, set())
        for name in ("last_exc", "last_value", "last_type", "last_traceback"):
            # pytest has set them.
            vars(sys).pop(name, None)

    def leave(self) -> None:
        """Leave the item as if it had never been executed."""
        self.let_go()
        forget_runner()
        internals.renew(self.item, self._notes)
        internals.sections_of(self.item)[:] = self._kept

    def __call__(self) -> None:
        """Execute the item once."""
        item = self.item
        self.leave()
        self.skipped = None
        self._failed_subtest = None
        phase = "setup"
        try:
            item.ihook.pytest_runtest_setup(item=item)
            phase = "call"
            item.ihook.pytest_runtest_call(item=item)
            error = internals.unittest_error(item) or self._failed_subtest
            if error is not None:
                raise error
        except BaseException as error:  # noqa: BLE001
            self._end_early(error, phase)
        self._tear_down()
        if self.skipped is None:
            self._end_well()
            self.passed += 1

    def _end_well(self) -> None:
        try:
            tell_of_logged(self._fails_for_logged)
        except BaseException as error:
            self._note(error, "call")
            raise

    def _end_early(self, error: BaseException, phase: str) -> None:
        """The test did not come to its end: it is skipped, or the execution has failed."""
        if isinstance(error, internals.SKIPPING):
            self.skipped = error
            return
        if isinstance(error, pytest.exit.Exception):
            self.exit = error
            self._tear_down()
            raise error
        self._note(error, phase)
        execution = controlled()
        if execution is None or execution.aborting:
            internals.finalize(self.item, internals.finalizers_of(self.item))
        else:
            self._clean_up(execution, error)
        internals.finish_fixtures(self.item)
        self._remove_folder()
        raise error

    def _clean_up(self, execution: Execution, error: BaseException) -> None:
        """The teardown after a failure: other tasks can still run, so that it can do its work.

        Whatever it leads to, the failure before it is what the execution ends with.
        """
        execution.ending.fail_with_exception(execution.root, error)
        finalizers = internals.finalizers_of(self.item)
        try:
            self._hook_tear_down()
        except BaseException as after:  # noqa: BLE001
            # pytest would report it, too; of two failures the first one counts here.
            _ = after
            internals.finalize(self.item, finalizers)

    def _note(self, error: BaseException, phase: str) -> None:
        self.remains.are_left = True
        self.phase = phase
        self.error = None if isinstance(error, TaskKilled) else error
        self._failing_sections = list(internals.sections_of(self.item))

    def _hook_tear_down(self) -> None:
        # As if the next item were a neighbour: wider-scoped fixtures stay.
        item = self.item
        item.ihook.pytest_runtest_teardown(item=item, nextitem=item.parent)

    def _tear_down(self) -> None:
        finalizers = internals.finalizers_of(self.item)
        try:
            self._hook_tear_down()
        except BaseException as error:
            self._note(error, "teardown")
            execution = controlled()
            if execution is not None:
                # From here on the execution only unwinds: nothing changes its outcome.
                execution.ending.fail_with_exception(execution.root, error)
            internals.finalize(self.item, finalizers)
            raise
        finally:
            self._remove_folder()

    def _remove_folder(self) -> None:
        """The next execution gets a temporary folder of the same name."""
        folder = (self.item.funcargs or {}).get("tmp_path")
        if isinstance(folder, Path):
            shutil.rmtree(folder, ignore_errors=True)


def _clear_frames(error: BaseException, seen: set[int]) -> None:
    """Clear the frames of an exception and of those that have led to it."""
    seen.add(id(error))
    traceback.clear_frames(error.__traceback__)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        # Up to Python 3.12 a copy that somebody has asked for stays, until it is asked for again.
        _ = frame.f_locals
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for each in (error.__cause__, error.__context__, *inner):
        if each is not None and id(each) not in seen:
            _clear_frames(each, seen)
