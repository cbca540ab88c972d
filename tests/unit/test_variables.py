"""Variables: which accesses are to the same one, their names, and the lives of their owners."""

from __future__ import annotations

import array
import collections
import dis
import functools
import gc
import itertools
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from bohrbug.runtime.threads.data.kinds import Types
from bohrbug.runtime.threads.data.shadows import Shadow
from bohrbug.runtime.threads.data.variables import Variables
from tests.unit.accessing import CODE, FIRST, PLACE, SECOND, Account, Execution, Watched


class Slotted:
    """Can't be referenced weakly."""

    __slots__ = ("balance",)


@pytest.fixture
def execution() -> Execution:
    return Execution()


@pytest.fixture
def variables(execution: Execution) -> Variables:
    return Variables(execution)


class TestWhichVariable:
    def test_attributes(self, variables: Variables) -> None:
        one, other = Account(), Account()
        balance = variables.shadow_of_attribute(one, "balance")
        assert balance is not None
        assert variables.shadow_of_attribute(one, "balance") is balance
        assert variables.shadow_of_attribute(one, "owner") is not balance
        assert variables.shadow_of_attribute(other, "balance") is not balance

    def test_items_and_attributes_of_one_name_are_two(self, variables: Variables) -> None:
        class Both(dict[str, int]):
            pass

        both = Both()
        attribute = variables.shadow_of_attribute(both, "x")
        item = variables.shadow_of_item(both, "x")
        whole = variables.shadow_of_whole(both)
        assert attribute is not None
        assert item is not None
        assert attribute is not item
        assert item.container is whole
        assert attribute.container is None

    def test_module_attributes_are_globals(self, variables: Variables) -> None:
        module = types.ModuleType("bank")
        assert variables.shadow_of_attribute(module, "LIMIT") is variables.shadow_of_item(
            module.__dict__, "LIMIT"
        )

    @pytest.mark.parametrize(
        "owner",
        [1, 2.0, "x", b"x", None, (1,), frozenset(), range(3), len, int, dict, slice(1), CODE],
        ids=lambda owner: type(owner).__name__,
    )
    def test_immutable_objects_have_none(self, variables: Variables, owner: Any) -> None:
        assert variables.shadow_of_attribute(owner, "x") is None
        assert variables.shadow_of_item(owner, 0) is None
        assert variables.shadow_of_whole(owner) is None

    def test_named_tuples_have_none_but_their_subclasses_may(self, variables: Variables) -> None:
        class Point(NamedTuple):
            x: int

        class Named(Point):
            """Has a ``__dict__``."""

        assert variables.shadow_of_attribute(Point(1), "x") is None
        with pytest.raises(TypeError, match="cannot create weak reference"):
            weakref.ref(Named(1))
        assert variables.shadow_of_attribute(Named(1), "y") is None

    def test_exceptions_of_built_in_classes_have_none_while_they_are_handled(
        self, variables: Variables
    ) -> None:
        error = ValueError()
        try:
            raise error
        except ValueError:
            assert variables.shadow_of_attribute(error, "args") is None
        shadow = variables.shadow_of_attribute(error, "args")
        assert shadow is not None
        assert shadow.label == "ValueError.args"

    def test_classes_of_the_program_have(self, variables: Variables) -> None:
        shadow = variables.shadow_of_attribute(Account, "count", True, PLACE)
        assert shadow is not None
        assert shadow.label == "Account.count"

    @pytest.mark.parametrize(
        "make",
        [
            list,
            dict,
            set,
            bytearray,
            collections.deque,
            collections.OrderedDict,
            lambda: collections.defaultdict(list),
            lambda: array.array("i"),
            lambda: iter([1]),
            lambda: (x for x in (1,)),
            itertools.count,
            types.CellType,
        ],
    )
    def test_wholes(self, variables: Variables, make: Callable[[], Any]) -> None:
        owner = make()
        shadow = variables.shadow_of_whole(owner)
        assert shadow is not None
        assert variables.shadow_of_whole(owner) is shadow

    def test_only_attributes_of_what_is_modelled_as_a_whole(self, execution: Execution) -> None:
        asked = []

        def excluded(cls: type) -> bool:
            asked.append(cls)
            return cls is Account

        variables = Variables(execution, Types(excluded))
        accounts = [Account() for _ in range(3)]
        for account in accounts:
            # The program may keep something there.
            assert variables.shadow_of_attribute(account, "x") is not None
            assert variables.shadow_of_whole(account) is None
            assert variables.shadow_of_item(account, 0) is None
            assert variables.shadow_of_whole(Slotted()) is not None
        assert asked == [Account, Slotted]

    def test_thread_locals_have_none(self, variables: Variables) -> None:
        assert variables.shadow_of_attribute(threading.local(), "x") is None

    def test_a_type_is_not_kept_alive_by_what_is_known_of_it(self, execution: Execution) -> None:
        known = Types()

        def touch() -> weakref.ref[type]:
            class Local:
                pass

            Variables(execution, known).shadow_of_attribute(Local(), "x")
            return weakref.ref(Local)

        reference = touch()
        gc.collect()
        assert reference() is None
        assert not known.kinds

    def test_whole_of_an_object_that_is_no_container_is_all_its_attributes(
        self, variables: Variables
    ) -> None:
        account = Account()
        earlier = variables.shadow_of_attribute(account, "earlier")
        whole = variables.shadow_of_whole(account)
        later = variables.shadow_of_attribute(account, "later")
        assert earlier is not None
        assert later is not None
        assert earlier.container is later.container is whole


class TestKeys:
    def test_equal_plain_keys_are_one(self, variables: Variables) -> None:
        container: dict[Any, Any] = {}
        for key, equal in ((1, True), (1, 1.0), (("a", (1, None)), ("a", (True, None)))):
            assert variables.shadow_of_item(container, key) is variables.shadow_of_item(
                container, equal
            )
        assert variables.shadow_of_item(container, 1) is not variables.shadow_of_item(
            container, "1"
        )

    @pytest.mark.parametrize("key", [slice(1), -1, "no index"[:0:-1], 1.5, None], ids=repr)
    def test_indices_that_say_nothing(self, variables: Variables, key: Any) -> None:
        items = [1, 2]
        shadow = variables.shadow_of_item(items, key)
        whole = variables.shadow_of_whole(items)
        assert (shadow is whole) == (type(key) in (slice, int))

    def test_keys_with_code_of_the_program_stand_for_the_whole(self, variables: Variables) -> None:
        class Key:
            def __eq__(self, other: object) -> bool:
                raise AssertionError("called")

            def __hash__(self) -> int:
                raise AssertionError("called")

        class Text(str):
            __slots__ = ()

            def __hash__(self) -> int:
                raise AssertionError("called")

        container: dict[Any, Any] = {}
        whole = variables.shadow_of_whole(container)
        for key in (Key(), Text("x"), (1, Key()), ((Text("x"),),)):
            assert variables.shadow_of_item(container, key) is whole

    def test_keys_compared_by_identity(self, variables: Variables) -> None:
        container: dict[Any, Any] = {}
        one, other = Account(), Account()
        shadow = variables.shadow_of_item(container, one, place=PLACE)
        assert shadow is not None
        assert variables.shadow_of_item(container, one) is shadow
        assert variables.shadow_of_item(container, other) is not shadow
        assert shadow.resource_id == "0:0[<Account 0:1>]"
        assert shadow.label == "dict bank.py:12[<Account>]"

    def test_a_key_that_takes_the_place_of_a_dead_one_is_another(
        self, variables: Variables
    ) -> None:
        container: dict[Any, Any] = {}
        shadows = {id(variables.shadow_of_item(container, Account())) for _ in range(50)}
        assert len(shadows) == 50


