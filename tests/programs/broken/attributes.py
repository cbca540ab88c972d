"""Broken programs: accesses to attributes."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from tests.programs.together import together


class _Object:
    x = 0


def vars_item_against_attribute() -> None:
    """``vars(obj)['x']`` in one thread, ``obj.x`` in the other: one update is lost."""
    thing = _Object()
    thing.x = 0

    def with_attribute() -> None:
        thing.x = thing.x + 1

    def with_vars() -> None:
        vars(thing)["x"] = vars(thing)["x"] + 1

    together(with_attribute, with_vars)
    assert thing.x == 2


def dict_of_an_object_against_attribute() -> None:
    """``obj.__dict__['x']`` in one thread, ``obj.x`` in the other: one update is lost."""
    thing = _Object()
    thing.x = 0

    def with_attribute() -> None:
        thing.x += 1

    def with_dict() -> None:
        thing.__dict__["x"] += 1

    together(with_attribute, with_dict)
    assert thing.x == 2


def dict_of_an_object_made_before() -> None:
    """The ``__dict__`` is got before there are threads: one update is lost."""
    thing = _Object()
    thing.x = 0
    namespace = thing.__dict__

    def with_attribute() -> None:
        thing.x += 1

    def with_dict() -> None:
        namespace["x"] += 1

    together(with_attribute, with_dict)
    assert thing.x == 2


def dict_update_of_an_object() -> None:
    """``obj.__dict__.update`` is between the read and the write of an attribute."""
    thing = _Object()
    thing.x = 0

    def with_attribute() -> None:
        thing.x += 1

    together(with_attribute, lambda: thing.__dict__.update(x=10))
    assert thing.x in (10, 11)
    assert thing.x != 1, "the update is lost"


def getattr_and_setattr() -> None:
    """``getattr`` and ``setattr`` with a name: one update is lost."""
    thing = _Object()

    def count() -> None:
        setattr(thing, "x", getattr(thing, "x") + 1)

    together(count, count)
    assert thing.x == 2


def getattr_with_a_default() -> None:
    """``getattr(obj, name, None)`` then ``setattr``: made twice."""
    thing = types.SimpleNamespace()
    made: list[object] = []

    def get() -> None:
        if getattr(thing, "cache", None) is None:
            thing.cache = object()
            made.append(thing.cache)

    together(get, get)
    assert len(made) == 1


def hasattr_then_set() -> None:
    """``hasattr`` then an assignment: made twice."""
    thing = _Object()
    made: list[int] = []

    def get() -> None:
        if not hasattr(thing, "cache"):
            thing.cache = 1  # type: ignore[attr-defined]
            made.append(1)

    together(get, get)
    assert len(made) == 1


def hasattr_then_delete() -> None:
    """``hasattr`` then ``del``: AttributeError."""
    thing = types.SimpleNamespace(x=1)

    def drop() -> None:
        if hasattr(thing, "x"):
            del thing.x

    together(drop, drop)


class _Slots:
    __slots__ = ("x",)

    def __init__(self) -> None:
        self.x = 0

    def add(self) -> None:
        self.x += 1


def slots() -> None:
    """A counter in ``__slots__``: one update is lost."""
    thing = _Slots()
    together(thing.add, thing.add)
    assert thing.x == 2


def object_setattr() -> None:
    """``object.__setattr__`` and ``object.__getattribute__``: one update is lost."""
    thing = _Slots()

    def count() -> None:
        object.__setattr__(thing, "x", object.__getattribute__(thing, "x") + 1)

    together(count, count)
    assert thing.x == 2


_get_attribute = object.__getattribute__
_set_attribute = object.__setattr__


class _Proxy:
    """Keeps its state away from its own attribute access."""

    __slots__ = ("__factory__", "__target__")

    def __init__(self, factory: Callable[[], Any]) -> None:
        _set_attribute(self, "__factory__", factory)

    def __getattribute__(self, name: str) -> Any:
        if name == "__target__":
            try:
                return _get_attribute(self, "__target__")
            except AttributeError:
                target = _get_attribute(self, "__factory__")()
                _set_attribute(self, "__target__", target)
                return target
        return getattr(_get_attribute(self, "__getattribute__")("__target__"), name)


def proxy_with_its_own_attribute_access() -> None:
    """A lazy proxy with ``__slots__`` and ``__getattribute__`` makes its target twice."""
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return made

    proxy = _Proxy(make)
    together(lambda: proxy.count(1), lambda: proxy.count(1))
    assert len(made) == 1


class _LazyDescriptor:
    """A data descriptor that keeps its value under its own name in the instance's dict."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        try:
            return instance.__dict__[self.name]
        except KeyError:
            value = instance.__dict__[self.name] = object()
            return value

    def __set__(self, instance: Any, value: object) -> None:
        instance.__dict__[self.name] = value


