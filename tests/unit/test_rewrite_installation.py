"""Rewritten code in function objects: put in, found, undone, and invisible to tools."""

from __future__ import annotations

import bdb
import collections.abc
import gc
import importlib
import inspect
import logging
import operator
import re
import sys
import textwrap
import traceback
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bohrbug.runtime.threads.rewrite import TRUSTED_MODULES, Discovery, Rewriter, Scope, set_sink
from bohrbug.runtime.threads.rewrite.attributes import read_kinds
from bohrbug.runtime.threads.rewrite.shared_state import SHARED_STATE


class Counting:
    """A sink that counts."""

    def __init__(self) -> None:
        self.count = 0

    def attribute(self, owner: object, name: str, is_write: bool, place: object) -> None:
        self.count += 1

    def item(self, owner: object, key: object, is_write: bool, place: object) -> None:
        self.count += 1

    def whole(self, owner: object, is_write: bool, place: object) -> None:
        self.count += 1

    def breaker(self) -> None:
        self.count += 1


class Holder:
    """Something with an attribute."""

    def __init__(self) -> None:
        self.value = 1

    def get(self) -> int:
        return self.value


def plain(holder: Holder) -> int:
    """Return the value."""
    return holder.value


def raising(holder: Holder) -> int:
    value = holder.value
    return (
        value + holder.missing  # type: ignore[attr-defined]
    )


def making() -> Callable[[Holder], int]:
    return lambda holder: holder.value


@pytest.fixture
def rewriter() -> Iterator[Rewriter]:
    made = Rewriter()
    yield made
    set_sink(None)
    made.restore()


def count_of(function: Callable[..., object], *arguments: object) -> int:
    """How many accesses a call tells."""
    sink = Counting()
    set_sink(sink)  # type: ignore[arg-type]
    try:
        function(*arguments)
    finally:
        set_sink(None)
    return sink.count


def test_install_by_code_and_restore(rewriter: Rewriter) -> None:
    original = plain.__code__
    reference = plain
    assert rewriter.install([original]) == 1
    assert reference.__code__ is not original
    assert rewriter.original(reference.__code__) is original
    assert count_of(reference, Holder()) == 1
    rewriter.restore()
    assert plain.__code__ is original
    assert count_of(plain, Holder()) == 0


def test_installing_twice_changes_nothing(rewriter: Rewriter) -> None:
    original = plain.__code__
    rewriter.install([original])
    rewritten = plain.__code__
    assert rewriter.install([original, rewritten]) == 0
    assert plain.__code__ is rewritten
    rewriter.restore()
    rewriter.install([original])
    assert plain.__code__ is rewritten


def test_all_functions_with_one_code_are_found(rewriter: Rewriter) -> None:
    first, second = making(), making()
    assert first.__code__ is second.__code__
    assert rewriter.install([first.__code__]) == 2
    assert count_of(first, Holder()) == count_of(second, Holder()) == 1


def test_functions_made_by_rewritten_code_are_rewritten_and_restored(rewriter: Rewriter) -> None:
    original = making().__code__
    rewriter.install([making.__code__])
    made = making()
    assert count_of(made, Holder()) == 1
    rewriter.restore()
    assert made.__code__ is original


def test_methods(rewriter: Rewriter) -> None:
    holder = Holder()
    bound = holder.get
    rewriter.install([Holder.get.__code__])
    assert count_of(bound) == 1


def test_out_of_scope_functions_are_left_alone() -> None:
    rewriter = Rewriter(Scope([f"-{__name__}"]))
    assert rewriter.install([plain.__code__]) == 0


def test_without_a_sink_nothing_is_told_and_all_works(rewriter: Rewriter) -> None:
    rewriter.install([plain.__code__])
    assert plain(Holder()) == 1


def test_exceptions_of_the_sink_reach_the_function(rewriter: Rewriter) -> None:
    class Unwinding(BaseException):
        pass

    class Refusing(Counting):
        def attribute(self, owner: object, name: str, is_write: bool, place: object) -> None:
            raise Unwinding

    cleaned = []

    def function(holder: Holder) -> int:
        try:
            return holder.value
        finally:
            cleaned.append(True)

    rewriter.install_function(function)  # type: ignore[arg-type]
    set_sink(Refusing())  # type: ignore[arg-type]
    with pytest.raises(Unwinding):
        function(Holder())
    set_sink(None)
    assert cleaned == [True]


def test_source_signature_and_names_stay(rewriter: Rewriter) -> None:
    source, signature = inspect.getsource(plain), inspect.signature(plain)
    names = plain.__code__.co_varnames
    rewriter.install([plain.__code__])
    assert inspect.getsource(plain) == source
    assert inspect.signature(plain) == signature
    assert inspect.getdoc(plain) == "Return the value."
    assert plain.__code__.co_varnames == names
    assert plain.__code__.co_firstlineno == rewriter.original(plain.__code__).co_firstlineno


