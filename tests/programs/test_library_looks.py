"""Two looks at an object of the library, at a module or a class: they may show different states."""

from __future__ import annotations

import code
import codecs
import copy
import csv
import enum
import functools
import io
import itertools
import locale
import logging
import os
import pickle
import reprlib
import selectors
import threading
import trace
import types
import unittest.mock
import warnings
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Iterator
from http.cookies import Morsel
from typing import Any

import pytest

from .looking_twice import Looks, check_that_it_holds, check_that_it_is_found, name_of

_numbers = itertools.count()


class _Named(dict[str, int]):
    def __init__(self) -> None:
        super().__init__()
        self.a = 1


class _Listed(list[int]):
    def __init__(self) -> None:
        super().__init__()
        self.a = 1


def _setting(owner: Any, name: str, value: object) -> Callable[[], object]:
    return lambda: setattr(owner, name, value)


# --- Attributes of containers --------------------------------------------------------------------


def _variables_of_a_dict() -> Looks:
    it = _Named()
    return lambda: dict(vars(it)), _setting(it, "a", 2)


def _new_variable_of_a_list() -> Looks:
    it = _Listed()
    return lambda: len(vars(it)), _setting(it, "b", 2)


def _copy_of_a_dict() -> Looks:
    it = _Named()
    return lambda: copy.copy(it).a, _setting(it, "a", 2)


def _pickled_list() -> Looks:
    it = _Listed()
    return lambda: pickle.loads(pickle.dumps(it)).a, _setting(it, "a", 2)


def _attributes_by_name() -> Looks:
    it = _Listed()
    return lambda: "b" in dir(it), _setting(it, "b", 2)


def _variables_taken_over() -> Looks:
    it = _Named()

    def look() -> object:
        other = types.SimpleNamespace()
        other.__dict__.update(it.__dict__)
        return other.a

    return look, _setting(it, "a", 2)


def _copied_morsel() -> Looks:
    morsel: Morsel[str] = Morsel()
    morsel.set("a", "1", "1")
    return lambda: morsel.copy().OutputString(), lambda: morsel.set("b", "2", "2")


# --- Streams -------------------------------------------------------------------------------------


def _lines_at_once() -> Looks:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    return lambda: stream.line_buffering, lambda: stream.reconfigure(line_buffering=True)


def _encoding() -> Looks:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    return lambda: stream.encoding, lambda: stream.reconfigure(encoding="latin-1")


def _errors() -> Looks:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    return lambda: stream.errors, lambda: stream.reconfigure(errors="ignore")


def _closed_text() -> Looks:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    return lambda: stream.closed, lambda: stream.close()


def _closed_buffer() -> Looks:
    stream = io.BufferedWriter(io.BytesIO())  # type: ignore[type-var]
    return lambda: stream.closed, lambda: stream.close()


def _detached() -> Looks:
    stream = io.BufferedReader(io.BytesIO())  # type: ignore[type-var]

    def look() -> object:
        try:
            return stream.closed
        except ValueError:
            return "detached"

    return look, lambda: stream.detach()


def _newlines() -> Looks:
    stream = io.TextIOWrapper(io.BytesIO(b"a\r\nb\n"), encoding="utf-8")
    return lambda: stream.newlines, lambda: stream.readline()


class _Raw(io.RawIOBase):
    """It is closed by its base in C."""


def _closed_base() -> Looks:
    stream = _Raw()
    return lambda: stream.closed, lambda: stream.close()


def _closed_by_a_block() -> Looks:
    stream = _Raw()

    def leave() -> None:
        with stream:
            pass

    return lambda: stream.closed, leave


def _checked() -> Looks:
    stream: Any = _Raw()

    def look() -> object:
        try:
            stream._checkClosed()
        except ValueError:
            return "closed"
        return "open"

    return look, lambda: stream.close()


def _member_of_an_archive() -> Looks:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a"), "x")
    member = zipfile.ZipFile(packed).open("a")
    return lambda: member.closed, lambda: member.close()


# --- Modules, classes and code -------------------------------------------------------------------


def _names_in_a_module() -> Looks:
    module = types.ModuleType("made")
    return lambda: "a" in dir(module), _setting(module, "a", 1)