def data_descriptor_that_keeps_its_value_in_the_dict() -> None:
    """A data descriptor computes its value twice."""

    class Owner:
        value = _LazyDescriptor()

    owner = Owner()
    seen: list[object] = []
    together(*[lambda: seen.append(owner.value)] * 2)
    assert seen[0] is seen[1]


class _WithProperty:
    def __init__(self) -> None:
        self._x = 0

    @property
    def x(self) -> int:
        return self._x

    @x.setter
    def x(self, value: int) -> None:
        self._x = value


def property_increment() -> None:
    """``obj.x += 1`` through a property: one update is lost."""
    thing = _WithProperty()

    def count() -> None:
        thing.x += 1

    together(count, count)
    assert thing.x == 2


class _HasClassAttribute:
    made = 0

    def __init__(self) -> None:
        _HasClassAttribute.made += 1


def class_attribute() -> None:
    """``Class.count += 1`` in the initialiser: one is not counted."""
    _HasClassAttribute.made = 0
    together(_HasClassAttribute, _HasClassAttribute)
    assert _HasClassAttribute.made == 2


def class_attribute_through_type_of_self() -> None:
    """``type(self).serial += 1``: two objects with one number."""

    class Numbered:
        serial = 0

        def __init__(self) -> None:
            type(self).serial += 1
            self.number = type(self).serial

    numbers: list[int] = []
    together(*[lambda: numbers.append(Numbered().number)] * 2)
    assert sorted(numbers) == [1, 2]


def class_attribute_in_a_classmethod() -> None:
    """A registry in a class attribute, replaced by a larger copy: one entry is lost."""

    class Registry:
        names: tuple[str, ...] = ()

        @classmethod
        def register(cls, name: str) -> None:
            cls.names = (*cls.names, name)

    together(lambda: Registry.register("a"), lambda: Registry.register("b"))
    assert sorted(Registry.names) == ["a", "b"]


def getattr_hook_caches() -> None:
    """``__getattr__`` computes and stores: computed twice."""
    computed: list[str] = []

    class Lazy:
        def __getattr__(self, name: str) -> int:
            computed.append(name)
            self.__dict__[name] = 1
            return 1

    lazy = Lazy()
    together(lambda: lazy.value, lambda: lazy.value)
    assert len(computed) == 1


def attribute_of_an_exception() -> None:
    """A lost update of an attribute of an object whose class is built in."""
    error: Any = ValueError()
    error.count = 0

    def use() -> None:
        error.count += 1

    together(use, use)
    assert error.count == 2


def text_of_an_exception() -> None:
    """The text changes as its arguments are exchanged."""
    error = ValueError(1)
    texts: list[bool] = []

    def change() -> None:
        error.args = (2,)

    together(change, lambda: texts.append(str(error) == str(error)))
    assert texts == [True]


def method_of_a_base_exchanged() -> None:
    """What super() finds is another function the second time."""

    class Base:
        def answer(self) -> int:
            return 1

    class Derived(Base):
        def answer(self) -> int:
            return super().answer() - super().answer()

    def change() -> None:
        Base.answer = lambda self: 2  # type: ignore[method-assign]

    answers: list[int] = []
    together(lambda: answers.append(Derived().answer()), change)
    assert answers == [0]


def class_attribute_that_is_gone() -> None:
    """AttributeError: both have seen it there, and delete it."""

    class Owner:
        value = 1

    def use() -> None:
        if hasattr(Owner, "value"):
            del Owner.value

    together(use, use)


def class_attribute_through_its_namespace() -> None:
    """The namespace that a class shows is its own."""

    class Owner:
        value = 1

    values: list[bool] = []

    def change() -> None:
        Owner.value = 2

    together(lambda: values.append(vars(Owner)["value"] == Owner.__dict__["value"]), change)
    assert values == [True]


def dict_behind_a_proxy() -> None:
    """KeyError: the dict that the proxy shows is cleared between the two looks."""
    table = {"a": 1}
    proxy = types.MappingProxyType(table)

    def look() -> None:
        if "a" in proxy:
            proxy["a"]

    together(look, table.clear)


def positions_of_a_class_pattern() -> None:
    """Which attributes a pattern reads changes between two matches."""

    class Point:
        __match_args__: Any = ("x", "y")

        def __init__(self) -> None:
            self.x, self.y = 1, 2

    def first(point: Point) -> int:
        match point:
            case Point(value):
                return int(value)
        return 0

    def change() -> None:
        Point.__match_args__ = ("y", "x")

    found: list[bool] = []
    together(lambda: found.append(first(Point()) == first(Point())), change)
    assert found == [True]