def test_tracebacks_are_the_same(rewriter: Rewriter) -> None:
    def formatted() -> str:
        try:
            raising(Holder())
        except AttributeError:
            return traceback.format_exc()
        raise AssertionError

    before = formatted()
    rewriter.install([raising.__code__])
    set_sink(Counting())  # type: ignore[arg-type]
    after = formatted()
    set_sink(None)
    assert after == before
    assert "holder.missing" in before


@pytest.mark.parametrize("breakers", [False, True])
def test_line_events_are_the_same(breakers: bool) -> None:
    def looping(holder: Holder) -> int:
        total = 0
        for number in [1, 2]:
            if number > 1:
                total += holder.value
            else:
                total -= holder.value
        try:
            raising(holder)
        except AttributeError:
            total += 1
        return total

    def lines_of(function: types.FunctionType) -> list[int]:
        lines: list[int] = []

        def trace(frame: types.FrameType, event: str, argument: Any) -> Any:
            if frame.f_code is not function.__code__:
                return None
            if event == "line":
                lines.append(frame.f_lineno)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            function(Holder())
        finally:
            sys.settrace(before)
        return lines

    assert isinstance(looping, types.FunctionType)
    before = lines_of(looping)
    assert len(before) > 8
    Rewriter(breakers=breakers).install_function(looping)
    assert lines_of(looping) == before


def test_a_debugger_that_skips_us_steps_through_the_users_lines(rewriter: Rewriter) -> None:
    class Stepping(bdb.Bdb):
        def __init__(self) -> None:
            super().__init__(skip=["bohrbug.*"])
            self.seen: list[str] = []

        def user_line(self, frame: types.FrameType) -> None:
            self.seen.append(frame.f_code.co_name)
            self.set_step()

    rewriter.install([plain.__code__])
    debugger = Stepping()
    holder = Holder()
    debugger.runcall(plain, holder)
    assert set(debugger.seen) <= {"plain", "runcall"}
    assert "plain" in debugger.seen


def test_locals_and_frames_are_as_before(rewriter: Rewriter) -> None:
    def function(first: int, second: int) -> list[str]:
        third = first
        [number for number in (1, 2)]  # noqa: C416
        fourth = second + third
        assert fourth
        return [name for name in list(locals()) if not name.startswith("name")]

    before = function(1, 2)
    rewriter.install_function(function)  # type: ignore[arg-type]
    assert function(1, 2) == before


def test_jumps_over_long_code(rewriter: Rewriter) -> None:
    """Jumps that need one more byte after rewriting, and more than 255 constants."""
    body = "\n".join(f"        box.a{number} = {number} + box.a{number}" for number in range(400))
    source = textwrap.dedent(
        """
        def function(box):
            total = 0
            for step in range(3):
                if step == 1:
                    continue
                try:
                    total += box.missing
                except AttributeError:
                    total += 1
        %s
            return total
        """
    ).replace("%s", body)
    namespace: dict[str, Any] = {"__name__": "made"}
    exec(source, namespace)
    box = types.SimpleNamespace(**{f"a{number}": 0 for number in range(400)})
    rewriter.install_function(namespace["function"])
    # Per round two accesses a line and the one that is missing; four steps of the loop are local.
    assert count_of(namespace["function"], box) == 2 * 801
    assert box.a399 == 2 * 399
    assert namespace["function"](box) == 2


def test_nothing_keeps_local_classes_alive(rewriter: Rewriter) -> None:
    def function() -> weakref.ref[type]:
        class Local:
            value = 1

            def __init__(self) -> None:
                self.own = 2

        local = Local()
        assert local.own + local.value + len(vars(local)) == 4
        return weakref.ref(Local)

    rewriter.install_function(function)  # type: ignore[arg-type]
    set_sink(Counting())  # type: ignore[arg-type]
    reference = function()
    set_sink(None)
    gc.collect()
    assert reference() is None
    assert Holder not in read_kinds("own")


def test_replacing_a_method_by_data_is_noticed(rewriter: Rewriter) -> None:
    class Changing:
        def value(self) -> int:
            return 1

    def function(changing: Any) -> None:
        changing.value
        Changing.value = 3  # type: ignore[assignment,method-assign]
        changing.value

    rewriter.install_function(function)  # type: ignore[arg-type]
    # Both possible owners of a read, twice; between them the cell of the class and the store.
    told = count_of(function, Changing())
    assert told == 2 + 1 + 1 + 2


def test_scripts(rewriter: Rewriter) -> None:
    code = compile("x = 1\nx = x + 1\ndef f():\n    return x\ny = f()", "script", "exec")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    rewritten = rewriter.rewritten(code, namespace)

    def run() -> None:
        exec(rewritten, namespace)

    # x: two stores, two loads; f and y: a store each, f a load.
    assert count_of(run) == 7
    assert namespace["y"] == 2


@pytest.mark.parametrize("breakers", [False, True])
def test_code_that_never_runs_and_generators(breakers: bool) -> None:
    def numbers(holder: Holder) -> Iterator[int]:
        received = yield holder.value
        try:
            yield received
            yield from (holder.value for _ in range(2))
        finally:
            holder.value = 0

    rewriter = Rewriter(breakers=breakers)
    rewriter.install_function(numbers)  # type: ignore[arg-type]
    set_sink(Counting())  # type: ignore[arg-type]
    holder = Holder()
    generator = numbers(holder)
    assert isinstance(generator, collections.abc.Generator)
    assert next(generator) == 1
    assert generator.send(7) == 7
    assert list(generator) == [1, 1]
    another = numbers(holder)
    next(another)
    next(another)
    next(another)
    with pytest.raises(KeyError):
        another.throw(KeyError("thrown into the inner generator"))
    set_sink(None)
    rewriter.restore()
    assert holder.value == 0


# --- Scope


def test_default_scope() -> None:
    scope = Scope()
    assert all(not scope.includes_module(name) for name in TRUSTED_MODULES)
    assert not scope.includes_module("concurrent.futures.thread")
    assert scope.includes_module("weakref")
    assert scope.includes_module("functools")
    assert scope.includes_module("collections")
    assert scope.includes_module("concurrent")
    assert scope.includes_module("requests.sessions")
    # Bohrbug shows its reports by these, but not while tasks run.
    assert scope.includes_module("rich.table")
    assert scope.includes_module("click.core")
    assert scope.includes_module("pygments.lexer")


def test_scope_changes() -> None:
    scope = Scope(["+logging", "-logging.handlers", "-requests", "queue"])
    assert scope.includes_module("logging")
    assert not scope.includes_module("logging.handlers")
    assert not scope.includes_module("requests.sessions")
    assert scope.includes_module("requests2")
    assert scope.includes_module("queue")


@pytest.mark.parametrize("change", ["+", "1x", "-a..b", "+script.py:"])
def test_a_scope_change_names_a_module(change: str) -> None:
    with pytest.raises(ValueError, match="names no module"):
        Scope([change])


def test_some_functions_of_trusted_modules_are_in_the_scope() -> None:
    add_handler: Any = logging.Logger.addHandler
    assert Scope().includes(add_handler)
    assert not Scope().includes(logging.Logger.isEnabledFor)  # type: ignore[arg-type]
    assert Scope(["-requests"]).includes(add_handler)
    assert not Scope(["-logging"]).includes(add_handler)
    assert not Scope(["-", "+mine"]).includes(add_handler)
    since_3_14 = {"_py_warnings", "annotationlib"} if sys.version_info < (3, 14) else set()
    for module, name in SHARED_STATE:
        if module in since_3_14:
            continue
        if "<locals>" in name:
            function_that_makes_it = name.split(".<locals>")[0]
            assert hasattr(importlib.import_module(module), function_that_makes_it)
            continue
        # Names with two underscores are those of their class.
        attribute = re.sub(r"(\w+)\.(__\w+)(?<!__)$", r"\1._\1\2", name)
        found = operator.attrgetter(attribute)(importlib.import_module(module))
        function = found.fget if isinstance(found, property) else found
        assert function.__qualname__ == name


def test_scope_of_named_modules_only() -> None:
    scope = Scope(["-", "+mine"])
    assert scope.includes_module("mine.part")
    assert not scope.includes_module("json")


@pytest.mark.parametrize("change", ["", "+"])
def test_scope_refuses_empty_names(change: str) -> None:
    with pytest.raises(ValueError, match="names no module"):
        Scope([change])


# --- Discovery


def test_discovery_finds_what_runs() -> None:
    with Discovery() as discovery:
        plain(Holder())
        list(number for number in (1, 2))  # noqa: C400
    names = {code.co_qualname for code in discovery.codes}
    assert {"plain", "Holder.__init__"} <= names
    assert any(name.endswith("<genexpr>") for name in names)
    assert "raising" not in names


def test_discovery_again_finds_the_same() -> None:
    for _ in range(2):
        with Discovery() as discovery:
            plain(Holder())
        assert plain.__code__ in discovery.codes


def test_discovery_goes_on_with_what_it_has() -> None:
    with Discovery({raising.__code__}) as discovery:
        plain(Holder())
    assert {plain.__code__, raising.__code__} <= set(discovery.codes)


def test_discovery_and_a_profiler_live_together() -> None:
    events: list[str] = []

    def profile(frame: types.FrameType, event: str, argument: Any) -> None:
        events.append(event)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        with Discovery() as discovery:
            plain(Holder())
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(before)
    assert "call" in events
    assert plain.__code__ in discovery.codes


def test_a_function_that_some_function_stores_as_a_global_is_told(rewriter: Rewriter) -> None:
    namespace: dict[str, Any] = {"__name__": "made"}
    source = """
        def usual(): return 1
        def other(): return 2
        def replace():
            global usual
            usual = other
        def call(): return usual()
    """
    exec(textwrap.dedent(source), namespace)
    rewriter.install([namespace["call"].__code__, namespace["replace"].__code__])
    assert count_of(namespace["call"]) == 1
    assert count_of(namespace["replace"]) == 1
    assert namespace["call"]() == 2