def _what_a_module_makes_up() -> Looks:
    module = types.ModuleType("made")

    def make_up() -> None:
        module.__getattr__ = lambda name: 1  # type: ignore[method-assign]

    return lambda: getattr(module, "a", 0), make_up


class _Holding:
    def __init__(self) -> None:
        self.items = [1]

    def __iter__(self) -> Iterator[int]:
        return iter(self.items)


def _chained() -> Looks:
    it = _Holding()
    return lambda: list(itertools.chain([0], it)), lambda: it.items.append(2)


def _names_in_a_class() -> Looks:
    class_ = _new_class()
    return lambda: "a" in dir(class_), _setting(class_, "a", 1)


def _names_of_an_object_by_its_class() -> Looks:
    class_ = _new_class()
    it = class_()
    return lambda: "a" in dir(it), _setting(class_, "a", 1)


def _property_before_an_attribute() -> Looks:
    class_ = _new_class()
    it = class_()
    it.a = 1

    def change() -> None:
        class_.a = property(lambda self: 2)

    return lambda: it.a, change


def _property_that_can_not_be_set() -> Looks:
    class_ = _new_class()
    it = class_()

    def look() -> object:
        try:
            it.a = 1
        except AttributeError:
            return False
        return True

    def change() -> None:
        class_.a = property(lambda self: 2)

    return look, change


def _new_class() -> Any:
    return type("Made", (), {})


def _attribute_of_an_enum() -> Looks:
    colour: Any = enum.Enum("colour", "RED")

    def change() -> None:
        colour.a = 1

    return lambda: hasattr(colour, "a"), change


def _names_that_code_stores() -> Looks:
    names = {"a": 1}
    return lambda: list(names.values()), lambda: exec("a = 2", names)


def _size_of_the_names_of_code() -> Looks:
    names: dict[str, object] = {}
    exec("pass", names)
    return lambda: len(names), lambda: names.update(a=1)


def _prompt() -> Looks:
    prompt = code.InteractiveInterpreter({"a": 1})
    return lambda: prompt.locals["a"], lambda: prompt.runsource("a = 2")


def _unfinished_input() -> Looks:
    prompt = code.InteractiveConsole()
    return lambda: list(prompt.buffer), lambda: prompt.push("if 1:")


def _state_of_a_partial() -> Looks:
    function: Any = functools.partial(len, [1])
    return lambda: function.args, lambda: function.__setstate__((len, ([],), {}, None))


# --- The rest ------------------------------------------------------------------------------------


def _level() -> Looks:
    logger = _logger()
    return lambda: logger.isEnabledFor(logging.INFO), lambda: logger.setLevel(logging.INFO)


def _level_of_a_parent() -> Looks:
    logger = _logger()
    child = logger.getChild("child")
    return lambda: _lines_logged_by(child), lambda: logger.setLevel(logging.INFO)


def _disabled_logger() -> Looks:
    logger = _logger()
    logger.setLevel(logging.INFO)
    return lambda: _lines_logged_by(logger), _setting(logger, "disabled", True)


def _disabled_logging() -> Looks:
    logger = _logger()
    logger.setLevel(logging.INFO)
    return lambda: _lines_logged_by(logger), lambda: logging.disable(logging.INFO)


def _logger() -> logging.Logger:
    logging.disable(logging.NOTSET)
    logger = logging.getLogger(f"tests.looks{next(_numbers)}")
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    return logger


def _lines_logged_by(logger: logging.Logger) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    logger.info("seen")
    logger.removeHandler(handler)
    return stream.getvalue()


def name_of_a_handler() -> Looks:
    handler = logging.NullHandler()
    return lambda: handler.get_name(), lambda: handler.set_name("a")


def _wanted_warnings() -> Looks:
    warnings.resetwarnings()

    def look() -> object:
        try:
            warnings.warn("seen", UserWarning, stacklevel=1)
        except UserWarning:
            return "raised"
        return "shown"

    warnings.simplefilter("ignore")
    return look, lambda: warnings.simplefilter("error")


def _how_a_mock_was_called() -> Looks:
    mock = unittest.mock.Mock()

    def look() -> object:
        try:
            mock.assert_any_call(1)
        except AssertionError:
            return False
        return True

    return look, lambda: mock(1)


