"""Who looks at memory of ``ctypes``, at an ``mmap`` or a connection sees what others change."""

from __future__ import annotations

import binascii
import copy
import ctypes
import gc
import hashlib
import io
import itertools
import mmap
import operator
import os
import pickle
import sqlite3
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from multiprocessing import Array, Value
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import pytest

from .looking_twice import Looks, check_that_it_holds, check_that_it_is_found


class _Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_int * 2))


class _Named(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char * 4),)


class _Kind(NamedTuple):
    """Things of one kind.

    Parameters:
        make: makes one.
        changes: of it; each is tried with the first look.
        looks: at it; each is tried with the first change.
    """

    make: Callable[[], Any]
    changes: dict[str, Callable[[Any], object]]
    looks: dict[str, Callable[[Any], object]]

    def pairs(self) -> list[tuple[str, str]]:
        """The names of what is tried together: of a change and of a look."""
        first_change, first_look = next(iter(self.changes)), next(iter(self.looks))
        pairs = [(change, first_look) for change in self.changes]
        return pairs + [(first_change, look) for look in self.looks if look != first_look]

    def looks_of(self, change: str, look: str) -> Callable[[], Looks]:
        """Makes something, and what one pair does to it."""

        def make() -> Looks:
            it = self.make()
            return lambda: self.looks[look](it), lambda: self.changes[change](it)

        return make


def _set(name: str, value: object) -> Callable[[Any], object]:
    return lambda it: setattr(it, name, value)


def _call(name: str, *arguments: Any) -> Callable[[Any], object]:
    return lambda it: getattr(it, name)(*arguments)


def _or_error(look: Callable[[Any], object]) -> Callable[[Any], object]:
    def see(it: Any) -> object:
        try:
            return look(it)
        except (sqlite3.Error, ValueError) as error:
            return str(error)

    return see


def _bytes_by_pipe(buffer: Any) -> bytes:
    reading, writing = os.pipe()
    os.write(writing, buffer)
    os.close(writing)
    read = os.read(reading, 100)
    os.close(reading)
    return read


def _written(buffer: Any) -> bytes:
    stream = io.BytesIO()
    stream.write(buffer)
    return stream.getvalue()


_BYTES: dict[str, Callable[[Any], object]] = {
    "bytes": bytes,
    "memoryview": lambda it: memoryview(it).tobytes(),
    "item of a view": lambda it: memoryview(it).cast("B")[0],
    "crc32": zlib.crc32,
    "md5": lambda it: hashlib.md5(it).hexdigest(),
    "hexlify": lambda it: binascii.hexlify(it),
    "join": lambda it: b"".join([it]),
    "BytesIO.write": _written,
    "os.write": _bytes_by_pipe,
    "unpack": lambda it: struct.unpack_from("b", it),
}

_OPEN_BYTES: dict[str, Callable[[Any], object]] = {
    "view": lambda it: memoryview(it).cast("B").__setitem__(0, 9),
    "slice of a view": lambda it: memoryview(it).cast("B").__setitem__(slice(0, 1), b"\x08"),
    "pack_into": lambda it: struct.pack_into("b", it, 0, 7),
    "readinto": lambda it: io.BytesIO(b"XYZ").readinto(it),
}

_ARRAY = ctypes.c_int * 3


def _database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.execute("create table t (a)")
    connection.execute("insert into t values (zeroblob(2))")
    return connection


def _backup(connection: sqlite3.Connection) -> object:
    target = sqlite3.connect(":memory:")
    connection.backup(target)
    return target.execute("select count(*), sum(a) from t").fetchone()


def _back_up_into(connection: sqlite3.Connection) -> None:
    source = _database()
    source.execute("insert into t values (1)")
    source.backup(connection)


def _enter(connection: sqlite3.Connection | mmap.mmap) -> None:
    connection.__enter__()


def _rows(connection: sqlite3.Connection) -> object:
    return connection.execute("select a from t").fetchall()


