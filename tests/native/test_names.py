"""What reports call the tasks, locks and places of native programs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.reproduction import failure_from_json, failure_to_json
from bohrbug.exploration.result import Failure
from bohrbug.model.cause import Strength
from bohrbug.model.function_name import without_parameters
from bohrbug.model.history import with_places
from bohrbug.model.operation import ACQUIRE, Operation, Site
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.report.cause import cause_in_words
from bohrbug.report.html.failure import failure_page
from bohrbug.report.naming import Names
from bohrbug.runtime.posix.symbols import Module, demangled
from tests.native.exploring import explored

Build = Callable[..., Path]


def failure_of(program: Path, *arguments: str) -> Failure:
    (failure,) = explored(program, *arguments, causes=0).failures
    return failure


def labels_of(failure: Failure) -> set[str]:
    return {resource.label.rpartition("/")[2] for resource in failure.trace.resources.values()}


def test_names_of_cplusplus_are_those_of_the_source(native_build: Build) -> None:
    failure = failure_of(native_build("names.cpp", "-O0"))
    infos = failure.trace.task_infos
    assert infos["0.1"].target == "bank::Account::deposit"
    assert infos["0.2"].target == "main::{lambda()#1}"
    labels = labels_of(failure)
    assert "mutex bank::ledger" in labels
    # Not the line of a header that calls the C library.
    assert {"names.cpp:14", "names.cpp:20"} & labels


def test_a_library_that_is_loaded_late_has_lines_and_names(native_build: Build) -> None:
    plugin = native_build("plugin.c", "-DPLUGIN", "-shared", "-fPIC")
    failure = failure_of(native_build("plugin.c"), str(plugin))
    infos = failure.trace.task_infos
    assert [infos[task].target for task in ("0.1", "0.2")] == ["left_first", "right_first"]
    assert {"mutex left", "mutex right"} <= labels_of(failure)
    sites = [site_of(blocked.operation.place) for blocked in failure.outcome.blocked]
    assert {Path(site.filename).name for site in sites if site is not None} == {"plugin.c"}


def test_a_lock_that_was_copied_by_fork_says_where_it_was_taken(native_build: Build) -> None:
    failure = failure_of(native_build("fork_with_lock.c"))
    (abandoned,) = filter(None, (blocked.abandoned for blocked in failure.outcome.blocked))
    assert not abandoned.task
    assert abandoned.acquired is not None
    assert Path(abandoned.acquired.filename).name == "fork_with_lock.c"


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("worker", "worker"),
        ("Pool::run()", "Pool::run"),
        ("void Pool::run<int, char>(int) const", "Pool::run"),
        ("main::{lambda()#1}::operator()() const", "main::{lambda()#1}"),
        ("bank::main::{{closure}}", "bank::main::{{closure}}"),
    ],
)
def test_parameters_are_left_out_of_names(function: str, name: str) -> None:
    assert without_parameters(function) == name


def test_what_no_compiler_has_changed_stays() -> None:
    assert demangled("balance") == "balance"
    assert demangled("_exit") == "_exit"


def test_sources_that_were_changed_after_the_build_are_told(tmp_path: Path) -> None:
    program, older, newer = (str(tmp_path / name) for name in ("program", "older.c", "newer.c"))
    for moment, path in enumerate((older, program, newer)):
        Path(path).touch()
        os.utime(path, (moment, moment))
    module = Module(program)
    for number, file in enumerate((older, newer, str(tmp_path / "gone.c"))):
        module.place(number)._site = Site(file, 1, "main")
    assert module.newer_sources() == {newer}


def test_a_cause_speaks_of_a_lock_whoever_comes_to_it_first(native_build: Build) -> None:
    (failure,) = explored(native_build("checked_first.c")).failures
    cause = failure.cause
    assert cause is not None
    assert cause.strength is Strength.EXACT
    words = cause_in_words(cause, failure.trace, Names(failure.trace))
    # Both have looked before either of them sets it.
    assert {(o.first.occurrence, o.second.occurrence) for o in cause.orderings} == {(1, 2)}
    assert {o.first.task for o in cause.orderings} == {"0.1", "0.2"}
    # Where that is, too.
    assert "(checked_first.c:11)" in words
    assert "(checked_first.c:16)" in words


def test_read_back_from_a_file_a_cause_has_the_places_of_its_trace(native_build: Build) -> None:
    (found,) = explored(native_build("checked_first.c")).failures
    failure = failure_from_json(json.loads(json.dumps(failure_to_json(found))))
    assert failure.cause is not None
    words = cause_in_words(failure.cause, failure.trace, Names(failure.trace))
    assert "(checked_first.c:11)" in words
    assert "(checked_first.c:16)" in words
    # Each is a step of the execution, not one that it never came to.
    page = failure_page(failure)
    assert len(page.moments) == 4
    assert all(moment.step is not None for moment in page.moments)


def test_what_is_known_without_a_place_stays_as_it_is() -> None:
    lock, place = "1.0", Site("bank.c", 3, "pay")
    steps = [("0.1", ACQUIRE, None), ("0.1", ACQUIRE, place), ("0.2", ACQUIRE, place)]
    trace = Trace()
    trace.tasks[:] = [task for task, _, _ in steps]
    trace.operations[:] = [Operation(kind, lock, site) for _, kind, site in steps]
    trace.enabled[:] = [("0.1", "0.2")] * len(steps)
    trace.timed[:] = [()] * len(steps)
    known, other = Event("0.1", ACQUIRE, lock, None), Event("0.2", ACQUIRE, lock, None)
    gone = Event("0.2", ACQUIRE, lock, None, 2)
    (first, second) = with_places((Ordering(known, other), Ordering(known, gone)), trace)
    assert first == Ordering(known, Event("0.2", ACQUIRE, lock, place))
    assert second == Ordering(known, gone)
