"""Code that the test makes itself: its accesses are seen in every execution."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import importlib
import marshal
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import pytest

import bohrbug
from bohrbug.accelerator import native
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads.made_code import patches
from tests.programs.together import together

SOURCE = """
import threading
n = 0
lock = threading.Lock()
def broken():
    global n
    n = n + 1
def correct():
    global n
    with lock:
        n = n + 1
"""

PROMISES = (VerdictKind.HOLDS, VerdictKind.HOLDS_WITHIN_BOUND)


def by_exec(path: Path, name: str) -> Callable[[], None]:
    def test() -> None:
        module: dict[str, Any] = {}
        exec(SOURCE, module)
        together(module[name], module[name])
        assert module["n"] == 2

    return test


def by_module(path: Path, name: str) -> Callable[[], None]:
    def test() -> None:
        module = types.ModuleType("made")
        exec(compile(SOURCE, "made.py", "exec"), module.__dict__)
        together(getattr(module, name), getattr(module, name))
        assert module.__dict__["n"] == 2

    return test


def by_reload(path: Path, name: str) -> Callable[[], None]:
    module = importlib.import_module("made_for_tests")

    def test() -> None:
        importlib.reload(module)
        together(getattr(module, name), getattr(module, name))
        assert module.n == 2

    return test


def by_import(path: Path, name: str) -> Callable[[], None]:
    def test() -> None:
        sys.modules.pop("made_for_tests", None)
        module = importlib.import_module("made_for_tests")
        together(getattr(module, name), getattr(module, name))
        assert module.n == 2

    return test


def by_import_from_a_new_folder(path: Path, name: str) -> Callable[[], None]:
    def test() -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "just_written.py").write_text(SOURCE)
            sys.path.insert(0, folder)
            importlib.invalidate_caches()
            try:
                module = importlib.import_module("just_written")
                together(getattr(module, name), getattr(module, name))
                assert module.n == 2
            finally:
                sys.path.remove(folder)
                sys.modules.pop("just_written", None)

    return test


def by_dataclass(path: Path, name: str) -> Callable[[], None]:
    def test() -> None:
        @dataclasses.dataclass
        class Counter:
            n: int = 0
            lock: Any = dataclasses.field(default_factory=threading.Lock)

            def broken(self) -> None:
                self.n = self.n + 1

            def correct(self) -> None:
                with self.lock:
                    self.n = self.n + 1

        counter = Counter()
        together(getattr(counter, name), getattr(counter, name))
        assert counter.n == 2

    return test


def by_named_tuple(path: Path, name: str) -> Callable[[], None]:
    def test() -> None:
        maker: Any = collections.namedtuple("made", "total lock")
        made = maker([0], threading.Lock())

        def broken() -> None:
            made.total[0] = made.total[0] + 1

        def correct() -> None:
            with made.lock:
                made.total[0] = made.total[0] + 1

        function = {"broken": broken, "correct": correct}[name]
        together(function, function)
        assert made.total[0] == 2

    return test


WAYS = (
    *(by_exec, by_module, by_reload, by_import, by_import_from_a_new_folder),
    *(by_dataclass, by_named_tuple),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "made_for_tests.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("made_for_tests", None)


@pytest.mark.parametrize("way", WAYS)
def test_broken_programs_are_found(
    way: Callable[[Path, str], Callable[[], None]], folder: Path
) -> None:
    result = bohrbug.explore(way(folder, "broken"), minimise=False, causes=0)
    assert result.verdict.kind is VerdictKind.FAILED


@pytest.mark.parametrize("way", WAYS)
def test_correct_programs_hold(
    way: Callable[[Path, str], Callable[[], None]], folder: Path
) -> None:
    result = bohrbug.explore(way(folder, "correct"))
    assert result.verdict.kind in PROMISES
    assert not result.verdict.caveats


def test_functions_made_in_the_test_get_their_code_back(folder: Path) -> None:
    bohrbug.explore(by_reload(folder, "correct"))
    module = importlib.import_module("made_for_tests")
    assert not any(callable(constant) for constant in module.correct.__code__.co_consts)


def test_code_that_differs_each_time_is_a_caveat() -> None:
    number = 0

    def test() -> None:
        nonlocal number
        number += 1
        module: dict[str, Any] = {"other": number}
        exec(f"{SOURCE}\nother = {number}", module)
        together(module["broken"], module["broken"])
        assert module["n"] == 2

    result = bohrbug.explore(test, minimise=False, causes=0)
    assert result.verdict.kind not in PROMISES


@pytest.fixture
def patched() -> Iterator[None]:
    patches.install()
    yield
    patches.restore()


@pytest.mark.usefixtures("patched")
class TestSameAsBuiltins:
    def test_names(self) -> None:
        assert (exec.__name__, eval.__name__) == ("exec", "eval")
        assert builtins.exec.__module__ == "builtins"

    def test_locals_of_a_function_are_read_and_not_written(self) -> None:
        value = 1
        assert eval(" value + 1") == 2
        exec("value = 5")
        assert value == 1

    def test_globals_and_locals(self) -> None:
        namespace: dict[str, Any] = {"a": 1}
        local: dict[str, Any] = {}
        exec("b = a + 1", namespace, local)
        assert local == {"b": 2}
        exec("c = a", namespace, None)
        assert namespace["c"] == 1
        assert eval(b"a", namespace) == 1

    def test_a_class_body(self) -> None:
        class Made:
            exec("value = 3")

        assert Made.value == 3  # type: ignore[attr-defined]

    def test_closures(self) -> None:
        cell = types.CellType(4)

        def outer() -> Any:
            value = 0
            return lambda: value

        code = outer().__code__
        assert exec(code, {}, closure=(cell,)) is None  # type: ignore[func-returns-value]

    def test_futures_of_the_caller(self) -> None:
        namespace: dict[str, Any] = {}
        exec("def made(x: unknown): pass", namespace)
        assert namespace["made"].__annotations__ == {"x": "unknown"}

    def test_errors(self) -> None:
        with pytest.raises(SyntaxError):
            exec("1 +")
        with pytest.raises(TypeError):
            eval("1", 1)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            exec(1)  # type: ignore[arg-type]


def _marshalled(shared: list[int]) -> None:
    shared[0] += 1


DATA = marshal.dumps(_marshalled.__code__)


def test_code_that_can_not_be_followed_is_a_caveat() -> None:
    def test() -> None:
        shared = [0]
        made = types.FunctionType(marshal.loads(DATA), globals())
        together(lambda: made(shared), lambda: made(shared))

    verdict = bohrbug.explore(test).verdict
    assert verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert any("each execution makes its code anew" in str(each) for each in verdict.caveats)


def test_what_has_nothing_to_tell_is_no_caveat(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "only_values.py").write_text("from math import pi\nVALUES = [pi]\n")

    def test() -> None:
        sys.modules.pop("only_values", None)
        lock = threading.Lock()
        counts = [0]

        def add() -> None:
            assert eval("1 + 1") == 2
            importlib.import_module("only_values")
            with lock:
                counts[0] += 1

        together(add, add)
        sys.modules.pop("only_values", None)
        assert counts[0] == 2

    verdict = bohrbug.explore(test).verdict
    assert verdict.kind in PROMISES, verdict
    assert not verdict.caveats


@pytest.mark.skipif(native is None, reason="a function in Python has a frame")
@pytest.mark.parametrize("run", [lambda *given: exec(*given), lambda *given: eval(*given)])
def test_what_is_executed_is_next_in_tracebacks(run: Callable[..., None]) -> None:
    """Templates and consoles leave out the frame that executes something, and no more."""
    code = compile("1 // zero", "template", "eval")

    def test() -> None:
        def render() -> None:
            try:
                run(code, {"zero": 0})
            except ZeroDivisionError as error:
                assert error.__traceback__ is not None
                names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
                assert names == ["render", "<lambda>", "<module>"]

        together(render, render)

    verdict = bohrbug.explore(test).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conditions is not None and not verdict.conditions.taking


@pytest.mark.skipif(native is None, reason="they are functions in Python")
def test_they_look_like_functions_in_c() -> None:
    def test() -> None:
        assert isinstance(exec, BuiltinFunctionType)
        assert (exec.__name__, exec.__module__) == ("exec", "builtins")
        with pytest.raises(TypeError):
            exec()  # type: ignore[call-overload]

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS
