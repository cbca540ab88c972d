"""Containers that two changes bring from one state to another, and ways to look at one.

Each way is tried with each container: whatever it tells of the state in between was read there.
"""

from __future__ import annotations

import array
import bisect
import collections
import contextlib
import copy
import csv
import functools
import heapq
import io
import itertools
import json
import math
import operator
import pickle
import pprint
import random
import re
import statistics
import string
import struct
import types
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Look = Callable[[Any], object]


class Container(NamedTuple):
    """What is looked at.

    Parameters:
        make: makes one in its first state.
        first, second: bring it to its second state, and to its third.
    """

    make: Callable[[], Any]
    first: Callable[[Any], object]
    second: Callable[[Any], object]


class _Plain:
    def __init__(self) -> None:
        self.a = 1


class _Slotted:
    __slots__ = ("a",)

    def __init__(self) -> None:
        self.a = 1


class _Listing(list[int]):
    pass


def _append(value: object) -> Callable[[Any], object]:
    return lambda it: it.append(value)


def _put(value: object) -> Callable[[Any], object]:
    return lambda it: it.__setitem__("k", value)


def _set(value: object) -> Callable[[Any], object]:
    return lambda it: setattr(it, "a", value)


def _add(value: object) -> Callable[[Any], object]:
    return lambda it: it.add(value)


def _write(value: object) -> Callable[[Any], object]:
    return lambda it: it.write(value)


def _count(it: Any) -> None:
    it.update("k")


CONTAINERS: Mapping[str, Container] = {
    "list": Container(lambda: [1], _append(2), _append(3)),
    "list of a class": Container(lambda: _Listing([1]), _append(2), _append(3)),
    "list in a list": Container(
        lambda: [[1]], lambda it: it[0].append(2), lambda it: it[0].append(3)
    ),
    "list in a tuple": Container(
        lambda: ([1],), lambda it: it[0].append(2), lambda it: it[0].append(3)
    ),
    "list in a dict": Container(
        lambda: {"k": [1]}, lambda it: it["k"].append(2), lambda it: it["k"].append(3)
    ),
    "dict": Container(lambda: {"k": 1}, _put(2), _put(3)),
    "set": Container(lambda: {1}, _add(2), _add(3)),
    "deque": Container(lambda: collections.deque([1]), _append(2), _append(3)),
    "OrderedDict": Container(lambda: collections.OrderedDict(k=1), _put(2), _put(3)),
    "order of an OrderedDict": Container(
        lambda: collections.OrderedDict(k=1, z=2, y=3),
        lambda it: it.move_to_end("k"),
        lambda it: it.move_to_end("z"),
    ),
    "defaultdict": Container(lambda: collections.defaultdict(int, k=1), _put(2), _put(3)),
    "Counter": Container(lambda: collections.Counter(k=1), _count, _count),
    "ChainMap": Container(lambda: collections.ChainMap({"k": 1}, {"z": 1}), _put(2), _put(3)),
    "UserList": Container(lambda: collections.UserList([1]), _append(2), _append(3)),
    "UserDict": Container(lambda: collections.UserDict(k=1), _put(2), _put(3)),
    "bytearray": Container(lambda: bytearray(b"\1"), _append(2), _append(3)),
    "array": Container(lambda: array.array("b", [1]), _append(2), _append(3)),
    "memoryview": Container(
        lambda: memoryview(bytearray(b"\1\1")),
        lambda it: it.__setitem__(0, 2),
        lambda it: it.__setitem__(0, 3),
    ),
    "BytesIO": Container(io.BytesIO, _write(b"\2"), _write(b"\3")),
    "StringIO": Container(io.StringIO, _write("a"), _write("b")),
    "Element": Container(
        lambda: ET.Element("a"),
        lambda it: it.append(ET.Element("b")),
        lambda it: it.append(ET.Element("c")),
    ),
    "attributes of an Element": Container(
        lambda: ET.Element("a", k="1"), lambda it: it.set("k", "2"), lambda it: it.set("k", "3")
    ),
    "SimpleNamespace": Container(lambda: types.SimpleNamespace(a=1), _set(2), _set(3)),
    "object": Container(_Plain, _set(2), _set(3)),
    "object with slots": Container(_Slotted, _set(2), _set(3)),
}