def _write_blob(connection: sqlite3.Connection) -> None:
    with connection.blobopen("t", "a", 1) as blob:
        blob.write(b"AB")


def _with_blob() -> tuple[sqlite3.Connection, sqlite3.Blob]:
    connection = _database()
    return connection, connection.blobopen("t", "a", 1)


def _reader_and_writer() -> tuple[sqlite3.Connection, sqlite3.Connection]:
    with tempfile.NamedTemporaryFile() as file:
        reader, writer = (sqlite3.connect(file.name, check_same_thread=False) for _ in range(2))
        writer.executescript("create table t (a)")
        # It goes on to be there for these two.
        writer.execute("insert into t values (1)")
        reader.execute("select a from t").fetchall()
    return reader, writer


class _Adapted:
    pass


def _adapted_rows(_: sqlite3.Connection) -> object:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (a)")
    connection.executemany("insert into t values (?)", [(_Adapted(),)])
    return _rows(connection)


def _with_converter() -> sqlite3.Connection:
    sqlite3.register_adapter(_Adapted, lambda _: 1)
    sqlite3.register_converter("adapted", lambda _: 1)
    connection = sqlite3.connect(
        ":memory:", check_same_thread=False, detect_types=sqlite3.PARSE_DECLTYPES
    )
    connection.execute("create table t (a adapted)")
    connection.execute("insert into t values ('5')")
    return connection


def _cursor() -> sqlite3.Cursor:
    return _database().cursor()


def _file_in_memory() -> mmap.mmap:
    with tempfile.TemporaryFile() as file:
        file.write(bytes(16))
        file.flush()
        return mmap.mmap(file.fileno(), 16)


def _buffer() -> tuple[Any, Any]:
    buffer = bytearray(4)
    return buffer, ctypes.c_int.from_buffer(buffer)


def _shared_memory() -> SharedMemory:
    memory = SharedMemory(create=True, size=8)
    memory.unlink()
    return memory


def _pointer() -> tuple[Any, Any]:
    array = _ARRAY(1, 2, 3)
    return ctypes.cast(array, ctypes.POINTER(ctypes.c_int)), array


_MAPPED: tuple[dict[str, Callable[[Any], object]], dict[str, Callable[[Any], object]]] = (
    {
        "setitem by name": _call("__setitem__", 0, 65),
        "slice by name": _call("__setitem__", slice(0, 2), b"QQ"),
        "view": _OPEN_BYTES["view"],
        "as ctypes": lambda it: setattr(ctypes.c_char.from_buffer(it), "value", b"w"),
    },
    {
        "item": lambda it: it[0],
        "getitem by name": _call("__getitem__", 0),
        "slice by name": _call("__getitem__", slice(0, 2)),
        **_BYTES,
    },
)

KINDS = {
    "structure": _Kind(
        _Pair,
        {
            "attribute": _set("a", 5),
            **_OPEN_BYTES,
            "__init__": _call("__init__", 6),
            "descriptor": lambda it: _Pair.a.__set__(it, 4),
        },
        {
            "attribute": lambda it: it.a,
            **_BYTES,
            "copy": lambda it: copy.copy(it).a,
            "pickle": pickle.dumps,
            "from_buffer_copy": lambda it: _Pair.from_buffer_copy(it).a,
            "string_at by reference": lambda it: ctypes.string_at(ctypes.byref(it), 2),
            "string_at an address": lambda it: ctypes.string_at(ctypes.addressof(it), 2),
            "descriptor": lambda it: _Pair.a.__get__(it),
        },
    ),
    "array in a structure": _Kind(
        _Pair,
        {"setitem by name": lambda it: it.b.__setitem__(0, 6)},
        {"list": lambda it: list(it.b), "bytes": bytes, "sum": lambda it: sum(it.b)},
    ),
    "text in a structure": _Kind(
        _Named, {"attribute": _set("name", b"ab")}, {"attribute": lambda it: it.name}
    ),
    "number": _Kind(
        ctypes.c_int,
        {"value": _set("value", 2), **_OPEN_BYTES},
        {"repr": repr, **_BYTES, "bool": lambda it: not it},
    ),
    "array": _Kind(
        lambda: _ARRAY(1, 2, 3),
        {
            "setitem by name": _call("__setitem__", 0, 5),
            "slice by name": _call("__setitem__", slice(0, 2), [5, 6]),
            "setitem": lambda it: operator.setitem(it, 0, 5),
            **_OPEN_BYTES,
        },
        {
            "getitem by name": _call("__getitem__", 0),
            "slice by name": _call("__getitem__", slice(0, 2)),
            **_BYTES,
            "list": list,
            "sum": lambda it: sum(it),
            "for": lambda it: [each + 1 for each in it],
            "islice": lambda it: list(itertools.islice(it, 2)),
        },
    ),
    "text": _Kind(
        lambda: (ctypes.c_char * 4)(b"a", b"b"),
        {"second item": _call("__setitem__", 1, b"q")},
        {"value": lambda it: it.value, "string_at": lambda it: ctypes.string_at(it)},
    ),
    "wide text": _Kind(
        lambda: (ctypes.c_wchar * 4)("a", "b"),
        {"second item": _call("__setitem__", 1, "q")},
        {"value": lambda it: it.value, "wstring_at": lambda it: ctypes.wstring_at(it, 2)},
    ),
    "pointer": _Kind(
        _pointer,
        {
            "item": lambda it: it[0].__setitem__(2, 9),
            "of the array": lambda it: it[1].__setitem__(2, 9),
        },
        {
            "item": lambda it: it[0].__getitem__(2),
            "slice": lambda it: it[0][:3],
            "of the array": lambda it: it[1][2],
            "bytes of the array": lambda it: bytes(it[1]),
        },
    ),
    "what a pointer points to": _Kind(
        _pointer,
        {"contents": lambda it: setattr(it[0], "contents", ctypes.c_int(7))},
        {
            "item": lambda it: it[0][0],
            "contents": lambda it: it[0].contents.value,
            "string_at": lambda it: ctypes.string_at(it[0], 4),
        },
    ),
    "buffer": _Kind(
        _buffer,
        {
            "item": lambda it: it[0].__setitem__(0, 5),
            "number": lambda it: setattr(it[1], "value", 5),
        },
        {
            "number": lambda it: it[1].value,
            "address": lambda it: ctypes.string_at(ctypes.addressof(it[1]), 4),
            "item": lambda it: it[0][0],
        },
    ),
    "synchronized array": _Kind(
        lambda: Array("i", [1, 2]),
        {"setitem": lambda it: operator.setitem(it, 0, 5)},
        {"of the array in it": lambda it: list(it.get_obj()), "slice": lambda it: it[:]},
    ),
    "synchronized number": _Kind(
        lambda: Value("i", 1),
        {"value": _set("value", 5)},
        {"value": lambda it: it.value, "of the number in it": lambda it: it.get_obj().value},
    ),
    "shared memory": _Kind(
        _shared_memory,
        {"item": lambda it: operator.setitem(it.buf, 0, 5), "close": _call("close")},
        {"bytes": lambda it: bytes(it.buf or b"closed"), "item": lambda it: it.buf[0]},
    ),
    "mmap": _Kind(lambda: mmap.mmap(-1, 16), *_MAPPED),
    "mmap of a file": _Kind(_file_in_memory, *_MAPPED),
    "closed mmap": _Kind(
        _file_in_memory,
        {"close": _call("close"), "__exit__": _call("__exit__", None, None, None)},
        {
            "len": _or_error(len),
            "__len__": _or_error(_call("__len__")),
            "with": _or_error(_enter),
            "from_buffer": _or_error(lambda it: type(ctypes.c_int.from_buffer(it))),
            "closed": lambda it: it.closed,
        },
    ),
    "connection": _Kind(
        _database,
        {
            "execute": _call("execute", "insert into t values (1)"),
            "executemany": _call("executemany", "insert into t values (?)", [(1,), (2,)]),
            "executescript": _call("executescript", "insert into t values (5);"),
            "backup": _back_up_into,
        },
        {"backup": _backup, "serialize": lambda it: it.serialize(), "select": _rows},
    ),
    "closed connection": _Kind(
        _database,
        {"close": _call("close")},
        {
            "serialize": _or_error(lambda it: it.serialize()),
            "isolation_level": _or_error(lambda it: it.isolation_level),
            "with": _or_error(_enter),
            "getlimit": _or_error(_call("getlimit", sqlite3.SQLITE_LIMIT_LENGTH)),
        },
    ),
    "cursor of a closed connection": _Kind(
        _cursor,
        {"close": lambda it: it.connection.close()},
        {"fetchall": _or_error(_call("fetchall")), "close": _or_error(_call("close"))},
    ),
    "blob": _Kind(
        _database,
        {"blob": _write_blob, "update": _call("execute", "update t set a = x'4142'")},
        {
            "select": _rows,
            "blob": lambda it: it.blobopen("t", "a", 1, readonly=True).read(),
            "serialize": lambda it: it.serialize(),
        },
    ),
    "open blob": _Kind(
        _with_blob,
        {
            "write": lambda it: it[1].write(b"A"),
            "setitem": lambda it: operator.setitem(it[1], 0, 65),
        },
        {"select": lambda it: _rows(it[0]), "serialize": lambda it: it[0].serialize()},
    ),
    "end of a transaction": _Kind(
        _reader_and_writer,
        {"isolation_level": lambda it: setattr(it[1], "isolation_level", None)},
        {"select": lambda it: _rows(it[0])},
    ),
    "adapter": _Kind(
        _with_converter,
        {"register": lambda _: sqlite3.register_adapter(_Adapted, lambda _: 2)},
        {
            "execute": lambda it: it.execute("select ?", (_Adapted(),)).fetchone(),
            "of a cursor": lambda it: it.cursor().execute("select ?", [_Adapted()]).fetchone(),
            "executemany": _adapted_rows,
        },
    ),
    "converter": _Kind(
        _with_converter,
        {"register": lambda _: sqlite3.register_converter("adapted", lambda _: 2)},
        {"execute": _rows},
    ),
    "adapt": _Kind(
        _with_converter,
        {"register": lambda _: sqlite3.register_adapter(_Adapted, lambda _: 2)},
        {"adapt": lambda _: sqlite3.adapt(_Adapted())},
    ),
    "authorizer": _Kind(
        _database,
        {"set": _call("set_authorizer", lambda *_: sqlite3.SQLITE_DENY)},
        {"select": _or_error(_rows), "serialize": _or_error(lambda it: it.serialize())},
    ),
    "size of a cursor": _Kind(
        _cursor, {"set": _set("arraysize", 2)}, {"get": lambda it: it.arraysize}
    ),
    "rows of a cursor": _Kind(
        _cursor, {"set": _set("row_factory", sqlite3.Row)}, {"get": lambda it: it.row_factory}
    ),
}

PAIRS = [(kind, *pair) for kind, each in KINDS.items() for pair in each.pairs()]


# From Python 3.13 on, connections that are left open say so when they die.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")


@pytest.fixture(autouse=True)
def _connections_die_here() -> Iterator[None]:
    yield
    gc.collect()


@pytest.mark.parametrize(("kind", "change", "look"), PAIRS)
def test_whoever_looks_sees_a_change(kind: str, change: str, look: str) -> None:
    check_that_it_is_found(KINDS[kind].looks_of(change, look))


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_lock_nobody_sees_one(kind: str) -> None:
    change, look = KINDS[kind].pairs()[-1]
    check_that_it_holds(KINDS[kind].looks_of(change, look))
