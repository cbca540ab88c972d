"""Broken programs: globals, cells, and statements of all sorts."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import types
from collections.abc import Callable, Iterator

from tests.programs.together import together

_total = 0
_cache: dict[str, object] = {}
_names: list[str] = []


def _add_to_total() -> None:
    global _total
    _total += 1


def global_variable() -> None:
    """``global total; total += 1``: one update is lost."""
    global _total
    _total = 0
    together(_add_to_total, _add_to_total)
    assert _total == 2


def global_through_globals() -> None:
    """``globals()['_total'] += 1`` against ``global``: one update is lost."""
    global _total
    _total = 0

    def with_globals() -> None:
        globals()["_total"] += 1

    together(_add_to_total, with_globals)
    assert _total == 2


def global_cache() -> None:
    """A cache in a global dict: two objects for one key."""
    _cache.clear()
    seen: list[object] = []

    def get() -> None:
        if "x" not in _cache:
            _cache["x"] = object()
        seen.append(_cache["x"])

    together(get, get)
    assert seen[0] is seen[1]


def module_attribute() -> None:
    """An attribute of a module object: one update is lost."""
    module = types.ModuleType("settings")
    module.level = 0  # type: ignore[attr-defined]

    def count() -> None:
        module.level += 1  # type: ignore[attr-defined]

    together(count, count)
    assert module.level == 2  # type: ignore[attr-defined]


def closure_cell() -> None:
    """``nonlocal count; count += 1``: one update is lost."""
    count = 0

    def add() -> None:
        nonlocal count
        count += 1

    together(add, add)
    assert count == 2


def closure_cell_rebound() -> None:
    """A closure cell is read twice, and bound to None in between: AttributeError."""
    text: str | None = "x"

    def use() -> None:
        if text is not None:
            text.upper()

    def drop() -> None:
        nonlocal text
        text = None

    together(use, drop)


def default_argument() -> None:
    """A mutable default argument: two threads share it."""

    def add(number: int, numbers: list[int] = []) -> list[int]:
        numbers.append(number)
        return numbers

    results: list[list[int]] = []
    together(lambda: results.append(list(add(1))), lambda: results.append(list(add(2))))
    assert sorted(results) == [[1], [1, 2]] or sorted(results) == [[1, 2], [2]]


def function_attribute() -> None:
    """A counter in an attribute of a function: one call is not counted."""

    def work() -> None:
        work.calls += 1  # type: ignore[attr-defined]

    work.calls = 0  # type: ignore[attr-defined]
    together(work, work)
    assert work.calls == 2  # type: ignore[attr-defined]


@dataclasses.dataclass
class _Account:
    balance: int = 0
    history: list[int] = dataclasses.field(default_factory=list)

    def deposit(self, amount: int) -> None:
        self.balance += amount
        self.history.append(self.balance)


def dataclass_field() -> None:
    """A field of a dataclass: one deposit is lost."""
    account = _Account()
    together(lambda: account.deposit(1), lambda: account.deposit(1))
    assert account.balance == 2


@dataclasses.dataclass(slots=True)
class _Point:
    x: int = 0
    y: int = 0


def dataclass_with_slots_torn() -> None:
    """Two fields of a dataclass with slots are compared while they change."""
    point, target = _Point(), _Point(1, 1)
    seen: list[bool] = []

    def move() -> None:
        point.x = 1
        point.y = 1

    together(move, lambda: seen.append(point in (_Point(), target)))
    assert seen == [True]


def class_body() -> None:
    """A class body that two threads execute draws a number: both draw the same."""
    state = types.SimpleNamespace(serial=0)

    def define() -> type:
        class Numbered:
            state.serial += 1
            number = state.serial

        return Numbered

    numbers: list[int] = []
    together(*[lambda: numbers.append(define().number)] * 2)  # type: ignore[attr-defined]
    assert sorted(numbers) == [1, 2]


def lambda_and_conditional() -> None:
    """A lambda with a conditional expression: IndexError."""
    items = [1]
    take = lambda: items.pop() if items else None  # noqa: E731
    together(take, take)


def exception_handler() -> None:
    """``except KeyError`` then a store: stored twice."""
    table: dict[str, object] = {}
    stored: list[int] = []

    def get() -> object:
        try:
            return table["x"]
        except KeyError:
            stored.append(1)
            table["x"] = object()
            return table["x"]

    together(get, get)
    assert len(stored) == 1


def with_statement_of_python() -> None:
    """A context manager written as a generator restores an old value: changes are lost."""
    state = types.SimpleNamespace(level=0)

    @contextlib.contextmanager
    def raised() -> Iterator[None]:
        old = state.level
        state.level = old + 1
        yield
        state.level = old

    def work() -> None:
        with raised():
            pass

    together(work, work)
    assert state.level == 0


def star_arguments() -> None:
    """``f(*items)`` with a list that shrinks: too few arguments."""
    items = [1, 2]

    def pair(first: int, second: int) -> None:
        pass

    together(lambda: pair(*items), items.pop)


def unpacking() -> None:
    """``first, second = items`` with a list that grows: ValueError."""
    items = [1, 2]

    def read() -> None:
        _first, _second = items

    together(read, lambda: items.append(3))


def match_statement() -> None:
    """A match statement on a list that shrinks in between."""
    items = [1]

    def read() -> None:
        match items:
            case [_]:
                items[0]

    together(read, items.clear)


def walrus() -> None:
    """An assignment expression remembers a count that is old when it is stored."""
    state = types.SimpleNamespace(count=0)

    def add() -> None:
        if (count := state.count) < 5:
            state.count = count + 1

    together(add, add)
    assert state.count == 2


def string_io() -> None:
    """Two writes to one StringIO are taken to stay together."""
    stream = io.StringIO()

    def write(word: str) -> None:
        stream.write(word)
        stream.write(word)

    together(lambda: write("a"), lambda: write("b"))
    assert stream.getvalue() in ("aabb", "bbaa")


def object_in_two_containers() -> None:
    """An item is moved between containers in two steps: nobody has it for a moment."""
    waiting, running = {"job"}, set()
    lost: list[bool] = []

    def move() -> None:
        waiting.discard("job")
        running.add("job")

    together(move, lambda: lost.append("job" not in waiting and "job" not in running))
    assert lost == [False]


def observer_added_while_notifying() -> None:
    """Listeners are called from a list that changes: one is passed over."""
    called: list[str] = []
    listeners: list[Callable[[], object]] = []
    first, second = (lambda: called.append("first")), (lambda: called.append("second"))
    listeners += [first, second]

    def notify() -> None:
        for listener in listeners:
            listener()

    together(notify, lambda: listeners.remove(first))
    assert "second" in called


def subclass_of_dict() -> None:
    """A subclass of dict with a counter in ``__setitem__``: one store is not counted."""

    class Counting(dict[str, int]):
        stores = 0

        def __setitem__(self, key: str, value: int) -> None:
            self.stores += 1
            super().__setitem__(key, value)

    table = Counting()

    def store(key: str) -> None:
        table[key] = 1

    together(lambda: store("a"), lambda: store("b"))
    assert table.stores == 2


def nested_containers() -> None:
    """A list in a dict in an attribute: one update is lost."""
    state = types.SimpleNamespace(table={"x": [0]})

    def count() -> None:
        state.table["x"][0] += 1

    together(count, count)
    assert state.table["x"][0] == 2


def simulated_compare_and_swap() -> None:
    """A compare-and-swap in Python is no compare-and-swap: two win."""
    state = types.SimpleNamespace(owner=None)
    winners: list[str] = []

    def claim(name: str) -> None:
        if state.owner is None:
            state.owner = name
            winners.append(name)

    together(lambda: claim("ada"), lambda: claim("bob"))
    assert len(winners) == 1


def copy_on_write_list() -> None:
    """``self.items = self.items + [x]``: one item is lost."""
    state = types.SimpleNamespace(items=[])

    def add(number: int) -> None:
        state.items = [*state.items, number]

    together(lambda: add(1), lambda: add(2))
    assert sorted(state.items) == [1, 2]


def stop_flag_read_too_late() -> None:
    """A worker looks at the stop flag, then works after ``stop`` has returned."""
    state = types.SimpleNamespace(stopped=False, closed=False)
    late: list[bool] = []

    def work() -> None:
        if not state.stopped:
            late.append(state.closed)

    def stop() -> None:
        state.stopped = True
        state.closed = True

    together(work, stop)
    assert True not in late
