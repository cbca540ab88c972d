"""Everything that pytest keeps to itself and that the plugin needs, in one place.

Works with pytest 8 and 9. What is used here is also used by pytest-rerunfailures and others, and so
tends to stay: ``Function._initrequest``, ``FixtureRequest._get_active_fixturedef``,
``Session._setupstate`` and ``Item._report_sections``.
Worker processes need ``CaptureManager._global_capturing`` and ``TempPathFactory._basetemp``, too.
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import unittest
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest
from _pytest._code.code import (
    ExceptionChainRepr,
    ReprEntryNative,
    ReprFileLocation,
    ReprTraceback,
)
from _pytest.runner import check_interactive_exception, runtestprotocol
from _pytest.scope import Scope
from _pytest.unittest import TestCaseFunction

_KNOWS_FIXTURES_BY_NODES = tuple(map(int, pytest.__version__.split(".")[:2])) >= (8, 1)
"""Before, it was by their names."""

Sections = list[tuple[str, str, str]]

SKIPPING: tuple[type[BaseException], ...] = (
    pytest.skip.Exception,
    pytest.xfail.Exception,
    unittest.SkipTest,
)
"""What a test raises to say that it is to be skipped, or is known to fail."""


def notes_of(item: pytest.Item) -> dict[Any, Any]:
    """A copy of what plugins have noted of an item."""
    return dict(item.stash._storage)


def renew(item: pytest.Function, notes: dict[Any, Any]) -> None:
    """Make an item as it was before it ran: no fixture values, no instance, the notes of then."""
    item.stash._storage = dict(notes)
    item._initrequest()
    item.__dict__.pop("_instance", None)
    item._obj = None
    item.__dict__.pop("_excinfo", None)


def set_up_surroundings(item: pytest.Function) -> None:
    """Set up the module, class and whatever else is around an item, but not the item.

    Fixtures of wider scopes belong to it: pytest would make them with the first test that asks
    for them, and then their threads would end with the first execution.
    """
    assert item.parent is not None
    state = item.session._setupstate
    state.setup(item.parent)  # type: ignore[arg-type]
    item._initrequest()
    # As if the item were being set up: else no fixture may be asked for.
    state.stack[item] = ([], None)
    try:
        for name in item.fixturenames:
            definitions = item._fixtureinfo.name2fixturedefs.get(name)
            if definitions and definitions[-1].scope != "function":
                item._request._get_active_fixturedef(name)
    finally:
        del state.stack[item]


class _Reached(BaseException):
    """Raised in place of setting up an item: nobody has skipped it before."""


def skip_before_set_up(item: pytest.Function) -> BaseException | None:
    """What a hook or a marker raises to skip an item before any fixture is set up, if one does.

    Natively these come first.  All that is called before the setup itself is called here.
    """
    state = item.session._setupstate

    def reached(item: pytest.Item) -> None:
        raise _Reached

    state.setup = reached  # type: ignore[method-assign]
    try:
        item.ihook.pytest_runtest_setup(item=item)
    except SKIPPING as error:
        return error
    except (_Reached, Exception):  # noqa: BLE001
        # What else is wrong shows when the item is set up.
        return None
    finally:
        del state.setup
    return None


def tear_down_collectors(item: pytest.Function, nextitem: pytest.Item | None) -> None:
    """Tear down what the next item does not need: modules, classes, fixtures of wider scopes."""
    item.session._setupstate.teardown_exact(nextitem)


def forget(item: pytest.Function) -> None:
    """What pytest does at the end of an item, so that fixture values can go away."""
    item._request = False  # type: ignore[assignment]
    item.funcargs = None  # type: ignore[assignment]
    item.__dict__.pop("addSubTest", None)


def unittest_error(item: pytest.Function) -> BaseException | None:
    """The exception that a ``unittest.TestCase`` caught, if it caught one."""
    if isinstance(item, TestCaseFunction) and item._excinfo:
        found = item._excinfo[0].value
        del item._excinfo
        return found
    return None


def keep_subtests(item: pytest.Function, note: Callable[[BaseException], object]) -> None:
    """Let failures of subtests be noted, not reported: an item is executed many times.

    Parameters:
        item: to execute.
        note: called with the exception of each subtest that fails.
    """

    def add_subtest(test_case: object, test: object, excinfo: Any) -> None:
        if excinfo is not None:
            note(excinfo.value if isinstance(excinfo, pytest.ExceptionInfo) else excinfo[1])

    if isinstance(item, TestCaseFunction):
        item.__dict__["addSubTest"] = add_subtest


class _Keeper:
    """Takes the place of the hooks that the fixture ``subtests`` calls for each subtest."""

    def __init__(self, hooks: Any, note: Callable[[BaseException], object]) -> None:
        self._hooks = hooks
        self._note = note

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
        """Note what a subtest raised; the report itself goes nowhere."""
        if call.excinfo is not None and not isinstance(call.excinfo.value, SKIPPING):
            self._note(call.excinfo.value)
        passed = pytest.CallInfo.from_call(lambda: None, "call")
        return self._hooks.pytest_runtest_makereport(item=item, call=passed)

    def pytest_runtest_logreport(self, report: object) -> None:
        """Each execution has its subtests: only the exploration as a whole is reported."""

    def pytest_exception_interact(self, **_: object) -> None:
        """``--pdb`` stops at the failure of the test, not in each execution."""


def keep_subtests_of_fixture(value: object, note: Callable[[BaseException], object]) -> None:
    """The same for the value of the fixture ``subtests``, of pytest 9 or of pytest-subtests."""
    for name in ("_ihook", "ihook"):
        hooks = getattr(value, name, None)
        if hooks is not None:
            object.__setattr__(value, name, _Keeper(hooks, note))


def finalizers_of(item: pytest.Function) -> list[Callable[[], object]]:
    """The list of an item's finalizers itself: each is taken out when it runs.

    If one raises what is no ``Exception``, pytest forgets the list with all that is left in it.
    """
    entry = item.session._setupstate.stack.get(item)
    return [] if entry is None else entry[0]


def finalize(item: pytest.Function, finalizers: list[Callable[[], object]]) -> None:
    """Run what is left of an item's finalizers, each of them, whatever they raise.

    For executions that a monitor has ended: every wait raises an exception that
    pytest would not go on after, and the fixtures that were not finished
    would give the next execution their old values.
    """
    _run_all(finalizers)
    item.session._setupstate.stack.pop(item, None)


def finish_fixtures(item: pytest.Function) -> None:
    """Finish the fixtures whose functions raised what is no ``Exception``.

    They have no value, so that pytest neither finishes them nor can set them up anew.
    """
    # Plugins add names when an item is set up.
    for name in {*item._fixtureinfo.name2fixturedefs, *item.fixturenames}:
        for definition in _definitions_of(item, name):
            if definition.cached_result is None:
                _run_all(definition._finalizers)


def _run_all(finalizers: list[Callable[[], object]]) -> None:
    """Run finalizers, the last one first, and take them out."""
    while finalizers:
        finalizer = finalizers.pop()
        try:
            finalizer()
        except BaseException as error:  # noqa: BLE001
            # It can't be completed, since the threads that it waits for have been stopped.
            _ = error


def sections_of(item: pytest.Item) -> Sections:
    """Captured output, in pytest's own form; the list itself."""
    return item._report_sections


