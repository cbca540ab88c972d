"""``sqlite3`` under control: each statement is an operation, see :mod:`.database`.

Connections that were made before are not controlled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from sys import _getframe
from typing import Any

from bohrbug.model.operation import INSPECT, QUERY, SET, STATEMENT, Kind
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.io.backups import back_up
from bohrbug.runtime.threads.io.database import DEFAULT_TIMEOUT, Waiting, database_of
from bohrbug.runtime.threads.io.handed_buffers import read_by
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.rewrite.callables import (
    instrumented_callable,
    tell_consumed,
    tell_used,
)
from bohrbug.runtime.threads.synchronizers import place_of


@patches.when_imported("sqlite3")
def _wrap_sqlite(module: Any) -> None:
    classes = _Classes(module)
    real_connect = module.connect

    def connect(*args: Any, **options: Any) -> Any:
        factory = options.get("factory", module.Connection)
        has_own_factory = len(args) > _PARAMETERS.index("factory")
        if controlled() is None or has_own_factory or not isinstance(factory, type):
            return real_connect(*args, **options)
        return real_connect(*args, **{**options, "factory": classes.connection(factory)})

    patches.function(module, "connect")(connect)
    patches.function(module.dbapi2, "connect")(connect)
    adapt = _adapting(module)
    patches.function(module, "adapt")(adapt)
    patches.function(module.dbapi2, "adapt")(adapt)
    for name, kept in (("register_adapter", _ADAPTERS), ("register_converter", _CONVERTERS)):
        register = _registering(getattr(module, name), name, getattr(module, kept))
        patches.function(module, name)(register)
        patches.function(module.dbapi2, name)(register)


_ADAPTERS, _CONVERTERS = "adapters", "converters"
"""Dicts of the module: functions that statements call for what they are given, and for columns."""


def _registering(
    original: Callable[[Any, Any], None], name: str, kept: dict[Any, Any]
) -> Callable[[Any, Any], None]:
    """What keeps a function that statements call: one in C tells what it does."""

    def register(what: Any, function: Any, /) -> None:
        tell_used(name, kept, True)
        original(what, instrumented_callable(function))

    return register


_PARAMETERS = (
    "database",
    "timeout",
    "detect_types",
    "isolation_level",
    "check_same_thread",
    "factory",
)
"""Of ``sqlite3.connect``, in their order, as far as it matters."""


def _adapting(module: Any) -> Callable[..., Any]:
    original = module.adapt

    @functools.wraps(original)
    def adapt(*args: Any) -> Any:
        tell_used("sqlite3.adapt", getattr(module, _ADAPTERS), False)
        return original(*args)

    return adapt


class _Classes:
    """Classes of connections and cursors whose statements are operations.

    Parameters:
        module: ``sqlite3``.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        self._connections: dict[type, type] = {}
        self._cursors: dict[type, type] = {}

    def connection(self, base: Any) -> type:
        """A class of connections like ``base``."""
        found = self._connections.get(base)
        if found is None:
            found = self._connections[base] = self._new_connection(base)
        return found

    def cursor(self, base: Any) -> type:
        """A class of cursors like ``base``."""
        found = self._cursors.get(base)
        if found is None:
            found = self._cursors[base] = _named_like(base, _new_cursor(base, self._module))
        return found

    def _new_connection(self, base: Any) -> type:
        module, cursor_class = self._module, self.cursor

        class Connection(base):  # type: ignore[misc]
            row_factory, text_factory = (
                _setting(base, name) for name in ("row_factory", "text_factory")
            )
            isolation_level = _setting_of_transactions(base, "isolation_level")

            @property
            def in_transaction(self) -> bool:
                self._waiting.look(_getframe(1))
                return bool(super().in_transaction)

            @property
            def total_changes(self) -> int:
                self._waiting.look(_getframe(1))
                return int(super().total_changes)

            def __init__(self, *args: Any, **options: Any) -> None:
                given = {**dict(zip(_PARAMETERS, args, strict=False)), **options}
                execution = controlled()
                has_owner = execution is not None and given.get("check_same_thread", True)
                self._waiting = Waiting(
                    database_of(given["database"]),
                    given.get("timeout", DEFAULT_TIMEOUT),
                    execution.current.ident if execution is not None and has_owner else None,
                    module,
                )
                self._converts = bool(given.get("detect_types"))
                super().__init__(**{**given, "timeout": 0.0})
                if execution is not None:
                    execution.resources.register(
                        self, execution.current, "Connection", place_of(_getframe(1))
                    )

            def cursor(self, factory: Any = module.Cursor) -> Any:
                if isinstance(factory, type) and issubclass(factory, module.Cursor):
                    factory = cursor_class(factory)
                _use_settings(self, INSPECT, _getframe(1))
                return super().cursor(factory)

            def execute(self, *args: Any) -> Any:
                return self._execute("execute", args, _getframe(1))

            def executemany(self, *args: Any) -> Any:
                return self._execute("executemany", args, _getframe(1))

            def executescript(self, *args: Any) -> Any:
                return self._execute("executescript", args, _getframe(1))

            def _execute(self, name: str, args: tuple[Any, ...], frame: Any) -> Any:
                _point_at_settings(self, INSPECT, frame)
                call = getattr(super(), name)
                if base is module.Connection:
                    # It would make a cursor that is not controlled.
                    call = getattr(super(cursor_class(module.Cursor), self.cursor()), name)
                if name == "executemany":
                    _tell_many(module)
                    return self._waiting.execute_many(self, call, args, frame)
                _tell_bound(module, self, args)
                return self._waiting.execute(self, call, args, frame)

            def backup(self, target: Any, **options: Any) -> None:
                frame = _getframe(1)
                _point_at_settings(self, INSPECT, frame)
                back_up(self, target, super().backup, options, frame)

            def commit(self) -> None:
                self._waiting.end(self, super().commit, _getframe(1))

            def rollback(self) -> None:
                self._waiting.end(self, super().rollback, _getframe(1))

            def close(self) -> None:
                self._waiting.close(self, super().close, _getframe(1))

            def __exit__(self, *exc_info: object) -> None:
                frame = _getframe(1)
                if exc_info[0] is None:
                    try:
                        self._waiting.end(self, super().commit, frame)
                    except BaseException:
                        self._waiting.end(self, super().rollback, frame)
                        raise
                else:
                    self._waiting.end(self, super().rollback, frame)

        for names, make in (
            (_USING_DATA, _using_data),
            (_ABOUT_SETTINGS, _about_settings),
            (_NEEDING_NOTHING_ELSE, _needing_it_open),
        ):
            for name in names:
                if hasattr(base, name):
                    setattr(Connection, name, make(base, name))
        if hasattr(base, "autocommit"):
            Connection.autocommit = _setting_of_transactions(base, "autocommit")
        for name in _TAKING_FUNCTIONS:
            if hasattr(base, name):
                setattr(Connection, name, _taking_functions(base, name))
        return _named_like(base, Connection)


_TAKING_FUNCTIONS = (
    *("create_function", "create_aggregate", "create_window_function", "create_collation"),
    *("set_trace_callback", "set_progress_handler", "set_authorizer"),
)
"""Methods of connections that keep a function, which statements call later on."""


def _taking_functions(base: Any, name: str) -> Any:
    """A method of connections: functions in C that it is given tell what they do."""
    original = getattr(base, name)

    @functools.wraps(original)
    def take(self: Any, *args: Any, **options: Any) -> Any:
        _use_settings(self, SET, _getframe(1))
        given = [instrumented_callable(each) for each in args]
        named = {key: instrumented_callable(each) for key, each in options.items()}
        return original(self, *given, **named)

    return take


_SET = "settings of a connection of sqlite3"


def _point_at_settings(connection: Any, kind: Kind, frame: Any) -> None:
    """A task is about to change settings of a connection, or to do what depends on them."""
    execution = controlled()
    if execution is None or execution.current.inside or execution.is_alone():
        return
    if kind is SET:
        # From the next execution on, what depends on them is an operation on them, too.
        execution.namespaces.add(_SET)
    elif _SET not in execution.namespaces:
        return
    state = execution.resources.of(connection, "Connection")
    execution.perform(kind, state, place_of(frame))


def _setting(base: Any, name: str) -> property:
    original: Any = getattr(base, name)

    def get(self: Any) -> Any:
        _point_at_settings(self, INSPECT, _getframe(1))
        return original.__get__(self)

    def set_(self: Any, value: Any) -> None:
        _point_at_settings(self, SET, _getframe(1))
        original.__set__(self, instrumented_callable(value))

    return property(get, set_)


def _setting_of_transactions(base: Any, name: str) -> property:
    """A setting that a closed connection does not have, and that may end a transaction."""
    original: Any = getattr(base, name)
    has_begun: Any = base.in_transaction.__get__

    def get(self: Any) -> Any:
        _use_settings(self, INSPECT, _getframe(1))
        return original.__get__(self)

    def set_(self: Any, value: Any) -> None:
        frame = _getframe(1)
        _use_settings(self, SET, frame)
        store = functools.partial(original.__set__, self, value)
        if (value is None or value is True) and has_begun(self):
            self._waiting.end(self, store, frame)
        else:
            store()

    return property(get, set_)


def _use_settings(connection: Any, kind: Kind, frame: Any) -> None:
    """The same of what a closed connection refuses."""
    _point_at_settings(connection, kind, frame)
    connection._waiting.look_whether_open(frame)


_ABOUT_SETTINGS = (
    *("setlimit", "getlimit", "setconfig", "getconfig", "enable_load_extension", "interrupt"),
    "__call__",
)
"""Methods of connections that set something, or go by it."""


def _about_settings(base: Any, name: str) -> Any:
    original = getattr(base, name)
    kind = SET if name in ("setlimit", "setconfig", "enable_load_extension") else INSPECT

    @functools.wraps(original)
    def use(self: Any, *args: Any) -> Any:
        _use_settings(self, kind, _getframe(1))
        return original(self, *args)

    return use


_NEEDING_NOTHING_ELSE = ("__enter__",)
"""Methods of connections that only a closed one refuses."""


