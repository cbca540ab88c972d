"""Two looks at an exception, or at what an object is: they may show different states."""

from __future__ import annotations

import copy
import inspect
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from .looking_twice import Looks, check_that_it_holds, check_that_it_is_found, name_of


def _setting(owner: Any, name: str, value: object) -> Callable[[], object]:
    return lambda: setattr(owner, name, value)


def _pickled_arguments() -> Looks:
    error = ValueError(1)
    return lambda: pickle.dumps(error), _setting(error, "args", (2,))


def _pickled_list_in_the_arguments() -> Looks:
    items = [1]
    error = ValueError(items)
    return lambda: pickle.dumps([error]), lambda: items.append(2)


def _pickled_attribute() -> Looks:
    error = ValueError(1)
    return lambda: pickle.dumps(error), _setting(error, "code", 2)


def _copied_attribute() -> Looks:
    error = ValueError(1)
    return lambda: vars(copy.copy(error)), _setting(error, "code", 2)


def _reduced_arguments() -> Looks:
    error = ValueError(1)
    return lambda: error.__reduce__(), _setting(error, "args", (2,))


def _reduced_note() -> Looks:
    error = ValueError(1)
    return lambda: repr(error.__reduce__()), lambda: error.add_note("seen")


def _text_of_an_error_of_the_system() -> Looks:
    error = OSError(1, "reason")
    return lambda: str(error), _setting(error, "errno", 2)


def _file_of_an_error_of_the_system() -> Looks:
    error = FileNotFoundError(2, "reason")
    return lambda: f"{error}", _setting(error, "filename", "file")


def _text_by_its_method() -> Looks:
    error = ValueError(1)
    return lambda: error.__str__(), _setting(error, "args", (2,))


def _text_for_programmers_by_its_method() -> Looks:
    error = ValueError(1)
    return lambda: error.__repr__(), _setting(error, "args", (2,))


def _state_put_back() -> Looks:
    error: Any = ValueError(1)
    error.code = 1
    return lambda: error.code, lambda: error.__setstate__({"code": 2})


def _text_of_an_error_of_syntax() -> Looks:
    error = SyntaxError("message")
    return lambda: str(error), _setting(error, "msg", "other")


def _text_of_an_error_of_an_import() -> Looks:
    error = ImportError("message")
    return lambda: str(error), _setting(error, "msg", "other")


def _text_of_an_error_of_decoding() -> Looks:
    error = UnicodeDecodeError("utf-8", b"abc", 0, 1, "reason")
    return lambda: str(error), _setting(error, "reason", "other")


def _whether_the_context_is_shown() -> Looks:
    error = ValueError(1)
    return lambda: error.__suppress_context__, _setting(error, "__cause__", KeyError())


def _formatted_arguments() -> Looks:
    error = ValueError(1)
    return lambda: traceback.format_exception_only(error), _setting(error, "args", (2,))


def _formatted_note() -> Looks:
    error = ValueError(1)
    return lambda: traceback.format_exception(error), lambda: error.add_note("seen")


def _formatted_cause() -> Looks:
    error = ValueError(1)
    return lambda: traceback.format_exception(error), _setting(error, "__cause__", KeyError())


def _formatted_within_a_group() -> Looks:
    inner = ValueError(1)
    error = ExceptionGroup("several", [inner])
    return lambda: traceback.format_exception(error), _setting(inner, "args", (2,))


class _One:
    pass


class _Other:
    pass


def _text_of_what_is_of_another_class() -> Looks:
    it = _One()
    return lambda: "Other" in repr(it), _setting(it, "__class__", _Other)


def _text_of_a_list_of_such() -> Looks:
    it = _One()
    return lambda: "Other" in str([it]), _setting(it, "__class__", _Other)


def _variables_of_a_closure() -> Looks:
    count = 0

    def look() -> object:
        def counting() -> int:
            return count

        return dict(inspect.getclosurevars(counting).nonlocals)

    def change() -> None:
        nonlocal count
        count += 1

    return look, change


LOOKS: tuple[Callable[[], Looks], ...] = (
    _pickled_arguments,
    _pickled_list_in_the_arguments,
    _pickled_attribute,
    _copied_attribute,
    _reduced_arguments,
    _reduced_note,
    _text_of_an_error_of_the_system,
    _file_of_an_error_of_the_system,
    _text_by_its_method,
    _text_for_programmers_by_its_method,
    _state_put_back,
    _text_of_an_error_of_syntax,
    _text_of_an_error_of_an_import,
    _text_of_an_error_of_decoding,
    _whether_the_context_is_shown,
    _formatted_arguments,
    _formatted_note,
    _formatted_cause,
    _formatted_within_a_group,
    _text_of_what_is_of_another_class,
    _text_of_a_list_of_such,
    _variables_of_a_closure,
)


@pytest.mark.parametrize("make", LOOKS, ids=name_of)
def test_what_changes_in_between_is_seen(make: Callable[[], Looks]) -> None:
    check_that_it_is_found(make)


@pytest.mark.parametrize("make", LOOKS, ids=name_of)
def test_what_a_lock_guards_does_not_change_in_between(make: Callable[[], Looks]) -> None:
    check_that_it_holds(make)