def log_handler(item: pytest.Function) -> Any:
    """What keeps log records for a test that asks for ``caplog``; ``None`` for others."""
    if "caplog" not in item.fixturenames:
        return None
    return getattr(item.config.pluginmanager.getplugin("logging-plugin"), "caplog_handler", None)


def is_async(item: pytest.Function) -> bool:
    """Whether the test is a coroutine function, or made one by a plugin for these."""
    function = getattr(item.function, "__func__", item.function)
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def wide_fixtures_of(item: pytest.Function) -> dict[str, pytest.FixtureDef[Any]]:
    """The fixtures of an item, as far as known before it runs, that are wider than a test."""
    return {
        name: definitions[-1]
        for name, definitions in item._fixtureinfo.name2fixturedefs.items()
        if definitions and definitions[-1].scope != "function"
    }


def _definitions_of(item: pytest.Function, name: str) -> Sequence[pytest.FixtureDef[Any]]:
    """The fixtures of a name that an item may ask for, the last one first in question."""
    node: Any = item if _KNOWS_FIXTURES_BY_NODES else item.nodeid
    return item.session._fixturemanager.getfixturedefs(name, node) or ()


@contextmanager
def narrowed(item: pytest.Function, names: Iterable[str]) -> Generator[None]:
    """Within it some fixtures, of whatever scope, are set up and torn down with each test.

    Parameters:
        item: of the session in question.
        names: of the fixtures; some need not exist.
    """
    definitions: list[Any] = [each for name in names for each in _definitions_of(item, name)]
    kept = [(each._scope, each.cached_result, list(each._finalizers)) for each in definitions]
    for each in definitions:
        each._scope, each.cached_result, each._finalizers[:] = Scope.Function, None, []
    try:
        yield
    finally:
        for each, (scope, result, finalizers) in zip(definitions, kept, strict=True):
            each._scope, each.cached_result, each._finalizers[:] = scope, result, finalizers


