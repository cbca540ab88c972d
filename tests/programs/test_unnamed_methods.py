"""What the interpreter looks up on classes by itself, and what ``with`` calls."""

from __future__ import annotations

import io
import mmap
from collections.abc import Callable
from typing import Any

import pytest

from .looking_twice import Looks, check_that_it_holds, check_that_it_is_found


class _Has:
    """Whose methods are exchanged."""

    __hash__ = object.__hash__

    def __init__(self) -> None:
        self.n = 1

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: int) -> int:
        return 1

    def __contains__(self, key: int) -> bool:
        return False

    def __enter__(self) -> int:
        return 1

    def __exit__(self, *_: object) -> None: ...


def _exchanged(
    special: str, look: Callable[[Any], object], change: Callable[[type], None]
) -> Callable[[], Looks]:
    def make() -> Looks:
        class_ = type("Has", (_Has,), {})
        has = class_()
        return lambda: look(has), lambda: change(class_)

    make.__name__ = special
    return make


def _calls(class_: Any) -> None:
    class_.__call__ = lambda self: 2


def _length(class_: Any) -> None:
    class_.__len__ = lambda self: 2


def _truth(class_: Any) -> None:
    class_.__bool__ = lambda self: False


def _item(class_: Any) -> None:
    class_.__getitem__ = lambda self, key: 2


def _membership(class_: Any) -> None:
    class_.__contains__ = lambda self, key: True


def _equality(class_: Any) -> None:
    class_.__eq__ = lambda self, other: True


def _hash(class_: Any) -> None:
    class_.__hash__ = lambda self: 2


def _text(class_: Any) -> None:
    class_.__str__ = lambda self: "two"


def _entering(class_: Any) -> None:
    class_.__enter__ = lambda self: 2


def _making(class_: Any) -> None:
    def initialise(self: Any) -> None:
        self.n = 2

    class_.__init__ = initialise


def _entered(has: Any) -> object:
    with has as entered:
        return entered


EXCHANGED = [
    _exchanged("callable", callable, _calls),
    _exchanged("len", len, _length),
    _exchanged("bool", bool, _truth),
    _exchanged("getitem", lambda has: has[0], _item),
    _exchanged("contains", lambda has: 0 in has, _membership),
    _exchanged("eq", lambda has: has == 0, _equality),
    _exchanged("hash", hash, _hash),
    _exchanged("str", str, _text),
    _exchanged("enter", _entered, _entering),
    _exchanged("init", lambda has: type(has)().n, _making),
]


def _of_bases(look: Callable[[Any], object]) -> Callable[[], Looks]:
    def make() -> Looks:
        one, other = type("One", (), {}), type("Other", (), {})
        class_: Any = type("Derived", (one,), {})

        def change() -> None:
            class_.__bases__ = (other,)

        return lambda: look(class_) is one or look(class_), change

    return make


def _subclasses(make_class: Callable[[Any, list[type]], None]) -> Callable[[], Looks]:
    def make() -> Looks:
        base = type("Base", (), {})
        made: list[type] = []
        return lambda: len(base.__subclasses__()), lambda: make_class(base, made)

    return make


def _by_a_statement(base: Any, made: list[type]) -> None:
    class Derived(base):  # type: ignore[misc]
        pass

    made.append(Derived)


def _by_a_call(base: Any, made: list[type]) -> None:
    made.append(type("Derived", (base,), {}))


BASES = [
    _subclasses(_by_a_statement),
    _subclasses(_by_a_call),
    _of_bases(lambda class_: class_.__mro__[1]),
    _of_bases(lambda class_: class_.__base__),
    _of_bases(lambda class_: issubclass(class_, class_.__base__)),
]


def _of_view(look: Callable[[Any], object], data: Any = b"text") -> Callable[[], Looks]:
    def make() -> Looks:
        view = memoryview(data)

        def release() -> None:
            with view:
                pass

        return lambda: _or_nothing(look, view), release

    return make


def _or_nothing(look: Callable[[Any], object], thing: Any) -> object:
    try:
        return look(thing)
    except ValueError:
        return None


def _closed_by_an_error() -> Looks:
    memory = io.BytesIO(b"text")

    def close() -> None:
        try:
            with memory:
                raise KeyError
        except KeyError:
            pass

    return lambda: _or_nothing(io.BytesIO.getvalue, memory), close


def _closed_by_a_return() -> Looks:
    mapping = mmap.mmap(-1, 10)

    def close() -> int:
        with mapping:
            return 1

    return lambda: _or_nothing(lambda mapping: mapping[0], mapping), close


WITH = [
    _of_view(lambda view: view[0]),
    _of_view(lambda view: view.nbytes),
    _of_view(memoryview.tolist, bytearray(b"text")),
    _closed_by_an_error,
    _closed_by_a_return,
]

ALL = [*EXCHANGED, *BASES, *WITH]


@pytest.mark.parametrize("make", ALL)
def test_what_is_looked_up_and_called_is_seen(make: Callable[[], Looks]) -> None:
    check_that_it_is_found(make)


@pytest.mark.parametrize("make", ALL)
def test_with_a_lock_it_holds_without_a_condition(make: Callable[[], Looks]) -> None:
    check_that_it_holds(make)
