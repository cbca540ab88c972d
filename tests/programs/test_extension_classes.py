"""Classes in C that no table knows."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind

from .guarding import Guard
from .together import together

SOURCE = Path(__file__).with_name("extension.c")
KINDS = ("Static", "Builtin", "Silent")


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The compiled extension module."""
    compiler = shutil.which("cc")
    assert compiler is not None, "the tests need a compiler of C called cc"
    target = tmp_path_factory.mktemp("extension") / "extension.so"
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run([compiler, "-shared", "-fPIC", include, "-o", target, SOURCE], check=True)
    spec = importlib.util.spec_from_file_location("extension", target)
    assert spec is not None
    assert spec.loader is not None
    with warnings.catch_warnings():
        # That a class says nothing at all is deprecated.
        warnings.simplefilter("ignore")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def _count(kind: type, guard: Guard) -> None:
    cell = kind()

    def work() -> None:
        with guard:
            cell.set(cell.get() + 1)

    together(work, work)
    assert cell.get() == 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_objects_of_classes_without_a_module_hold_is_seen(
    extension: ModuleType, kind: str
) -> None:
    class_ = getattr(extension, kind)
    result = bohrbug.explore(lambda: _count(class_, nullcontext()))
    assert result.verdict.kind is VerdictKind.FAILED


@pytest.mark.parametrize("kind", KINDS)
def test_they_hold_with_a_lock(extension: ModuleType, kind: str) -> None:
    class_ = getattr(extension, kind)
    result = bohrbug.explore(lambda: _count(class_, threading.Lock()))
    assert result.verdict.kind is VerdictKind.HOLDS
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


def test_what_is_compared_by_value_may_change(extension: ModuleType) -> None:
    def test() -> None:
        handle = extension.Handle()

        def work() -> None:
            handle.set_number(handle.get() + 1)

        together(work, work)
        assert handle.get() == 2

    assert bohrbug.explore(test).verdict.kind is VerdictKind.FAILED


def _remember(class_: type, guard: Guard) -> None:
    calls: list[int] = []
    remembered = class_(lambda: calls.append(1))  # type: ignore[call-arg]

    def work() -> None:
        with guard:
            remembered()

    together(work, work)
    assert calls == [1]


def test_what_can_be_a_method_may_remember(extension: ModuleType) -> None:
    result = bohrbug.explore(lambda: _remember(extension.Remembered, nullcontext()))
    assert result.verdict.kind is VerdictKind.FAILED
    result = bohrbug.explore(lambda: _remember(extension.Remembered, threading.Lock()))
    assert result.verdict.kind is VerdictKind.HOLDS


def _by_attribute(lazy: Any) -> object:
    return lazy.anything


def _by_item(lazy: Any) -> object:
    return lazy["anything"]


def _by_descriptor(lazy: Any) -> Any:
    described = type("Described", (), {"anything": lazy})()
    return lambda _: described.anything


@pytest.mark.parametrize("way", [_by_attribute, _by_item, _by_descriptor])
def test_what_asks_a_function_when_it_is_read_may_keep_the_answer(
    extension: ModuleType, way: Callable[[Any], Any]
) -> None:
    def test(guard: Guard) -> None:
        made: list[int] = []
        lazy = extension.Lazy(lambda: made.append(1))
        ask = way(lazy) if way is _by_descriptor else way

        def work() -> None:
            with guard:
                ask(lazy)

        together(work, work)
        assert made == [1]

    assert bohrbug.explore(lambda: test(nullcontext())).verdict.kind is VerdictKind.FAILED
    assert bohrbug.explore(lambda: test(threading.Lock())).verdict.kind is VerdictKind.HOLDS


class _Account:
    def __init__(self) -> None:
        self.balance = 0


def _pay_by(payer: Callable[[_Account], Any], guard: Guard) -> None:
    account = _Account()

    def work() -> None:
        own = payer(account)
        with guard:
            own.balance = own.balance + 1

    together(work, work)
    assert account.balance == 2