def run_as_always(item: pytest.Function, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
    """What pytest does with an item by itself, but for reporting it.

    Returns:
        The reports: of the setup, of the call unless the setup failed, of the teardown.
    """
    return runtestprotocol(item, log=False, nextitem=nextitem)


def tell_worker_of(item: pytest.Item) -> None:
    """In a worker of pytest-xdist: the reports that follow are of this item."""
    if hasattr(item.config, "workerinput"):
        for plugin in item.config.pluginmanager.get_plugins():
            if type(plugin).__name__ == "WorkerInteractor":
                plugin.item_index = item.session.items.index(item)


def is_hypothesis_test(item: pytest.Function) -> bool:
    """Whether each execution would draw other examples."""
    return bool(getattr(item.function, "is_hypothesis_test", False))


def measures_time(item: pytest.Function) -> bool:
    """Whether pytest-benchmark, or pytest-codspeed, finds out how long something takes."""
    definitions = item._fixtureinfo.name2fixturedefs.get("benchmark")
    if not definitions:
        return False
    module = str(definitions[-1].func.__module__).partition(".")[0]
    session = getattr(item.config, "_benchmarksession", None)
    return module in ("pytest_benchmark", "pytest_codspeed") and not getattr(
        session, "disabled", False
    )


def report_representation(text: str, path: str, line: int, message: str) -> ExceptionChainRepr:
    """A text in the form in which pytest, pytest-xdist and JUnit files want failures."""
    location = ReprFileLocation(path, line, message)
    traceback = ReprTraceback([ReprEntryNative([text])], None, style="native")
    return ExceptionChainRepr([(traceback, location, None)])


def interact(item: pytest.Item, call: pytest.CallInfo[object], report: pytest.TestReport) -> None:
    """``pytest --pdb``, if it was given and there is something to look at."""
    if check_interactive_exception(call, report):
        item.ihook.pytest_exception_interact(node=item, call=call, report=report)


def captured_streams(config: pytest.Config) -> tuple[object, ...]:
    """Where pytest keeps the output of all tests, for itself."""
    return tuple(getattr(capture, "tmpfile", None) for capture in _captures(config))


def _captures(config: pytest.Config) -> list[Any]:
    manager: Any = config.pluginmanager.getplugin("capturemanager")
    captures = getattr(manager, "_global_capturing", None)
    return [getattr(captures, stream, None) for stream in ("out", "err")]


def settle_in_worker(config: pytest.Config, number: int) -> None:
    """In a forked worker process: captured output and temporary folders of its own.

    The files that output is captured in have one position for all processes that share them.

    Parameters:
        config: of the session.
        number: of the worker.
    """
    for capture in _captures(config):
        kept = getattr(capture, "tmpfile", None)
        target = getattr(capture, "targetfd", None)
        if isinstance(target, int) and kept is not None:
            with tempfile.TemporaryFile(buffering=0) as own:
                os.dup2(own.fileno(), kept.fileno(), inheritable=False)
                os.dup2(own.fileno(), target)
    factory: Any = getattr(config, "_tmp_path_factory", None)
    if factory is not None:
        folder = factory.getbasetemp() / f"bohrbug-worker-{number}"
        folder.mkdir(exist_ok=True)
        factory._basetemp = folder


def end_process(config: pytest.Config, node: str, text: str) -> NoReturn:
    """End pytest at once, from another thread: the one that runs the tests is blocked for good.

    Parameters:
        config: of the session.
        node: the test in which it is blocked.
        text: where, with stacks; printed, whatever is captured.
    """
    manager: Any = config.pluginmanager.getplugin("capturemanager")
    if manager is not None:
        manager.suspend_global_capture(in_=False)
    stream = sys.__stderr__
    if stream is not None:
        stream.write(f"\n{node}\n{text}\nbohrbug: it is still blocked, so pytest ends here\n")
        stream.flush()
    os._exit(pytest.ExitCode.INTERNAL_ERROR)
