"""The pure detector of races over an await, on traces that are made here."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from bohrbug.model.outcome import RacePattern
from bohrbug.monitors.await_races import StaleWrite, stale_writes
from bohrbug.monitors.await_source import rests_on
from bohrbug.runtime.threads.loops.access_log import LoopStep, Touch

LOST, ACTS = RacePattern.LOST_UPDATE, RacePattern.CHECK_THEN_ACT

OWNER = SimpleNamespace()
X = SimpleNamespace(owner=OWNER, key="x", is_item=False)
Y = SimpleNamespace(owner=OWNER, key="y", is_item=False)
WHOLE = SimpleNamespace(owner=OWNER, key=None, is_item=False)
ITEM = SimpleNamespace(owner=OWNER, key=1, is_item=True)
OTHER_ITEM = SimpleNamespace(owner=OWNER, key=2, is_item=True)

Line = tuple[Any, ...]


class Told:
    """A trace of accesses: ``step("a")`` begins a step of a task, after those that it follows."""

    def __init__(self) -> None:
        self.touches: list[Touch] = []
        self.steps: list[LoopStep] = []
        self._last: dict[str, LoopStep] = {}

    def step(self, task: str, *after: LoopStep, host: int = 0, floor: int = 0) -> LoopStep:
        clock: dict[str, int] = {}
        last = self._last.get(task)
        for each in (*((last,) if last else ()), *after):
            for other, number in (*each.clock.items(), (each.task, each.number)):
                clock[other] = max(clock.get(other, -1), number)
        number = len(self.steps)
        step = LoopStep(number, task, task, host, number + 1, None, None, clock, floor)
        self.steps.append(step)
        self._last[task] = step
        return step

    def touch(self, is_write: bool, variable: Any, line: str = "") -> Touch:
        place: Any = (object(), line)
        touch = Touch(self.steps[-1], variable, is_write, place, (), 0)
        self.touches.append(touch)
        return touch

    def read(self, variable: Any = X, line: str = "") -> Touch:
        return self.touch(False, variable, line)

    def write(self, variable: Any = X, line: str = "") -> Touch:
        return self.touch(True, variable, line)

    def races(self, rests: Callable[[Touch, Touch], RacePattern | None] | None = None) -> Any:
        return stale_writes(self.touches, rests or (lambda write, read: LOST), lambda *_: False)


def only(races: list[StaleWrite]) -> StaleWrite:
    (race,) = races
    return race


def test_a_write_in_between_is_a_race() -> None:
    told = Told()
    told.step("a")
    read = told.read()
    told.step("b")
    between = told.write()
    told.step("a")
    write = told.write()
    race = only(told.races())
    assert (race.read, race.between, race.write) == (read, between, write)
    assert race.pattern is LOST
    assert race.awaited is write.step


def test_the_latest_write_in_between_is_told() -> None:
    told = Told()
    told.step("a")
    told.read()
    told.step("b")
    told.write()
    told.step("c")
    latest = told.write()
    told.step("a")
    told.write()
    assert only(told.races()).between is latest


@pytest.mark.parametrize("order", ["before the read", "after the write", "in the step of the read"])
def test_a_write_elsewhere_is_none(order: str) -> None:
    told = Told()
    if order == "before the read":
        told.step("b")
        told.write()
    told.step("a")
    told.read()
    if order == "in the step of the read":
        told.write()
    told.step("c")
    told.step("a")
    told.write()
    if order == "after the write":
        told.step("b")
        told.write()
    assert not told.races()


def test_what_is_written_in_the_step_of_the_read_is_none() -> None:
    told = Told()
    told.step("b")
    told.write()
    told.step("a")
    told.read()
    told.write()
    assert not told.races()


def test_a_later_read_takes_the_place_of_an_earlier_one() -> None:
    told = Told()
    told.step("a")
    told.read()
    told.step("b")
    told.write()
    told.step("a")
    told.read()
    told.write()
    assert not told.races()


def test_a_later_read_on_which_nothing_rests_does_not() -> None:
    told = Told()
    told.step("a")
    told.read(line="rests")
    told.step("b")
    told.write()
    told.step("a")
    told.read(line="only shown")
    told.write()

    def rests(write: Touch, read: Touch) -> RacePattern | None:
        place: Any = read.place
        return LOST if place[1] == "rests" else None

    assert only(told.races(rests)).read.place[1] == "rests"  # type: ignore[comparison-overlap]


def test_a_test_counts_though_the_value_is_read_again() -> None:
    told = Told()
    told.step("a")
    test = told.read(line="if")
    told.step("b")
    told.write()
    told.step("a")
    told.read(line="+=")
    told.write()

    def rests(write: Touch, read: Touch) -> RacePattern | None:
        place: Any = read.place
        return ACTS if place[1] == "if" else LOST

    race = only(told.races(rests))
    assert (race.read, race.pattern) == (test, ACTS)


def test_a_test_that_is_made_again_counts_alone() -> None:
    told = Told()
    told.step("a")
    told.read()
    told.step("b")
    told.write()
    told.step("a")
    told.read()
    told.write()
    assert not told.races(lambda write, read: ACTS)


def test_who_has_acted_upon_a_test_owns_what_follows() -> None:
    told = Told()
    told.step("a")
    told.read()
    told.write()
    told.step("b")
    told.write()
    told.step("a")
    told.write()
    assert not told.races(lambda write, read: ACTS)
    # What was put aside is put back over what the other has written.
    assert told.races(lambda write, read: LOST)


def test_one_writer_has_no_race() -> None:
    told = Told()
    for task in "abab":
        told.step(task)
        told.read()
        if task == "a":
            told.write()
    assert not told.races()


def test_other_variables_of_an_object_do_not_matter() -> None:
    told = Told()
    told.step("a")
    told.read()
    told.step("b")
    told.write(Y)
    told.step("a")
    told.write()
    assert not told.races()


@pytest.mark.parametrize(
    ("read", "between", "write", "is_race"),
    [
        (WHOLE, ITEM, ITEM, True),
        (WHOLE, WHOLE, ITEM, True),
        (ITEM, WHOLE, ITEM, True),
        (ITEM, OTHER_ITEM, ITEM, False),
        (ITEM, OTHER_ITEM, WHOLE, False),
        (OTHER_ITEM, ITEM, ITEM, False),
        (WHOLE, OTHER_ITEM, ITEM, False),
    ],
)
def test_items_and_their_container(read: Any, between: Any, write: Any, is_race: bool) -> None:
    told = Told()
    told.step("a")
    told.read(read)
    told.step("b")
    told.write(between)
    told.step("a")
    told.write(write)
    assert bool(told.races()) is is_race


def test_what_was_asked_for_and_waited_for_is_part_of_the_task() -> None:
    told = Told()
    asks = told.step("a")
    told.read()
    answers = told.step("b", asks)
    told.write()
    told.step("b")
    told.step("a", answers)
    told.write()
    assert not told.races()


@pytest.mark.parametrize("known", ["asked for", "waited for"])
def test_one_of_the_two_is_not_enough(known: str) -> None:
    told = Told()
    asks = told.step("a")
    told.read()
    answers = told.step("b", *((asks,) if known == "asked for" else ()))
    told.write()
    told.step("a", *((answers,) if known == "waited for" else ()))
    told.write()
    told.step("b")
    told.touches.append(Touch(told.steps[-1], X, False, (object(), ""), (), 0))  # type: ignore[arg-type]
    assert told.races()


def test_who_was_woken_up_by_the_write_knows_that_the_test_is_old() -> None:
    told = Told()
    told.step("a")
    told.read()
    wakes = told.step("b")
    told.write()
    told.step("a", wakes)
    told.write()
    assert not told.races(lambda write, read: ACTS)
    assert told.races(lambda write, read: LOST)


def test_a_child_that_has_ended_was_waited_for() -> None:
    told = Told()
    asks = told.step("a")
    told.read()
    told.step("child", asks)
    told.write()
    told.step("a")
    told.write()
    assert not told.races()


def test_loops_of_other_threads_are_left_to_the_detector_of_data_races() -> None:
    told = Told()
    told.step("a")
    told.read()
    told.step("b", host=1)
    told.write()
    told.step("a")
    told.write()
    assert not told.races()


def test_what_a_thread_knew_that_asked_for_a_step_comes_before_it() -> None:
    told = Told()
    told.step("a")
    told.read()
    # The thread knew of all steps of the loop so far.
    told.step("b", floor=1)
    told.write()
    told.step("a", floor=2)
    told.write()
    assert not told.races()


def test_three_places_are_told_once() -> None:
    told = Told()
    places: Any = [(object(), name) for name in ("read", "between", "write")]
    for _ in range(3):
        for task, is_write, place in zip("aba", (False, True, True), places, strict=True):
            told.step(task)
            told.touches.append(Touch(told.steps[-1], X, is_write, place, (), 0))  # type: ignore[arg-type]
    assert len(told.races()) == 1


# -- what the source says ------------------------------------------------------------------


def _code(text: str, tmp_path: Any) -> Any:
    """The code of the first function of a file."""
    path = tmp_path / "program.py"
    path.write_text(text)
    compiled = compile(text, str(path), "exec")
    return next(each for each in compiled.co_consts if hasattr(each, "co_code"))


def _offset_at(code: Any, text: str, part: str, last: bool = False) -> int:
    """The offset of the last instruction of a stretch of source text."""
    start = text.rindex(part) if last else text.index(part)
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1)
    wanted = (line, line, column, column + len(part))
    found = [2 * index for index, span in enumerate(code.co_positions()) if span == wanted]
    assert found, part
    return found[-1]


DEPENDENCES = {
    "copy": ("n = o.x\n    await f()\n    o.x = n + 1", LOST),
    "copy of a copy": ("n = o.x\n    m = n + 1\n    await f()\n    o.x = m", LOST),
    "not the value": ("n = o.x\n    await f()\n    o.x = 1\n    g(n)", None),
    "shown": ("g(o.x)\n    await f()\n    o.x = 1", None),
    "in the statement": ("o.x = o.x + await f()", LOST),
    "walrus": ("if (n := o.x) > 1: await f()\n    o.x = n", LOST),
    "tuple": ("n, m = o.x\n    await f()\n    o.x = m", LOST),
    "if": ("if o.x:\n        await f()\n        o.x = 1", ACTS),
    "else": ("if o.x:\n        pass\n    else:\n        o.x = await f()", ACTS),
    "copy in if": ("n = o.x\n    if n:\n        await f()\n        o.x = 1", ACTS),
    "early return": ("if o.x:\n        return\n    await f()\n    o.x = 1", ACTS),
    "else that returns": (
        "if o.x:\n        pass\n    else:\n        return\n    await f()\n    o.x = 1",
        ACTS,
    ),
    "if before": ("if o.x:\n        g()\n    await f()\n    o.x = 1", None),
    "while": ("while o.x:\n        await f()\n        o.x = 1", ACTS),
    "assert": ("assert o.x\n    await f()\n    o.x = 1", None),
    "match": ("match o.x:\n        case 1:\n            await f()\n            o.x = 1", ACTS),
    "conditional expression": ("o.x = await f() if o.x else 1", LOST),
    "except": (
        "try:\n        g(o.x)\n    except KeyError:\n        await f()\n        o.x = 1",
        ACTS,
    ),
    "try that returns": (
        "try:\n        return o.x\n    except KeyError:\n        pass\n    await f()\n    o.x = 1",
        ACTS,
    ),
    "finally": ("n = o.x\n    try:\n        await f()\n    finally:\n        o.x = n", LOST),
}


@pytest.mark.parametrize("name", DEPENDENCES)
def test_what_rests_on_what(name: str, tmp_path: Any) -> None:
    body, expected = DEPENDENCES[name]
    text = f"async def program(o, f, g):\n    {body}\n"
    code = _code(text, tmp_path)
    reads = [index for index in range(len(text)) if text.startswith("o.x", index)]
    read_offset, write_offset = _first_load(code), _last_store(code)
    assert len(reads) >= 2
    step = Told().step("a")
    variable: Any = X
    read = Touch(step, variable, False, (code, read_offset), ((1, code, read_offset),), 0)
    write = Touch(step, variable, True, (code, write_offset), ((1, code, write_offset),), 0)
    assert rests_on(write, read) is expected
    other = Touch(step, variable, False, (code, read_offset), ((2, code, read_offset),), 0)
    assert rests_on(write, other) is None, "of another call of the function"


def _first_load(code: Any) -> int:
    import dis

    return next(i.offset for i in dis.get_instructions(code) if i.opname == "LOAD_ATTR")


def _last_store(code: Any) -> int:
    import dis

    return [i.offset for i in dis.get_instructions(code) if i.opname == "STORE_ATTR"][-1]


ACCESSORS = {
    "given": ("return o.x", "o.x = v", LOST),
    "returns a copy": ("n = o.x\n    return n + 1", "o.x = v", LOST),
    "returns something else": ("g(o.x)\n    return 1", "o.x = v", None),
    "writes something else": ("return o.x", "o.x = 1\n    g(v)", None),
}


@pytest.mark.parametrize("name", ACCESSORS)
def test_functions_in_between(name: str, tmp_path: Any) -> None:
    get, put, expected = ACCESSORS[name]
    text = (
        f"async def get(o, g):\n    {get}\n"
        f"async def put(o, v, g):\n    {put}\n"
        "async def main(o, get, put, g):\n    n = await get(o, g)\n    await put(o, n, g)\n"
    )
    path = tmp_path / "program.py"
    path.write_text(text)
    compiled = compile(text, str(path), "exec")
    get_code, put_code, main = (c for c in compiled.co_consts if hasattr(c, "co_code"))
    step = Told().step("a")
    variable: Any = X
    first = _offset_at(main, text, "await get(o, g)")
    second = _offset_at(main, text, "await put(o, n, g)")
    read_at, write_at = _first_load(get_code), _last_store(put_code)
    read = Touch(
        step,
        variable,
        False,
        (get_code, read_at),
        ((1, main, first), (2, get_code, read_at)),
        0,
    )
    write = Touch(
        step,
        variable,
        True,
        (put_code, write_at),
        ((1, main, second), (3, put_code, write_at)),
        0,
    )
    assert rests_on(write, read) is expected


def test_without_a_source_nothing_is_told() -> None:
    code = compile("async def f(o):\n n = o.x\n o.x = n", "<nowhere>", "exec").co_consts[0]
    step = Told().step("a")
    variable: Any = X
    read = Touch(step, variable, False, (code, 4), ((1, code, 4),), 0)
    write = Touch(step, variable, True, (code, 8), ((1, code, 8),), 0)
    assert rests_on(write, read) is None