def _look_by(looker: Callable[[list[int]], Any], guard: Guard) -> None:
    things: list[int] = []
    lengths: list[int] = []

    def put() -> None:
        with guard:
            things.append(1)
            things.append(2)

    def look() -> None:
        own = looker(things)
        with guard:
            lengths.append(len(own))

    together(put, look)
    assert lengths != [1]


@pytest.mark.parametrize("use", [_pay_by, _look_by])
def test_proxies_are_what_they_stand_for(
    extension: ModuleType, use: Callable[[Callable[[Any], Any], Guard], None]
) -> None:
    result = bohrbug.explore(lambda: use(extension.Proxy, nullcontext()))
    assert result.verdict.kind is VerdictKind.FAILED
    assert result.races
    result = bohrbug.explore(lambda: use(extension.Proxy, threading.Lock()))
    assert result.verdict.kind is VerdictKind.HOLDS


def test_a_proxy_may_stand_for_nothing_yet_and_for_what_has_no_attributes(
    extension: ModuleType,
) -> None:
    def test() -> None:
        def work() -> None:
            own = extension.Proxy()
            own.begin([1, 2])
            assert len(own) == 2

        together(work, work)

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


def test_no_code_is_called_to_find_out_what_a_proxy_stands_for(extension: ModuleType) -> None:
    asked: list[int] = []

    class Telling(extension.Proxy):  # type: ignore[name-defined, misc]
        @property
        def __wrapped__(self) -> object:
            asked.append(1)
            raise AssertionError

    def test() -> None:
        account = _Account()

        def work() -> None:
            own = Telling(account)
            own.balance = own.balance + 1

        together(work, work)
        assert account.balance == 2

    assert bohrbug.explore(test).verdict.kind is VerdictKind.FAILED
    assert not asked


def test_records_are_views_of_an_array(extension: ModuleType) -> None:
    def test() -> None:
        array = extension.Static()

        def work() -> None:
            own = extension.Record(array)
            own.set(own.get() + 1)

        together(work, work)
        assert array.get() == 2

    assert bohrbug.explore(test).verdict.kind is VerdictKind.FAILED


def _count_by_methods(cursor: Any) -> None:
    cursor.set(cursor.get() + 1)


def _count_by_attribute(cursor: Any) -> None:
    cursor.set(cursor.value + 1)


@pytest.mark.parametrize("count", [_count_by_methods, _count_by_attribute])
def test_cursors_work_on_what_they_hold(
    extension: ModuleType, count: Callable[[Any], None]
) -> None:
    class Own(extension.Cursor):  # type: ignore[name-defined, misc]
        """Of another module."""

    def test(guard: Guard) -> None:
        handle = extension.Handle()
        cursors = [extension.Cursor(handle), Own(handle)]

        def work() -> None:
            with guard:
                count(cursors.pop())

        together(work, work)
        assert handle.get() == 2

    assert bohrbug.explore(lambda: test(nullcontext())).verdict.kind is VerdictKind.FAILED
    assert bohrbug.explore(lambda: test(threading.Lock())).verdict.kind is VerdictKind.HOLDS


def _look_twice(look: Callable[[], int], change: Callable[[], object]) -> None:
    seen: list[bool] = []
    together(lambda: seen.append(look() == look()), change)
    assert seen == [True]


def test_what_the_program_gives_a_cursor_is_its_own(extension: ModuleType) -> None:
    class Own(extension.Cursor):  # type: ignore[name-defined, misc]
        """It has attributes."""

    def test() -> None:
        beside = extension.Handle()
        cursors = [Own(extension.Handle()), Own(extension.Handle())]
        for cursor in cursors:
            cursor.beside = beside
        together(lambda: cursors[0].set(1), lambda: cursors[1].set(1))

    verdict = bohrbug.explore(test).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conditions is not None
    assert not verdict.conditions.taking


