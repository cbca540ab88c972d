"""Which of the two implementations is in use, and that small fast paths do the same."""

from __future__ import annotations

import gc
import marshal
import os
import random
import runpy
import subprocess
import sys
import threading
import weakref
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import FrozenInstanceError, dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any

import pytest

import bohrbug
from bohrbug import accelerator
from bohrbug.accelerator import native, never
from bohrbug.accelerator.plain import plain
from bohrbug.exploration.seeding import seed_alike
from bohrbug.model.checksum import checksum_of
from bohrbug.model.plan import UniformRandom
from bohrbug.runtime.policies.in_c import drawing_decider, reference_decider
from bohrbug.runtime.threads import heap, namespaces, replaced_builtins, thread_functions
from bohrbug.runtime.threads.locks import lock
from bohrbug.runtime.threads.rewrite import lives

SOURCES = Path(__file__).parent.parent.parent / "src"


def version_with(setting: str | None, *options: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    environment.pop("BOHRBUG_PURE_PYTHON", None)
    if setting is not None:
        environment["BOHRBUG_PURE_PYTHON"] = setting
    return subprocess.run(
        [sys.executable, *options, "--version"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


IS_COMPILED = find_spec("bohrbug.accelerator._accelerator") is not None
"""Whether there is an accelerator for this Python, in use in this process or not."""


@pytest.mark.parametrize("setting", [None, "", "0", "1"])
def test_the_version_says_what_is_in_use(setting: str | None) -> None:
    if setting == "1":
        expected = "pure Python, as BOHRBUG_PURE_PYTHON asks for"
    elif IS_COMPILED:
        expected = "accelerated in C"
    else:
        expected = "pure Python, as the accelerator was not compiled"
    assert f"({expected})" in version_with(setting, "-m", "bohrbug")


def test_the_version_says_that_nothing_was_compiled() -> None:
    without = (
        "import sys, runpy; sys.modules['bohrbug.accelerator._accelerator'] = None;"
        "sys.argv[0] = 'bohrbug'; runpy.run_module('bohrbug', run_name='__main__')"
    )
    expected = "pure Python, as the accelerator was not compiled"
    assert f"({expected})" in version_with(None, "-c", without)


class Holder:
    def __init__(self, held: object) -> None:
        self.held = held


def same(one: list[Any], other: list[Any]) -> bool:
    return {id(each) for each in one} == {id(each) for each in other}


def test_objects_are_found_by_their_exact_type() -> None:
    class Derived(Holder):
        pass

    holders = [Holder(1), Holder(2)]
    derived = Derived(3)
    found = heap.objects_of_types({Holder})
    assert same(found, holders)
    assert derived not in found


def test_functions_are_found_by_code_and_by_globals() -> None:
    def make() -> Any:
        return lambda: None

    first, second = make(), make()
    assert same(heap.functions_running([first.__code__], heap.all_functions()), [first, second])
    namespace: dict[str, Any] = {}
    exec("def function(): pass", namespace)
    assert same(heap.functions_in([namespace], heap.all_functions()), [namespace["function"]])


def test_functions_are_found_whatever_became_of_them_since_all_were_known() -> None:
    namespace: dict[str, Any] = {}
    exec("def function(): pass", namespace)
    everywhere = heap.all_functions()
    code = namespace["function"].__code__
    later = [FunctionType(code, namespace) for _ in range(3)]
    changed = later.pop()
    changed.__code__ = (lambda: None).__code__
    if heap.knows_functions():
        assert everywhere is None
    else:
        everywhere = heap.all_functions()
    running = [namespace["function"], *later]
    assert same(heap.functions_running([code], everywhere), running)
    assert same(heap.functions_in([namespace], everywhere), [*running, changed])
    del later, running, everywhere
    namespace.clear()
    assert heap.functions_running([code], heap.all_functions()) == []


def test_many_functions_come_and_go() -> None:
    def make() -> Any:
        return lambda: None

    heap.all_functions()
    made = [make() for _ in range(40_000)]
    code = made[0].__code__
    del made[::3]
    assert same(heap.functions_running([code], heap.all_functions()), made)
    made.clear()
    assert heap.functions_running([code], heap.all_functions()) == []


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held


def _by_default(held: object) -> Any:
    def function(argument: object = held) -> object:
        return argument

    return function


class _Made:
    """Of a type that is to be exchanged."""


def holders_of(wanted: object) -> dict[str, list[Any]]:
    """What holds an object: directly, through something that can't be changed, or not so."""
    return {
        "direct": [[wanted], {"key": wanted}, Slotted(wanted), (wanted,)],
        "through": [[(wanted,)], _by_default(wanted), Slotted((1, wanted)), [staticmethod(wanted)]],
        "not": [[[wanted]], [((wanted,),)], _by_default(1), {wanted}],
    }


@pytest.fixture(params=["in C", "in Python"])
def survey(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Looks at all objects; both ways."""
    if request.param == "in C":
        return heap.survey
    monkeypatch.setattr(accelerator, "native", None)
    return runpy.run_path(heap.__file__)["survey"]


@pytest.mark.parametrize("is_original", [True, False])
def test_a_survey_finds_objects_and_whoever_holds_them(survey: Any, is_original: bool) -> None:
    wanted = _by_default(0) if is_original else _Made()
    other = Holder(1)
    expected = holders_of(wanted)
    originals = [wanted] if is_original else []
    passed_over = {set, FrameType}
    objects, holders, _ = survey(originals, {_Made}, {Holder}, passed_over, {tuple, staticmethod})
    assert same(objects, [other] if is_original else [wanted, other])
    found = {id(each) for each in holders}
    for kind, members in expected.items():
        assert [id(each) in found for each in members] == [kind != "not"] * len(members), kind
    assert id(originals) not in found


def test_a_survey_keeps_nothing(survey: Any) -> None:
    wanted = _Made()
    holders = holders_of(wanted)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        objects, found, functions = survey(
            [], {_Made}, {Holder}, {FrameType}, {tuple, staticmethod}
        )
        gone = weakref.ref(wanted)
        del wanted, holders, objects, found, functions
        assert gone() is None
    finally:
        if was_enabled:
            gc.enable()


@pytest.fixture(params=["in C", "in Python"])
def both_ways(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Gives a function of a module: its fast path, or itself."""
    if request.param == "in Python":
        monkeypatch.setattr(accelerator, "native", None)
    return lambda module, name: runpy.run_path(module.__file__)[name]


class _Metaclass(type):
    """Classes that nobody can tell apart, nor put into a set."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(cls, other: object) -> bool:
        return True


def test_classes_are_found_by_their_namespaces(both_ways: Callable[..., Any]) -> None:
    class Base(metaclass=_Metaclass):
        pass

    class Derived(Base, Holder):  # type: ignore[misc, metaclass]
        pass

    wanted = [object, int, Base, Derived, threading.Thread]
    dicts: list[dict[str, Any]] = [namespaces.namespace_of(cls) for cls in wanted]
    found = both_ways(namespaces, "classes_of")([*dicts, vars(gc), {}])
    assert found.keys() == {id(each) for each in dicts}
    assert all(found[id(each)] is cls for each, cls in zip(dicts, wanted, strict=True))


def test_values_are_compared_by_identity_and_order(both_ways: Callable[..., Any]) -> None:
    has_values = both_ways(replaced_builtins, "has_values")
    namespace: dict[str, Any] = {"a": 1000, "b": "text", "c": len}
    for _ in range(2):
        values = [*namespace.values()]
        assert has_values(namespace, values)
        assert has_values(namespace, values)
        assert not has_values(namespace, values[:2])
        assert not has_values(namespace, [*values, 1])
        assert not has_values({}, values)
        before = namespace["b"]
        namespace["b"] = before + "!"
        assert not has_values(namespace, values)
        namespace["b"] = before
        assert has_values(namespace, values)
        del namespace["a"]
        assert not has_values(namespace, values)
        namespace["a"] = values[0]
        assert not has_values(namespace, values)


@pytest.mark.skipif(native is None, reason="the accelerator is not in use")
def test_what_a_change_may_let_go_of_is_found(both_ways: Callable[..., Any]) -> None:
    known_referents = both_ways(lives, "known_referents")
    wanted, other = Holder(None), Holder(None)
    known = {id(wanted): "its life"}

    class WithSlots:
        __slots__ = ("held",)

    with_slots = WithSlots()
    with_slots.held = wanted
    for holder in [
        [other, wanted],
        {"key": wanted},
        {wanted: None},
        (wanted, 3),
        Holder(wanted),
        with_slots,
        [{"key": wanted}],
        threading.Thread(target=print, args=(wanted,)),
    ]:
        found = known_referents(holder, known)
        if type(holder) is threading.Thread:
            # Its arguments are in a tuple in its dict.
            assert found == []
        else:
            assert found == [wanted]
    assert known_referents([wanted, {"key": wanted}], known) == [wanted, wanted]
    for holder in [other, [[wanted]], [{"key": [wanted]}], {"key": {"key": {"key": wanted}}}, 3]:
        assert known_referents(holder, known) == []
    assert known_referents([wanted], {}) == []


def test_bad_arguments_are_refused() -> None:
    for call, arguments in (
        (native.survey, (1, (), (), (), ())),
        (native.survey, ([], (), 1, (), ())),
        (native.survey, ([],)),
        (native.classes_of, (1,)),
        (native.has_values, ([], {})),
        (native.functions_running, (1, [])),
        (native.functions_in, ([], ())),
        (native.read_attribute, ()),
        (native.chained_states, ({}, (), [], 1)),
        (native.generator_state, (1,)),
        (native.set_generator_state, (random.Random(), b"")),
        (native.known_referents, ([], [])),
    ):
        with pytest.raises((TypeError, AttributeError, ValueError)):
            call(*arguments)


def printed_by(program: str, pure: str) -> str:
    """What a program prints with the accelerator, or without it."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(SOURCES), "BOHRBUG_PURE_PYTHON": pure},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout or done.stderr


@pytest.mark.parametrize("pure", ["", "1"])
def test_what_a_gil_build_can_do_is_told_alike_with_and_without_it(pure: str) -> None:
    program = """
import threading, bohrbug

class Shop:
    def __init__(self):
        self.tickets = 1
        self.sold = []
    def buy(self):
        if self.tickets > 0:
            self.tickets -= 1
            self.sold.append(1)

def test():
    shop = Shop()
    buyers = [threading.Thread(target=shop.buy) for _ in range(2)]
    for each in buyers:
        each.start()
    for each in buyers:
        each.join()
    assert len(shop.sold) == 1

(failure,) = bohrbug.explore(test, scope=("__main__",)).failures
print(failure.interpreter.name)
"""
    assert printed_by(program, pure) == "FREE_THREADED\n"


@pytest.mark.parametrize("pure", ["", "1"])
def test_as_much_is_executed_with_and_without_it(pure: str) -> None:
    program = """
import threading, bohrbug

class Account:
    def __init__(self):
        self.lock = threading.Lock()
        self.entries = []
    def pay(self):
        with self.lock:
            self.entries.append(1)

def test():
    account = Account()
    payers = [threading.Thread(target=account.pay) for _ in range(2)]
    for each in payers:
        each.start()
    for each in payers:
        each.join()
    assert account.entries == [1, 1]

result = bohrbug.explore(test, strategy="dpor")
print(result.verdict.kind.name, result.executions)
"""
    assert printed_by(program, pure) == "HOLDS 4\n"


@pytest.mark.parametrize("pure", ["", "1"])
def test_explorations_multiply_no_locals(pure: str) -> None:
    program = """
import gc, threading, bohrbug

kept = threading.local()
Local = type(kept)

def test():
    thread = threading.Thread(target=lambda: setattr(kept, "value", 1))
    thread.start()
    thread.join()

for _ in range(8):
    bohrbug.explore(test, executions=1)
print(sum(type(each) is Local for each in gc.get_objects()) < 30)
"""
    assert printed_by(program, pure) == "True\n"


@pytest.mark.skipif(native is None, reason="the accelerator is not in use")
def test_a_task_may_compute_for_longer_without_it() -> None:
    """What takes longer only for the lack of it is not taken to spin."""
    program = "from bohrbug.runtime.threads.watchdog import NUDGE; print(NUDGE)"
    assert float(printed_by(program, "1")) >= 2.5 * float(printed_by(program, ""))


def test_random_numbers_are_those_of_a_seeded_generator() -> None:
    before = random.getstate()
    try:
        random.seed(0)
        expected = [random.random(), random.gauss(0, 1)]
        random.seed("something else")
        random.gauss(0, 1)
        seed_alike()
        assert [random.random(), random.gauss(0, 1)] == expected
    finally:
        random.setstate(before)


@plain
class Stored:
    __slots__ = ("__weakref__", "fixed", "given", "later", "new", "other", "shared")

    def __init__(self, given: object, other: object = 3, *, shared: object = ()) -> None:
        self.given = given
        self.other = other
        self.shared = shared
        self.fixed: object = False
        self.new: list[object] = []


@plain
@dataclass(frozen=True, slots=True)
class Written:
    first: int
    second: list[int] = field(default_factory=list)
    third: str = "c"


def test_plain_objects_are_as_their_class_makes_them() -> None:
    for made in (Stored(1, 2, shared=5), Stored(other=2, given=1, shared=5)):
        assert (made.given, made.other, made.shared, made.fixed) == (1, 2, 5, False)
        assert not hasattr(made, "later")
        made.later = 1
    assert (Stored(1).other, Stored(1).shared) == (3, ())
    assert Stored(1).new == []
    assert Stored(1).new is not Stored(1).new
    assert Written(1, [2], third="d") == replace(Written(1, [2]), third="d")
    assert repr(Written(first=1)) == "Written(first=1, second=[], third='c')"
    assert Written(1).second is not Written(1).second
    # A class that is given is stored, also where one stands for something new.
    given: Any = list
    assert Stored(given, given).given is given
    assert Written(1, given).second is given
    with pytest.raises(FrozenInstanceError):
        Written(1).first = 2  # type: ignore[misc]


def test_wrong_calls_of_plain_classes_raise_the_usual_errors() -> None:
    makers: list[Callable[..., object]] = [
        Stored,
        partial(Stored, 1, 2, 3),
        partial(Stored, 1, given=2),
        partial(Stored, 1, unknown=2),
        Written,
        partial(Written, 1, [], "c", 4),
    ]
    for maker in makers:
        with pytest.raises(TypeError, match="__init__"):
            maker()


def test_classes_derived_from_a_plain_one_keep_their_own_init() -> None:
    class Derived(Stored):
        def __init__(self) -> None:
            super().__init__(1)
            self.other = "its own"

    assert (Derived().given, Derived().other, Derived().new) == (1, "its own", [])


@pytest.mark.skipif(native is None, reason="only the C module needs to know")
def test_classes_that_do_more_than_store_are_refused() -> None:
    class Computes:
        __slots__ = ("is_first",)

        def __init__(self, index: int) -> None:
            self.is_first = index == 0

    class HasDict:
        def __init__(self, index: int) -> None:
            self.index = index

    for cls in (Computes, HasDict):
        with pytest.raises(TypeError, match="is not plain"):
            plain(cls)


@pytest.mark.parametrize("choices", [(), ("0", "0.1", 3), (-1, 2**31), (2**70, "0.1"), ("\u00e9",)])
def test_the_number_of_an_execution_is_the_checksum_of_its_choices(
    choices: tuple[str | int, ...],
) -> None:
    for some in (choices, list(choices)):
        for seed in (0, 2**32 - 1):
            expected = zlib.crc32(marshal.dumps(some, 0), seed)
            assert checksum_of(some, seed) == expected
            if native is not None:
                rows = [(choice, "0") for choice in some]
                found = native.checksum_of(rows, seed, True)
                assert found in (None, zlib.crc32(marshal.dumps(list(some), 0), seed))


def test_drawing_at_random_follows_splitmix64() -> None:
    # The first outputs of the published generator for these seeds, upper halves.
    for seed, outputs in ((0, (0xE220A839, 0x6E789E6A)), (1234567, (0x599ED017, 0x2C73F084))):
        for make in (reference_decider, drawing_decider):
            decider = make(UniformRandom(seed))
            assert tuple(decider.value(2**31 - 1) for _ in outputs) == tuple(
                output * (2**31 - 1) >> 32 for output in outputs
            )


def test_methods_of_locks_that_with_looks_up_are_as_built_in_ones() -> None:
    one, other = lock(), lock()
    assert one.__enter__ == one.__enter__ != other.__enter__
    assert hash(one.__enter__) == hash(one.__enter__)
    assert one.__enter__.__self__ is one  # type: ignore[attr-defined]
    assert one.__exit__.__name__ == "__exit__"
    assert "__enter__" in repr(one.__enter__)
    assert "__enter__" in repr(lock.__enter__)
    with one, ExitStack() as stack:
        stack.enter_context(other)
        assert one.locked()
        assert other.locked()
    assert not one.locked()
    assert not other.locked()
    lock.__enter__(one)
    one.__exit__(None, None, None)
    assert not one.locked()
    wrong: list[Callable[..., object]] = [
        partial(one.__enter__, 1),
        partial(one.__enter__, 1, 2, 3),
        partial(one.__enter__, blocking=True),
        lock.__enter__,
        partial(lock.__enter__, 1),
    ]
    for call in wrong:
        with pytest.raises((TypeError, AttributeError)):
            call()
    # More of them at once than are kept for later.
    assert len({one.__enter__ for _ in range(20)}) == 1
    assert len([other.__exit__ for _ in range(20)]) == 20


@pytest.mark.skipif(native is None, reason="nothing was compiled")
def test_ordinary_threads_are_made_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    made_in_python = []
    original = thread_functions._thread_init

    def counted(thread: Any, *args: Any, **kwargs: Any) -> None:
        made_in_python.append(thread)
        original(thread, *args, **kwargs)

    monkeypatch.setattr(thread_functions, "_thread_init", counted)

    def test() -> None:
        threads = [threading.Thread(target=never), threading.Thread(target=never, daemon=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert bohrbug.explore(test, executions=5).executions
    assert not made_in_python


def test_functions_older_than_freezing_are_known() -> None:
    def older() -> None: ...

    heap.freeze()
    try:

        def younger() -> None: ...

        codes = [older.__code__, younger.__code__]
        assert same(heap.functions_running(codes, heap.all_functions()), [older, younger])
        if accelerator.native is not None:
            # The program may do so, too.
            gc.freeze()
        assert same(heap.functions_running(codes, heap.all_functions()), [older, younger])
    finally:
        heap.unfreeze()
    assert same(heap.functions_running(codes, heap.all_functions()), [older, younger])