def _calls_of_a_mock() -> Looks:
    mock = unittest.mock.Mock()

    def look() -> object:
        try:
            mock.assert_has_calls([unittest.mock.call.a(1)])
        except AssertionError:
            return False
        return True

    return look, lambda: mock.a(1)


def _shortened() -> Looks:
    shortening = reprlib.Repr()
    return lambda: shortening.repr([[1]]), _setting(shortening, "maxlevel", 1)


def _how_far_a_reader_is() -> Looks:
    reader = codecs.getreader("utf-8")(io.BytesIO(b"ab"))
    return lambda: reader.stream.tell(), lambda: reader.seek(1)


def _locale() -> Looks:
    locale.setlocale(locale.LC_CTYPE, "C")
    return lambda: locale.getlocale(), lambda: locale.setlocale(locale.LC_CTYPE, "C.UTF-8")


def _dialects() -> Looks:
    if "looks" in csv.list_dialects():
        csv.unregister_dialect("looks")

    def look() -> object:
        try:
            return bool(csv.writer(io.StringIO(), "looks"))
        except csv.Error:
            return "unknown"

    return look, lambda: csv.register_dialect("looks", delimiter="|")


@functools.cache
def _pipe() -> tuple[int, int]:
    return os.pipe()


def _watched_files() -> Looks:
    end = _pipe()[1]
    selector = selectors.SelectSelector()
    selector.register(end, selectors.EVENT_READ)
    return lambda: len(selector.select(0)), lambda: selector.modify(end, selectors.EVENT_WRITE)


def _events_of_a_parser() -> Looks:
    parser = ET.XMLPullParser()
    events: Any = vars(parser)["_events_queue"]
    return lambda: len(events), lambda: parser.feed("<a><b></b>")


def _lines_counted() -> Looks:
    results = trace.CoverageResults()
    other = trace.CoverageResults({("a", 1): 2})
    return lambda: dict(results.counts), lambda: results.update(other)


def name_of_a_thread() -> Looks:
    thread = threading.Thread(target=int, name="a")
    return lambda: thread.getName(), _setting(thread, "name", "b")


def _whether_a_thread_is_a_daemon() -> Looks:
    thread = threading.Thread(target=int)
    return lambda: thread.isDaemon(), _setting(thread, "daemon", True)


LOOKS: tuple[Callable[[], Looks], ...] = (
    _variables_of_a_dict,
    _new_variable_of_a_list,
    _copy_of_a_dict,
    _pickled_list,
    _attributes_by_name,
    _variables_taken_over,
    _copied_morsel,
    _lines_at_once,
    _encoding,
    _errors,
    _closed_text,
    _closed_buffer,
    _detached,
    _newlines,
    _closed_base,
    _closed_by_a_block,
    _checked,
    _member_of_an_archive,
    _names_in_a_module,
    _what_a_module_makes_up,
    _chained,
    _names_in_a_class,
    _names_of_an_object_by_its_class,
    _property_before_an_attribute,
    _property_that_can_not_be_set,
    _attribute_of_an_enum,
    _names_that_code_stores,
    _size_of_the_names_of_code,
    _prompt,
    _unfinished_input,
    _state_of_a_partial,
    _level,
    _level_of_a_parent,
    _disabled_logger,
    _disabled_logging,
    name_of_a_handler,
    _wanted_warnings,
    _how_a_mock_was_called,
    _calls_of_a_mock,
    _shortened,
    _how_far_a_reader_is,
    _locale,
    _dialects,
    _watched_files,
    _events_of_a_parser,
    _lines_counted,
    name_of_a_thread,
    _whether_a_thread_is_a_daemon,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")


@pytest.fixture(autouse=True)
def _as_before() -> Any:
    language = locale.setlocale(locale.LC_CTYPE)
    with warnings.catch_warnings():
        yield
    locale.setlocale(locale.LC_CTYPE, language)
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("make", LOOKS, ids=name_of)
def test_what_changes_in_between_is_seen(make: Callable[[], Looks]) -> None:
    check_that_it_is_found(make)


@pytest.mark.parametrize("make", LOOKS, ids=name_of)
def test_what_a_lock_guards_does_not_change_in_between(make: Callable[[], Looks]) -> None:
    check_that_it_holds(make)