def _needing_it_open(base: Any, name: str) -> Any:
    original = getattr(base, name)

    @functools.wraps(original)
    def use(self: Any, *args: Any) -> Any:
        self._waiting.look_whether_open(_getframe(1))
        return original(self, *args)

    return use


_USING_DATA = {"serialize": QUERY, "deserialize": STATEMENT, "blobopen": STATEMENT}
"""Methods of connections that read or change what is in a database, without a statement."""


def _using_data(base: Any, name: str) -> Any:
    original = getattr(base, name)

    @functools.wraps(original)
    def use(self: Any, *args: Any, **options: Any) -> Any:
        _point_at_settings(self, INSPECT, _getframe(1))
        call = functools.partial(original, self, *args, **options)
        result = self._waiting.use(self, _USING_DATA[name], call, _getframe(1))
        if name == "blobopen":
            self._waiting.opened(result)
        return result

    return use


_PLAIN = frozenset({int, float, str, bytes, bytearray, type(None)})
"""Types of values that no adapter is looked for."""


def _tell_bound(module: Any, connection: Any, args: tuple[Any, ...]) -> None:
    """Tell of the values that a statement is given, and of the functions that it calls."""
    name = "sqlite3.Cursor.execute"
    if len(args) > 1:
        tell_consumed(args[1], name)
        read_by(name, args[1])
        if type(args[1]) is not tuple or not _PLAIN.issuperset(map(type, args[1])):
            tell_used(name, getattr(module, _ADAPTERS), False)
    if connection._converts:
        tell_used(name, getattr(module, _CONVERTERS), False)


def _tell_many(module: Any) -> None:
    """The same of the rows that it is executed with."""
    tell_used("sqlite3.Cursor.executemany", getattr(module, _ADAPTERS), False)


_SHARED = "cursor of sqlite3 used by several tasks"


def _point_at_cursor(cursor: Any, frame: Any) -> None:
    """A task is about to use a cursor: an operation on it once several have used one."""
    execution = controlled()
    if execution is None or execution.current.inside or execution.is_alone():
        return
    user = execution.current.index
    if cursor._user not in (None, user):
        # From the next execution on.
        execution.namespaces.add(_SHARED)
    cursor._user = user
    if _SHARED in execution.namespaces:
        state = execution.resources.of(cursor, "Cursor")
        execution.perform(STATEMENT, state, place_of(frame))


def _go_on(cursor: Any, frame: Any) -> None:
    """The same of what needs an open connection."""
    _point_at_cursor(cursor, frame)
    cursor.connection._waiting.look_whether_open(frame)


def _watched(base: Any, name: str) -> property:
    """What a cursor says of its last statement, or goes by when it gives rows."""
    original: Any = getattr(base, name)

    def get(self: Any) -> Any:
        _point_at_cursor(self, _getframe(1))
        return original.__get__(self)

    def set_(self: Any, value: Any) -> None:
        _point_at_cursor(self, _getframe(1))
        original.__set__(self, instrumented_callable(value))

    return property(get, set_)


_ATTRIBUTES_OF_CURSORS = ("description", "lastrowid", "rowcount", "arraysize", "row_factory")


def _new_cursor(base: Any, module: Any) -> type:
    class Cursor(base):  # type: ignore[misc]
        _user: int | None = None
        description, lastrowid, rowcount, arraysize, row_factory = (
            _watched(base, name) for name in _ATTRIBUTES_OF_CURSORS
        )

        def execute(self, *args: Any) -> Any:
            return self._execute(super().execute, args, _getframe(1))

        def executemany(self, *args: Any) -> Any:
            _point_at_cursor(self, _getframe(1))
            connection = self.connection
            call = super().executemany
            _tell_many(module)
            return connection._waiting.execute_many(connection, call, args, _getframe(1))

        def executescript(self, *args: Any) -> Any:
            return self._execute(super().executescript, args, _getframe(1))

        def _execute(self, call: Callable[..., Any], args: tuple[Any, ...], frame: Any) -> Any:
            _point_at_cursor(self, frame)
            connection = self.connection
            _tell_bound(module, connection, args)
            return connection._waiting.execute(connection, call, args, frame)

        # Reading rows may end a statement, and with it its lock.

        def fetchone(self) -> Any:
            _go_on(self, _getframe(1))
            return self._note_use(super().fetchone())

        def fetchmany(self, *args: Any, **options: Any) -> Any:
            _go_on(self, _getframe(1))
            return self._note_use(super().fetchmany(*args, **options))

        def fetchall(self) -> Any:
            _go_on(self, _getframe(1))
            return self._note_use(super().fetchall())

        def __next__(self) -> Any:
            _go_on(self, _getframe(1))
            try:
                return super().__next__()
            finally:
                self._note_use(None)

        def close(self) -> None:
            _go_on(self, _getframe(1))
            self._note_use(super().close())

        def _note_use(self, result: Any) -> Any:
            self.connection._waiting.note_use()
            return result

    return Cursor


def _named_like(base: type, derived: type) -> type:
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(derived, name, getattr(base, name))
    return derived