@pytest.mark.parametrize("name", ["value", "found"])
def test_attributes_of_a_cursor_are_those_of_what_it_holds(
    extension: ModuleType, name: str
) -> None:
    def test() -> None:
        handle = extension.Handle()
        one, other = extension.Cursor(handle), extension.Cursor(handle)
        _look_twice(lambda: getattr(one, name), lambda: other.set(1))

    assert bohrbug.explore(test).verdict.kind is VerdictKind.FAILED


def test_a_bound_method_works_on_its_object(extension: ModuleType) -> None:
    def test() -> None:
        handle = extension.Handle()
        _look_twice(handle.get, extension.BoundMethod(handle))

    assert bohrbug.explore(test).verdict.kind is VerdictKind.FAILED


def test_an_iterator_may_have_its_method_from_elsewhere(extension: ModuleType) -> None:
    def test() -> None:
        numbers = extension.Numbers()
        _look_twice(numbers.get, lambda: next(numbers))

    assert bohrbug.explore(test).verdict.kind is VerdictKind.FAILED


def _is_odd(number: Any) -> bool:
    return bool(number == 1)


def _plus(number: Any) -> bool:
    return bool((1 + number) == 2)


def _as_int(number: Any) -> bool:
    return int(number) % 2 == 1


def _first(number: Any) -> bool:
    return next(enumerate(number)) == (0, 1)


@pytest.mark.parametrize("is_odd", [_is_odd, _plus, _as_int, _first])
def test_what_is_combined_with_constants_is_read(
    extension: ModuleType, is_odd: Callable[[Any], bool]
) -> None:
    def test(guard: Guard) -> None:
        number = extension.Number()
        seen: list[bool] = []

        def change() -> None:
            with guard:
                number.set(1)
                number.set(2)

        def look() -> None:
            with guard:
                seen.append(is_odd(number))

        together(change, look)
        assert seen == [False]

    assert bohrbug.explore(lambda: test(nullcontext())).verdict.kind is VerdictKind.FAILED
    assert bohrbug.explore(lambda: test(threading.Lock())).verdict.kind is VerdictKind.HOLDS


def test_what_a_constant_is_added_to_in_place_changes(extension: ModuleType) -> None:
    def test() -> None:
        number = extension.Number()
        seen: list[bool] = []

        def change() -> None:
            own = number
            own += 1

        def look() -> None:
            seen.append(int(number) == int(number))

        together(change, look)
        assert seen == [True]

    assert bohrbug.explore(test).verdict.kind is VerdictKind.FAILED


_WITH_SWIG = """
import importlib.util, sys
import bohrbug
from tests.programs.together import together

spec = importlib.util.spec_from_file_location("extension", sys.argv[1])
extension = importlib.util.module_from_spec(spec)
spec.loader.exec_module(extension)

def test():
    made = [extension.OfSwig() for _ in range(20)]

    def work():
        while made:
            one = made.pop()
            one.set(one.get() + 1)

    together(work, work)

print(bohrbug.explore(test, executions=20).executions)
"""


def test_objects_of_swig_are_not_referenced_weakly(extension: ModuleType) -> None:
    # What follows a reference that leads nowhere crashes.
    done = subprocess.run(
        [sys.executable, "-c", _WITH_SWIG, str(extension.__file__)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1


def test_all_that_the_interpreter_has_is_known() -> None:
    script = """
import importlib, sys, warnings
warnings.simplefilter("ignore")
for name in sorted(sys.stdlib_module_names):
    if name.startswith(("_test", "_xx")) or name in ("antigravity", "this", "idlelib"):
        continue
    try:
        importlib.import_module(name)
    except (ImportError, OSError):
        pass
from bohrbug.runtime.threads.namespaces import with_subclasses
from bohrbug.runtime.threads.rewrite.classes import module_of
module = type.__dict__["__module__"].__get__
classes = with_subclasses(object)
print(*{each.__name__ for each in classes if module(each) == "builtins" != module_of(each)})
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == []
