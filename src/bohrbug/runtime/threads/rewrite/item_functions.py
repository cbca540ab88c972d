"""Functions in C that code in C calls: ``key=attrgetter("name")``, ``map(items.get, keys)``.

Those written in Python tell their accesses themselves, as they are called.  With what these are
called is found out beforehand where that changes nothing: the items of containers, and those that
an iterator over one has not come to.  Of others it is known at least what they are bound to.
"""

from __future__ import annotations

import collections
import functools
import gc
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType
from typing import Any

from bohrbug.runtime.threads.local_variables import local_variables
from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import families, functions_table, partials, unknown
from bohrbug.runtime.threads.rewrite.classes import FROZEN_DICTS, instance_dict, look_up, names
from bohrbug.runtime.threads.rewrite.place import Place

MOST_ITEMS = 1_000
"""Items that are looked at for one call; what functions do to those behind them is not seen."""

Arguments = tuple[Any, ...]

_CONTAINERS = frozenset(
    {list, tuple, dict, set, frozenset, collections.deque, range, str, bytes, *FROZEN_DICTS}
)
_INDEXED = (list, tuple, range, str, bytes, collections.deque)
_SPREADING = frozenset({itertools.starmap})
_FOLDING = frozenset({itertools.accumulate})

_IN_PLACE = frozenset(
    vars(operator)[name] for name in names("iadd imul ior iand isub ixor iconcat")
)

_given: dict[int, Callable[..., Any]] = {}
"""By id of the place of a call that is about to be made: what it is given."""


def is_in_c(function: Any) -> bool:
    """Whether something is a function in C, or an object like one, that may access something."""
    class_ = type(function)
    if issubclass(class_, type):
        # Those of most classes only make an object.
        return functions_table.reads_items(function)
    if class_ is FunctionType or not unknown.CALLED[class_]:
        return False
    return not (class_ is MethodType and type(function.__func__) is FunctionType)


def note(function: Any, place: Place) -> bool:
    """A call is about to be made that is given something by keyword.

    Parameters:
        function: what it is given; noted if it is a function.
        place: of the call.

    Returns:
        Whether it was noted.
    """
    if not callable(function):
        return False
    _given[id(place)] = function
    return True


def take(place: Place) -> Callable[..., Any] | None:
    """What :func:`note` has noted for the call that is made now."""
    return _given.pop(id(place), None) if _given else None


def items_of(thing: Any) -> list[Any] | None:
    """The items of a container, or those that are left of an iterator over one.

    Returns:
        The first :data:`MOST_ITEMS`; ``None``: to know them, functions would have to be called.
    """
    class_ = type(thing)
    if class_ in _CONTAINERS or class_ in families.DICT_VIEWS:
        return list(islice(thing, MOST_ITEMS))
    if class_ is GeneratorType:
        return _items_of_expression(thing)
    if class_ is map:
        return _results_of(thing)
    if table.ITERATORS[class_] not in (table.OVER_CONTAINER, table.OVER_NOTHING):
        return None
    if table.ITERATOR_TYPES[class_] is not class_:
        # It may have a function in Python for that.
        return None
    try:
        # Of iterators over containers it changes nothing, and has what is left.
        _, sources, *positions = thing.__reduce__()
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None
    source = sources[0] if sources else ()
    if type(source) not in _CONTAINERS:
        return None
    start = positions[0] if positions and type(positions[0]) is int else 0
    backwards = start < 0 or "reverse" in class_.__name__
    if type(source) not in _INDEXED or backwards or len(sources) > 1:
        start = 0
    return list(islice(source, start, start + MOST_ITEMS))


def _items_of_expression(generator: Any) -> list[Any] | None:
    """What ``(each for each in things)`` goes through, and gives as it is, or not at all."""
    frame = generator.gi_frame
    code = generator.gi_code
    if frame is None or code.co_name != "<genexpr>" or code.co_names or code.co_freevars:
        # It looks something up, and may give that.
        return None
    source = local_variables(frame).get(".0")
    return None if type(source) is GeneratorType else items_of(source)


_LOOKING_AT_ATTRIBUTES = frozenset({operator.attrgetter, operator.itemgetter})
_CHANGING = frozenset({getattr, setattr, delattr, operator.setitem, operator.delitem})


def depends_on_items(function: Any) -> bool:
    """Whether it matters, and is not known, what a function is called with.

    Others only look at values, or are bound to what they access.
    """
    if partials.is_partial(type(function)):
        return not function.args and depends_on_items(function.func)
    if type(function) is BuiltinFunctionType:
        return function in _CHANGING or function in _IN_PLACE
    if type(function) is table.MethodDescriptor:
        return families.CONTAINER[function.__objclass__]
    return type(function) in _LOOKING_AT_ATTRIBUTES


def calls_of(iterator: Any) -> Iterator[tuple[Callable[..., Any], Arguments | None]]:
    """What an iterator that calls functions in C will call, if it is exhausted.

    Parameters:
        iterator: such as a ``map``, a ``filter``, or what ``iter`` makes of a function.

    Yields:
        Each function with its arguments; ``None``: these are not known.
    """
    referents = gc.get_referents(iterator)
    function = next(
        (
            each
            for each in referents
            if each is not type(iterator) and is_in_c(each) and not _is_iterator(each)
        ),
        None,
    )
    if function is None:
        return
    under = iterators_under(iterator, referents)
    items = [_perhaps_of(under[0])] if len(under) == 1 else [items_of(each) for each in under]
    known = [each for each in items if each is not None]
    if len(known) < len(items) or not items:
        yield function, None
    elif table.ITERATOR_TYPES[type(iterator)] in _FOLDING:
        yield from folded(function, known[0])
    elif table.ITERATOR_TYPES[type(iterator)] in _SPREADING:
        for item in known[0]:
            yield function, tuple(item) if type(item) in (tuple, list) else None
    else:
        for arguments in zip(*known, strict=False):
            yield function, arguments


_UNKNOWN = object()


def _results_of(iterator: Any) -> list[Any] | None:
    """What a ``map`` of a function in C will give that only picks what is there already.

    Returns:
        The values, such as those of ``map(items.get, keys)``; ``None``: it is not known which.
    """
    results = []
    for function, arguments in calls_of(iterator):
        result = _picked(function, arguments) if arguments else _UNKNOWN
        if result is _UNKNOWN:
            return None
        results.append(result)
    return results or None


def _picked(function: Any, arguments: Arguments) -> Any:
    """What a function in C picks out of a container, or of an object, that is there already."""
    class_ = type(function)
    if class_ is BuiltinFunctionType and is_bound(function):
        owner, key = function.__self__, arguments[0]
        if type(owner) is dict and type(key) in (str, int):
            if function.__name__ in ("get", "__getitem__"):
                return owner.get(key, arguments[1] if len(arguments) > 1 else None)
        elif type(owner) is list and type(key) is int and function.__name__ == "__getitem__":
            return value_of(operator.getitem, owner, key)
    elif class_ is operator.itemgetter or class_ is operator.attrgetter:
        details = function.__reduce__()[1]
        if len(details) == 1:
            picking = operator.getitem if class_ is operator.itemgetter else getattr
            return value_of(picking, arguments[0], details[0])
    elif function is operator.getitem or function is getattr:
        return value_of(function, *arguments[:2]) if len(arguments) > 1 else _UNKNOWN
    return _UNKNOWN


_HANDING_ON = frozenset(
    {filter, itertools.filterfalse, itertools.takewhile, itertools.dropwhile, itertools.islice}
)


def _perhaps_of(thing: Any) -> list[Any] | None:
    """The items of something, and those that it may leave out of what functions in C pick."""
    if type(thing) not in _HANDING_ON:
        return items_of(thing)
    under = iterators_under(thing, gc.get_referents(thing))
    is_picked = len(under) == 1 and (type(under[0]) is map or type(under[0]) in _HANDING_ON)
    return _perhaps_of(under[0]) if is_picked else None


def picked_by(things: Iterable[Any]) -> list[Any]:
    """What iterators among some things will pick, as far as that is known."""
    return [
        value
        for thing in things
        if type(thing) is map or type(thing) in _HANDING_ON
        for value in _perhaps_of(thing) or ()
    ]


def _is_iterator(thing: Any) -> bool:
    return table.ITERATORS[type(thing)] is not None


_DATA_OF_TEE: type = vars(itertools)["_tee_dataobject"]

_MOST_CHAINED = 100
"""So many of them are looked at."""


def iterators_under(iterator: Any, referents: list[Any]) -> list[Any]:
    """The iterators that an iterator asks for their items, in their order.

    Parameters:
        iterator: one written in C.
        referents: what it refers to.
    """
    under: list[Any] = []
    if table.ITERATOR_TYPES[type(iterator)] is itertools.chain:
        under.extend(chained(referents))
    for each in referents:
        if type(each) is tuple or type(each) is _DATA_OF_TEE:
            # Not the tuple itself: zip_longest leaves holes in it that crash who looks at them.
            # Its items are told from the last to the first.
            under.extend(filter(_gives_items, reversed(gc.get_referents(each))))
        elif _gives_items(each):
            under.append(each)
    return under


def _gives_items(thing: Any) -> bool:
    return _is_iterator(thing) or type(look_up(type(thing), "__next__")) is FunctionType


def chained(referents: list[Any]) -> list[Any]:
    """The iterators that a chain has not come to, in what it goes through."""
    return [
        each
        for over in referents
        if table.ITERATORS[type(over)] in (table.OVER_CONTAINER, table.OVER_NOTHING)
        for container in gc.get_referents(over)
        if type(container) is tuple or type(container) is list
        for each in container[:_MOST_CHAINED]
        if _gives_items(each)
    ]


_NOTHING_YET = object()


def folded(
    function: Callable[..., Any], items: Iterable[Any], first: Any = _NOTHING_YET
) -> Iterator[tuple[Callable[..., Any], Arguments]]:
    """The calls by which a function in C makes one value of several.

    Parameters:
        function: such as ``operator.getitem``.
        items: all of them.
        first: the value to begin with; if there is none, the first item.

    Yields:
        The function with its arguments.  Values in between are known where the function looks
        something up, or changes what it begins with; else ``None`` stands for them.
    """
    value = first
    for item in items:
        if value is _NOTHING_YET:
            value = item
            continue
        yield function, (value, item)
        value = value_of(function, value, item)


def value_of(function: Callable[..., Any], value: Any, item: Any) -> Any:
    """What a function would give, where that is seen without calling anything."""
    if type(function) is not BuiltinFunctionType:
        return None
    if function in _IN_PLACE:
        return value
    if function is operator.getitem:
        if type(value) is dict and type(item) in (str, int):
            return value.get(item)
        if type(value) in (list, tuple) and type(item) is int:
            return value[item] if -len(value) <= item < len(value) else None
    elif function is getattr and type(item) is str:
        return plain_attribute(value, item)
    return None


def plain_attribute(owner: Any, name: str) -> Any:
    """An attribute that lies in the dict of an object, else ``None``."""
    namespace = instance_dict(owner)
    return None if namespace is None else namespace.get(name)


def held_by(owner: Any) -> list[Callable[..., Any]]:
    """The functions in C that an object of C will call, such as the handlers of a parser.

    Not itself: a function of a library that was loaded with ``ctypes`` holds itself, and does not
    call itself for that.
    """
    return [
        each
        for each in gc.get_referents(owner)
        if each is not owner
        and (type(each) is not BuiltinFunctionType or is_bound(each))
        and is_in_c(each)
        and not _is_iterator(each)
    ]


def is_bound(function: Any) -> bool:
    """Whether a function in C is bound to an object, such as ``items.append``."""
    return type(getattr(function, "__self__", None)) not in table.OWNERS_OF_FUNCTIONS


def wrapped(cache: functools._lru_cache_wrapper[Any]) -> Callable[..., Any] | None:
    """The function in C that an ``lru_cache`` is around."""
    function = getattr(cache, "__wrapped__", None)
    return function if is_in_c(function) else None