def _as_text(it: Any) -> str:
    stream = io.StringIO()
    print(it, file=stream)
    return stream.getvalue()


def _lines(it: Any) -> str:
    stream = io.StringIO()
    stream.writelines(map(str, it))
    return stream.getvalue()


def _bytes_written(it: Any) -> bytes:
    stream = io.BytesIO()
    stream.write(it)
    return stream.getvalue()


def _row(it: Any) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerow(it)
    return stream.getvalue()


def _given(*arguments: object, **named: object) -> object:
    return arguments, named


def _matched(it: Any) -> object:
    match it:
        case [first, *rest]:
            return first, len(rest)
        case {"k": value}:
            return value
        case _:
            return None


def _unpacked(it: Any) -> object:
    first, *rest = it
    return first, rest


def _gone_through(it: Any) -> list[object]:
    found = []
    for each in it:
        found.append(each)
    return found


def _asserted(it: Any) -> bool:
    try:
        assert it
    except AssertionError:
        return False
    return True


def _extended(it: Any) -> list[object]:
    found: list[object] = []
    found += it
    return found


def _replaced(it: Any) -> list[object]:
    found: list[object] = [0]
    found[:] = it
    return found


def _merged(it: Any) -> dict[object, object]:
    found: dict[object, object] = {}
    found |= it
    return found


def _given_on(it: Any) -> list[object]:
    def items() -> Any:
        yield from it

    return list(items())


def _evaluated(it: Any) -> object:
    return eval("k", {}, it)


LOOKS: Mapping[str, Look] = {
    # Functions of the builtins.
    **{
        each.__name__: each
        for each in (len, bool, str, repr, list, tuple, sorted, sum, max, min, any, all)
    },
    **{each.__name__: each for each in (bytes, bytearray, int, float, vars)},
    "set": lambda it: sorted(map(str, set(it))),
    "frozenset": lambda it: sorted(map(str, frozenset(it))),
    "dict": lambda it: dict(it),
    "enumerate": lambda it: list(enumerate(it)),
    "zip": lambda it: list(zip(it, it, strict=False)),
    "map": lambda it: list(map(str, it)),
    "filter": lambda it: list(filter(None, it)),
    "next": lambda it: next(iter(it)),
    "reversed": lambda it: list(reversed(it)),
    "format": lambda it: format(it, ""),
    "print": _as_text,
    "eval": _evaluated,
    # Operators and statements.
    "it[0]": lambda it: it[0],
    "it[-1]": lambda it: it[-1],
    "it['k']": lambda it: it["k"],
    "it[:]": lambda it: it[:],
    "it[::-1]": lambda it: it[::-1],
    "it.a": lambda it: it.a,
    "2 in it": lambda it: 2 in it,
    "2 not in it": lambda it: 2 not in it,
    "2 in it.values()": lambda it: 2 in it.values(),
    "it == [1, 2]": lambda it: it == [1, 2],
    "it == {'k': 2}": lambda it: it == {"k": 2},
    "it == {1, 2}": lambda it: it == {1, 2},
    "it < [1, 3]": lambda it: it < [1, 3],
    "[it] == [[1, 2]]": lambda it: [it] == [[1, 2]],
    "[1, 2] in [it]": lambda it: [1, 2] in [it],
    "it + [9]": lambda it: it + [9],  # noqa: RUF005
    "it * 2": lambda it: it * 2,
    "{1} | it": lambda it: sorted(map(str, {1} | it)),
    "if it": lambda it: 1 if it else 0,
    "not it": lambda it: not it,
    "it and 5": lambda it: repr(it and 5),
    "assert it": _asserted,
    "f'{it}'": lambda it: f"{it}",
    "f'{it!r}'": lambda it: f"{it!r}",
    "'%s' % it": lambda it: "%s" % (it,),
    "'%(k)s' % it": lambda it: "%(k)s" % it,
    "[*it]": lambda it: [*it],
    "{**it}": lambda it: {**it},
    "f(*it)": lambda it: _given(*it),
    "f(**it)": lambda it: _given(**it),
    "first, *rest = it": _unpacked,
    "for": _gone_through,
    "comprehension": lambda it: [each for each in it],  # noqa: C416
    "generator": lambda it: list(each for each in it),  # noqa: C400
    "yield from": _given_on,
    "match": _matched,
    "list += it": _extended,
    "list[:] = it": _replaced,
    "dict |= it": _merged,
    # Methods.
    "get": lambda it: it.get("k"),
    "keys": lambda it: list(it.keys()),
    "values": lambda it: list(it.values()),
    "items": lambda it: list(it.items()),
    "getvalue": lambda it: it.getvalue(),
    "hex": lambda it: it.hex(),
    "join": lambda it: "".join(map(str, it)),
    "join of bytes": lambda it: b"".join([it]),
    "str.format": lambda it: "{}".format(it),
    "str.format(*it)": lambda it: "{0}".format(*it),
    "format_map": lambda it: "{k}".format_map(it),
    "union": lambda it: sorted(map(str, set[object]().union(it))),
    "isdisjoint": lambda it: {2}.isdisjoint(it),
    "__len__": lambda it: it.__len__(),
    "__getitem__": lambda it: it.__getitem__(0),
    # The standard library.
    "copy": lambda it: repr(copy.copy(it)),
    "deepcopy": lambda it: repr(copy.deepcopy(it)),
    "pickle": lambda it: repr(pickle.loads(pickle.dumps(it))),
    "json": json.dumps,
    "csv": _row,
    "pformat": pprint.pformat,
    "writelines": _lines,
    "write": _bytes_written,
    "deque": lambda it: list(collections.deque(it)),
    "Counter": lambda it: collections.Counter(it),
    "array": lambda it: array.array("b", it),
    "heapq": lambda it: heapq.nlargest(2, it),
    "bisect": lambda it: bisect.bisect(it, 5),
    "chain": lambda it: list(itertools.chain(it, [0])),
    "islice": lambda it: list(itertools.islice(it, 5)),
    "accumulate": lambda it: list(itertools.accumulate(it)),
    "product": lambda it: list(itertools.product(it)),
    "zip_longest": lambda it: list(itertools.zip_longest(it)),
    "pairwise": lambda it: list(itertools.pairwise(it)),
    "tee": lambda it: list(itertools.tee(it)[0]),
    "groupby": lambda it: [key for key, _ in itertools.groupby(it)],
    "compress": lambda it: list(itertools.compress("abcdef", it)),
    "starmap": lambda it: list(itertools.starmap(_given, [it])),
    "reduce": lambda it: functools.reduce(operator.add, it),
    "itemgetter": lambda it: operator.itemgetter(0)(it),
    "contains": lambda it: operator.contains(it, 2),
    "countOf": lambda it: operator.countOf(it, 2),
    "truth": operator.truth,
    "mean": statistics.mean,
    "fsum": math.fsum,
    "choice": lambda it: random.Random(2).choice(it),
    "findall": lambda it: re.findall(rb".", it),
    "unpack_from": lambda it: struct.unpack_from("b", it),
    "from_bytes": lambda it: int.from_bytes(it, "little"),
    "memoryview": lambda it: memoryview(it).tobytes(),
    "Template": lambda it: string.Template("$k").safe_substitute(it),
    "tostring": lambda it: ET.tostring(it),
}

_ADDRESS = re.compile(r"0x[0-9a-f]+")


def seen(look: Look, it: Any) -> str:
    """What somebody sees who looks in this way: text, or which error that gives."""
    with contextlib.suppress(StopIteration):
        try:
            return _ADDRESS.sub("", repr(look(it)))
        except StopIteration:
            raise
        except Exception as error:
            return f"error: {type(error).__name__}"
    return "nothing"


def between(container: Container, look: Look) -> str | None:
    """What only the second state shows; ``None`` if the look does not tell it from the others."""
    states = []
    for changes in ((), (container.first,), (container.first, container.second)):
        it = container.make()
        for change in changes:
            change(it)
        states.append(seen(look, it))
    first, second, third = states
    is_told = second not in (first, third) and not second.startswith("error")
    return second if is_told else None
