"""Programs around what classes are asked to do, each with a lock that it takes or a stand-in.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import types
import weakref
from collections.abc import Iterator
from typing import NamedTuple

from tests.programs.guarding import Guard, counted, made_once
from tests.programs.together import together


@dataclasses.dataclass(slots=True)
class _Pair:
    a: int = 1
    b: int = 2


def slots_swapped(guard: Guard) -> None:
    """A swap is lost."""
    pair = _Pair()

    def swap() -> None:
        with guard:
            pair.a, pair.b = pair.b, pair.a

    together(swap, swap)
    assert (pair.a, pair.b) == (1, 2)


def frozen_dataclass_replaced(guard: Guard) -> None:
    """One replacement is lost."""

    @dataclasses.dataclass(frozen=True)
    class Settings:
        n: int = 0

    state = types.SimpleNamespace(settings=Settings())

    def work() -> None:
        with guard:
            state.settings = dataclasses.replace(state.settings, n=state.settings.n + 1)

    together(work, work)
    assert state.settings.n == 2


def named_tuple_replaced(guard: Guard) -> None:
    """One replacement is lost."""

    class Point(NamedTuple):
        x: int = 0
        y: int = 0

    state = types.SimpleNamespace(point=Point())

    def left() -> None:
        with guard:
            state.point = state.point._replace(x=1)

    def up() -> None:
        with guard:
            state.point = state.point._replace(y=1)

    together(left, up)
    assert state.point == (1, 1)


def enumeration_that_makes_members(guard: Guard) -> None:
    """Both find that the member is missing."""

    class Number(enum.Enum):
        ONE = 1

        @classmethod
        def _missing_(cls, value: object) -> Number:
            made = object.__new__(cls)
            made._value_ = value
            cls._value2member_map_[value] = made
            return made

    made_once(guard, lambda: Number(7))


def metaclass_of_a_singleton(guard: Guard) -> None:
    """Both find no object of the class."""

    class Single(type):
        made: dict[type, object] = {}

        def __call__(cls) -> object:
            if cls not in cls.made:
                cls.made[cls] = super().__call__()
            return cls.made[cls]

    class Thing(metaclass=Single):
        pass

    made_once(guard, Thing)


def objects_counted_by_a_metaclass(guard: Guard) -> None:
    """An object is not counted."""

    class Counting(type):
        def __call__(cls) -> object:
            cls.count += 1
            return super().__call__()

    class Thing(metaclass=Counting):
        count = 0

    counted(guard, Thing, lambda: Thing.count)


def numbers_of_subclasses(guard: Guard) -> None:
    """Two classes get one number."""
    known: list[type] = []

    class Base:
        number = -1

        def __init_subclass__(cls) -> None:
            cls.number = len(known)
            known.append(cls)

    def define() -> None:
        with guard:

            class Sub(Base):
                pass

    together(define, define)
    assert sorted(cls.number for cls in known) == [0, 1]


def parameters_of_a_class(guard: Guard) -> None:
    """Both make the class for one parameter."""

    class Box:
        made: dict[object, type] = {}

        def __class_getitem__(cls, parameter: object) -> type:
            if parameter not in cls.made:
                cls.made[parameter] = type("Box", (cls,), {})
            return cls.made[parameter]

    made_once(guard, lambda: Box[int])


def versions_counted_by_setattr(guard: Guard) -> None:
    """A change is not counted."""

    class Versioned:
        def __init__(self) -> None:
            object.__setattr__(self, "version", 0)

        def __setattr__(self, name: str, value: object) -> None:
            object.__setattr__(self, name, value)
            object.__setattr__(self, "version", self.version + 1)

    shared = Versioned()
    counted(guard, lambda: setattr(shared, "x", 1), lambda: shared.version)


def reads_counted_by_getattribute(guard: Guard) -> None:
    """A read is not counted."""

    class Watched:
        value = 1

        def __getattribute__(self, name: str) -> object:
            if name == "value":
                known = object.__getattribute__(self, "__dict__")
                known["reads"] = known.get("reads", 0) + 1
            return object.__getattribute__(self, name)

    shared = Watched()
    counted(guard, lambda: shared.value, lambda: vars(shared)["reads"])


def descriptor_with_weak_keys(guard: Guard) -> None:
    """One of two increments is lost."""

    class Number:
        def __init__(self) -> None:
            self.values: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()

        def __get__(self, holder: object, owner: type) -> int:
            return self.values.get(holder, 0)

        def __set__(self, holder: object, value: int) -> None:
            self.values[holder] = value

    class Holder:
        number = Number()

    shared = Holder()

    def add() -> None:
        shared.number += 1

    counted(guard, add, lambda: shared.number)


def property_that_keeps_its_value(guard: Guard) -> None:
    """Both compute it."""

    class Lazy:
        _value: object = None

        @property
        def value(self) -> object:
            if self._value is None:
                self._value = object()
            return self._value

    shared = Lazy()
    made_once(guard, lambda: shared.value)


def addition_in_place(guard: Guard) -> None:
    """One of two additions is lost."""

    class Money:
        def __init__(self) -> None:
            self.cents = 0

        def __iadd__(self, cents: int) -> Money:
            self.cents = self.cents + cents
            return self

    state = types.SimpleNamespace(money=Money())

    def add() -> None:
        state.money += 1

    counted(guard, add, lambda: state.money.cents)


def truth_of_an_object(guard: Guard) -> None:
    """What was there is gone."""

    class Box:
        def __init__(self) -> None:
            self.items = [1]

        def __bool__(self) -> bool:
            return len(self.items) > 0

    box = Box()

    def take() -> None:
        with guard:
            if box:
                box.items.pop()

    together(take, take)
    assert not box


def sequence_by_getitem(guard: Guard) -> None:
    """Half of the items are new."""

    class Row:
        def __init__(self) -> None:
            self.items = [0, 0]

        def __getitem__(self, index: int) -> int:
            return self.items[index]

    row = Row()
    seen: list[tuple[int, ...]] = []

    def change() -> None:
        with guard:
            row.items[0] = 1
            row.items[1] = 1

    def read() -> None:
        with guard:
            got = tuple(row)
        seen.append(got)

    together(change, read)
    assert seen[0] in ((0, 0), (1, 1))


def depth_of_a_context_manager(guard: Guard) -> None:
    """One of them is not counted."""

    class Depth:
        entered = 0

        def __enter__(self) -> None:
            self.entered += 1

        def __exit__(self, *error: object) -> None:
            pass

    depth = Depth()

    def enter() -> None:
        with depth:
            pass

    counted(guard, enter, lambda: depth.entered)


def objects_that_are_alive(guard: Guard) -> None:
    """An object that has died is not counted."""

    class Thing:
        dead = 0

        def __del__(self) -> None:
            Thing.dead += 1

    def make() -> None:
        Thing()

    counted(guard, make, lambda: Thing.dead)


def text_by_a_format(guard: Guard) -> None:
    """Two texts have one number."""

    class Numbered:
        n = 0

        def __format__(self, how: str) -> str:
            self.n += 1
            return f"{self.n:{how}}"

    shared = Numbered()
    texts: list[str] = []

    def work() -> None:
        with guard:
            text = f"<{shared:02}>"
        texts.append(text)

    together(work, work)
    assert sorted(texts) == ["<01>", "<02>"]


def place_by_an_index(guard: Guard) -> None:
    """Both take one place."""

    class Next:
        n = -1

        def __index__(self) -> int:
            self.n += 1
            return self.n

    places = Next()
    taken = [0, 0]

    def work() -> None:
        with guard:
            taken[places] = 1  # type: ignore[call-overload]

    together(work, work)
    assert taken == [1, 1]


def result_kept_by_a_call(guard: Guard) -> None:
    """Both compute it."""

    class Memo:
        def __init__(self) -> None:
            self.known: dict[int, object] = {}

        def __call__(self, n: int) -> object:
            try:
                return self.known[n]
            except KeyError:
                result = self.known[n] = object()
                return result

    memo = Memo()
    made_once(guard, lambda: memo(1))


def limits_in_a_chained_comparison(guard: Guard) -> None:
    """One limit is new, the other one is not."""
    limits = types.SimpleNamespace(low=0, high=10)
    within: list[bool] = []

    def move() -> None:
        with guard:
            limits.high = 30
            limits.low = 20

    def compare() -> None:
        with guard:
            is_within = limits.low <= 15 <= limits.high
        within.append(is_within)

    together(move, compare)
    assert within == [False]


def list_unpacked_twice(guard: Guard) -> None:
    """The second half is longer."""
    shared = [1]
    seen: list[list[int]] = []

    def unpack() -> None:
        with guard:
            both = [*shared, *shared]
        seen.append(both)

    def add() -> None:
        with guard:
            shared.append(2)

    together(unpack, add)
    assert len(seen[0]) in (2, 4)


def slice_assigned(guard: Guard) -> None:
    """One of two increments is lost."""
    numbers = [0, 0]

    def add() -> None:
        numbers[:] = [number + 1 for number in numbers]

    counted(guard, add, lambda: numbers[0])


def walrus_in_a_comprehension(guard: Guard) -> None:
    """One sum is built upon what was before the other one."""
    total = 0

    def work() -> None:
        nonlocal total
        with guard:
            [total := total + n for n in (1, 2)]

    together(work, work)
    assert total == 6


def phase_matched(guard: Guard) -> None:
    """Both find the first phase."""
    state = {"phase": 1, "starts": 0}
    started: list[int] = []

    def start() -> None:
        with guard:
            match state:
                case {"phase": 1}:
                    state["phase"] = 2
                    started.append(1)
                case {"phase": 2}:
                    pass

    together(start, start)
    assert started == [1]


def expression_evaluated(guard: Guard) -> None:
    """One of two increments is lost."""
    state = types.SimpleNamespace(n=0)

    def add() -> None:
        state.n = eval("state.n + 1", {"state": state})

    counted(guard, add, lambda: state.n)


def generic_function_registered(guard: Guard) -> None:
    """Another implementation is called the second time."""

    @functools.singledispatch
    def kind(_: object) -> str:
        return "object"

    seen: list[str] = []

    def call() -> None:
        with guard:
            seen.append(kind(1))
            seen.append(kind(1))

    def register() -> None:
        with guard:
            kind.register(int, lambda _: "int")

    together(call, register)
    assert seen[0] == seen[1]


def cache_cleared(guard: Guard) -> None:
    """What was just kept is gone."""

    @functools.lru_cache(maxsize=4)
    def square(n: int) -> int:
        return n * n

    sizes: list[int] = []

    def call() -> None:
        with guard:
            square(2)
            sizes.append(square.cache_info().currsize)

    def clear() -> None:
        with guard:
            square.cache_clear()

    together(call, clear)
    assert sizes == [1]


def deep_copy_of_two_fields(guard: Guard) -> None:
    """One field is new, the other one is not."""
    state = types.SimpleNamespace(x=[0], y=[0])
    copies: list[types.SimpleNamespace] = []

    def change() -> None:
        with guard:
            state.x[0] = 1
            state.y[0] = 1

    def look() -> None:
        with guard:
            copied = copy.deepcopy(state)
        copies.append(copied)

    together(change, look)
    assert copies[0].x == copies[0].y


def generator_that_reads_as_it_goes(guard: Guard) -> None:
    """One half is new, the other one is not."""
    state = types.SimpleNamespace(x=0, y=0)
    seen: list[list[int]] = []

    def fields() -> Iterator[int]:
        yield state.x
        yield state.y

    def change() -> None:
        with guard:
            state.x = 1
            state.y = 1

    def look() -> None:
        with guard:
            got = list(fields())
        seen.append(got)

    together(change, look)
    assert seen[0] in ([0, 0], [1, 1])