class Hostile:
    """Every method that might be called by accident fails."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AssertionError(name)

    def __eq__(self, other: object) -> bool:
        raise AssertionError("__eq__")

    def __hash__(self) -> int:
        raise AssertionError("__hash__")

    def __len__(self) -> int:
        raise AssertionError("__len__")

    def __bool__(self) -> bool:
        raise AssertionError("__bool__")

    def __iter__(self) -> Iterator[object]:
        raise AssertionError("__iter__")

    def __repr__(self) -> str:
        raise AssertionError("__repr__")


class HostileMeta(type):
    """A metaclass of that sort."""

    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(name)

    def __eq__(cls, other: object) -> bool:
        raise AssertionError("__eq__")

    def __hash__(cls) -> int:
        raise AssertionError("__hash__")

    def __instancecheck__(cls, instance: object) -> bool:
        raise AssertionError("__instancecheck__")


def test_no_code_of_the_program_is_called(execution: Execution) -> None:
    hostile_class = HostileMeta("HostileClass", (), {})

    class HostileList(list[int]):
        def __len__(self) -> int:
            raise AssertionError("__len__")

        def __eq__(self, other: object) -> bool:
            raise AssertionError("__eq__")

        def __getitem__(self, key: object) -> Any:
            raise AssertionError("__getitem__")

    world = Watched(execution)
    execution.current = FIRST
    for owner in (Hostile(), hostile_class, type.__call__(hostile_class), HostileList()):
        for is_write in (False, True):
            world.monitor.attribute(owner, "x", is_write, PLACE)
            world.monitor.item(owner, 1, is_write, PLACE)
            world.monitor.item(owner, Hostile(), is_write, PLACE)
            world.monitor.item({}, owner, is_write, PLACE)
            world.monitor.whole(owner, is_write, PLACE)
    for _, _, shadow in world.points:
        assert shadow.resource_id
        assert shadow.label
    world.variables.sweep()
    world.variables.clear()


class TestNames:
    def test_ids(self, execution: Execution, variables: Variables) -> None:
        account, items = Account(), [1]
        balance = variables.shadow_of_attribute(account, "balance")
        item = variables.shadow_of_item(items, 0)
        whole = variables.shadow_of_whole(items)
        assert balance is not None
        assert item is not None
        assert whole is not None
        assert balance.resource_id == "0:0.balance"
        execution.current = FIRST
        assert item.resource_id == "0.1:0[0]"
        assert whole.resource_id == "0.1:0[*]"
        execution.current = SECOND
        assert balance.resource_id == "0:0.balance"

    def test_ids_do_not_depend_on_what_else_is_touched(self, execution: Execution) -> None:
        ids = []
        for others in (0, 7):
            variables = Variables(execution)
            kept = [Account() for _ in range(others)]
            for other in kept:
                variables.shadow_of_attribute(other, "x")
            account = Account()
            shadow = variables.shadow_of_attribute(account, "x")
            assert shadow is not None
            ids.append(shadow.resource_id)
        assert ids == ["0:0.x", "0:0.x"]

    def test_labels(self, variables: Variables) -> None:
        module = types.ModuleType("bank")
        module.__dict__["__builtins__"] = {}
        account, items, table = Account(), [1], {"a": 1}
        shadows = [
            variables.shadow_of_attribute(account, "balance", place=PLACE),
            variables.shadow_of_attribute(Account, "count", place=PLACE),
            variables.shadow_of_item(module.__dict__, "COUNTER", place=PLACE),
            variables.shadow_of_item(table, "a", place=PLACE),
            variables.shadow_of_item(table, ("b", 1), place=PLACE),
            variables.shadow_of_whole(items, place=PLACE),
        ]
        expected = [
            "Account.balance",
            "Account.count",
            "global COUNTER",
            "dict bank.py:12['a']",
            "dict bank.py:12[('b', 1)]",
            "list bank.py:12",
        ]
        assert [shadow.label for shadow in shadows if shadow is not None] == expected
        variables.clear()
        assert [shadow.label for shadow in shadows if shadow is not None] == expected

    def test_cells_are_called_by_the_name_of_their_variable(self, variables: Variables) -> None:
        counter = 0

        def increment() -> int:
            return counter

        assert increment.__closure__ is not None
        cell = increment.__closure__[0]
        (load,) = [
            instruction
            for instruction in dis.get_instructions(increment)
            if instruction.opname == "LOAD_DEREF"
        ]
        shadow = variables.shadow_of_whole(cell, False, (increment.__code__, load.offset))
        assert shadow is not None
        assert shadow.label == "cell counter in increment"


class TestLifetime:
    def test_finalizers_run_when_they_would(self, variables: Variables) -> None:
        events = []

        class Owner:
            def __del__(self) -> None:
                events.append("deleted")

        owner = Owner()
        reference = weakref.ref(owner, lambda _: events.append("callback"))
        variables.shadow_of_attribute(owner, "x")
        assert events == []
        del owner
        assert events == ["deleted", "callback"]
        assert reference() is None
        assert not variables.owners

    def test_an_access_by_the_finalizer_is_to_the_same_variable(self, variables: Variables) -> None:
        seen = []

        class Owner:
            def __del__(self) -> None:
                seen.append(variables.shadow_of_attribute(self, "x"))

        owner = Owner()
        seen.append(variables.shadow_of_attribute(owner, "x"))
        del owner
        assert seen[0] is seen[1]

    @pytest.mark.parametrize("make", [Account, Slotted, list, dict, lambda: iter([])])
    def test_a_reused_address_is_another_variable(
        self, variables: Variables, make: Callable[[], Any]
    ) -> None:
        shadows: list[Shadow | None] = []
        for _ in range(1000):
            owner = make()
            shadow = variables.shadow_of_attribute(owner, "x")
            assert shadow is not None
            assert shadow.owner.target() is owner
            assert all(shadow is not earlier for earlier in shadows[-10:])
            shadows.append(shadow)
            del owner
        assert len({id(shadow) for shadow in shadows}) == 1000

    def test_containers_are_held_until_swept(self, variables: Variables) -> None:
        content = Account()
        reference = weakref.ref(content)
        items = [[content]]
        variables.shadow_of_whole(items)
        variables.shadow_of_whole(items[0])
        del content
        variables.sweep()
        assert reference() is not None
        del items
        assert reference() is not None
        variables.sweep()
        assert reference() is None
        assert not variables.owners

    def test_sweeping_happens_by_itself(self, execution: Execution) -> None:
        variables = Variables(execution, sweep_every=10)
        for _ in range(1000):
            variables.shadow_of_whole([])
            assert len(variables.owners) <= 11
        kept: list[list[int]] = []
        for _ in range(100):
            kept.append([])
            variables.shadow_of_whole(kept[-1])
        for items in kept:
            assert id(items) in variables.owners

    def test_finalizers_run_by_a_sweep_may_access_variables(self, variables: Variables) -> None:
        touched: list[list[int]] = []

        class Owner:
            def __del__(self) -> None:
                for _ in range(200):
                    touched.append([])
                    variables.shadow_of_whole(touched[-1])

        items = [Owner()]
        variables.shadow_of_whole(items)
        del items
        variables.sweep()
        assert len(touched) == 200
        for owner in touched:
            assert id(owner) in variables.owners

    def test_clear_lets_go(self, variables: Variables) -> None:
        content = Account()
        reference = weakref.ref(content)
        items = [content]
        variables.shadow_of_item(items, 0)
        del content, items
        variables.clear()
        assert reference() is None
        assert not variables.owners

    def test_nothing_is_left_for_the_garbage_collector(self, execution: Execution) -> None:
        known = Types()
        # What other tests have left may leave more, as it dies.
        while gc.collect():
            pass
        gc.disable()
        try:
            variables = Variables(execution, known)
            account, items, dead = Account(), {"a": 1}, Account()
            for owner in (account, items, dead):
                variables.shadow_of_attribute(owner, "x")
                variables.shadow_of_item(owner, "a")
            del owner, dead
            variables.sweep()
            variables.clear()
            del variables
            assert gc.collect() == 0
        finally:
            gc.enable()

    def test_a_cache_is_called_by_the_function_whose_results_it_keeps(
        self, variables: Variables
    ) -> None:
        @functools.lru_cache
        def parsed(text: str) -> str:
            return text

        for cache in (parsed, functools.lru_cache(len)):
            shadow = variables.shadow_of_whole(cache, True, PLACE)
            assert shadow is not None
            assert shadow.label == ("cache of parsed" if cache is parsed else "cache")
