"""Finding the places of a recorded execution again in a program that was edited."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bohrbug.exploration.program_text import (
    FileText,
    PointText,
    functions_by_line,
    recorded_text,
    show_as_recorded,
    text_from_json,
    text_to_json,
)
from bohrbug.exploration.realignment import (
    Alignment,
    FileAlignment,
    align,
    align_file,
    align_points,
    is_same_failure,
    marks_of,
)
from bohrbug.model.conditions import PlaceKey
from bohrbug.model.json_checks import FileFormatError
from bohrbug.model.operation import ACQUIRE, BEGIN, CHOOSE, READ, RELEASE, WRITE, Operation, Site
from bohrbug.model.outcome import Frame, Grouped, Outcome, OutcomeKind, TaskInfo
from bohrbug.model.plan import Mark
from bohrbug.model.trace import Trace
from bohrbug.report.sources import source_line

FILE = "/somewhere/counter.py"

COUNTER = """
class Counter:
    def __init__(self):
        self.value = 0

    def add(self):
        value = self.value
        self.value = value + 1


def test_add():
    counter = Counter()
    run(counter.add)
    assert counter.value == 2
"""


def text(source: str) -> FileText:
    lines = textwrap.dedent(source).strip("\n").split("\n")
    return FileText(dict(enumerate(lines, 1)))


def found(old: FileText, new: FileText, alignment: FileAlignment) -> dict[str, str]:
    """Each recorded line as it is now; ``""`` if it is gone."""
    return {
        line.strip(): new.lines[alignment.lines[number]].strip()
        if number in alignment.lines
        else ""
        for number, line in old.lines.items()
        if line.strip()
    }


def edited(old: str, new: str) -> str:
    assert old in COUNTER
    return COUNTER.replace(old, new)


# --------------------------------------------------------------------- lines


def test_a_line_belongs_to_the_innermost_function() -> None:
    owners = functions_by_line(
        textwrap.dedent("""\
        import threading
        @decorated
        class Shop:
            limit = 3
            @property
            def sold(self):
                def count():
                    return 1
                return count()
        async def later(): pass
        """)
    )
    assert 1 not in owners
    assert [owners[line] for line in range(2, 11)] == [
        "Shop",
        "Shop",
        "Shop",
        "Shop.sold",
        "Shop.sold",
        "Shop.sold.<locals>.count",
        "Shop.sold.<locals>.count",
        "Shop.sold",
        "later",
    ]


def test_an_unchanged_file_is_not_edited() -> None:
    alignment = align_file(text(COUNTER), text(COUNTER))
    assert not alignment.changed
    assert all(old == new for old, new in alignment.lines.items())


def test_other_comments_and_empty_lines_at_the_end_are_no_edit() -> None:
    new = text(COUNTER.rstrip() + "\n\n# nothing to see\n")
    assert not align_file(text(COUNTER), new).changed


@pytest.mark.parametrize(
    ("new", "differs"),
    [
        ("import os\n\n" + COUNTER, {}),
        (edited("        value = self.value\n", "        value = self.value\n        log()\n"), {}),
        (edited("        value = self.value\n", ""), {"value = self.value": ""}),
        (
            edited(
                "        value = self.value\n        self.value = value + 1\n",
                "        old = self.value\n        self.value = old + 1\n",
            ),
            {
                "value = self.value": "old = self.value",
                "self.value = value + 1": "self.value = old + 1",
            },
        ),
        (
            COUNTER.replace("    def add(self):", "    def increment(self):"),
            {"def add(self):": "def increment(self):"},
        ),
        (
            COUNTER.replace("Counter", "Tally"),
            {"class Counter:": "class Tally:", "counter = Counter()": "counter = Tally()"},
        ),
        (
            edited("        self.value = value + 1\n", "        self.put(value)\n")
            + "\n\n    def put(self, value):\n        self.value = value + 1\n",
            {},
        ),
    ],
    ids=[
        "above",
        "between",
        "removed",
        "renamed variable",
        "renamed method",
        "renamed class",
        "taken out into a function",
    ],
)
def test_lines_are_found_again(new: str, differs: dict[str, str]) -> None:
    before, after = text(COUNTER), text(new)
    alignment = align_file(before, after)
    assert alignment.changed
    lines = found(before, after, alignment)
    assert {old: now for old, now in lines.items() if old != now} == differs


def test_a_function_that_was_moved() -> None:
    head, middle, tail = COUNTER.partition("def test_add")
    before, after = text(COUNTER), text(middle + tail + "\n\n" + head)
    alignment = align_file(before, after)
    assert alignment.changed
    assert all(old == now for old, now in found(before, after, alignment).items())


def test_equal_lines_stay_in_their_functions() -> None:
    before = text(
        "def one():\n    with lock:\n        a()\n\ndef other():\n    with lock:\n        b()"
    )
    after = text(
        "def other():\n    with lock:\n        b()\n\ndef one():\n    with lock:\n        a()"
    )
    assert align_file(before, after).lines == {1: 5, 2: 6, 3: 7, 5: 1, 6: 2, 7: 3}


def test_a_line_put_in_at_the_end_of_the_file_is_an_edit() -> None:
    assert align_file(text(COUNTER), text(COUNTER.rstrip() + "\n    log()\n")).changed


def test_what_is_no_python_any_more_is_still_text() -> None:
    before = text("value = 1\nother = 2")
    assert align_file(before, text("(((\nvalue = 1\nother = 2")).lines == {1: 2, 2: 3}


def test_only_the_recorded_statements_count() -> None:
    part = FileText({number: line for number, line in text(COUNTER).lines.items() if number > 8})
    alignment = align_file(part, text(edited("self.value = 0", "self.value = 10")))
    assert not alignment.changed


def test_a_file_that_is_gone_and_one_that_was_not_recorded() -> None:
    alignment = align({FILE: text(COUNTER)}, lambda name: None)
    assert alignment.changed == (FILE,)
    assert alignment.site(Site(FILE, 3, "Counter.add")) is None
    elsewhere = Site("/lib/queue.py", 7, "Queue.put", 5)
    assert alignment.site(elsewhere) is elsewhere
    assert alignment.recorded_line(elsewhere) == 7


def test_functions_inside_a_renamed_one_are_renamed_with_it() -> None:
    source = "def work():\n    items = [1, 2]\n    return sorted(items, key=lambda n: -n)"
    alignment = align({FILE: text(source)}, lambda name: text(source.replace("work", "labour")))
    site = alignment.site(Site(FILE, 3, "work.<locals>.<lambda>", 9))
    assert site == Site(FILE, 3, "labour.<locals>.<lambda>", 0)


names = st.sampled_from(["a", "b", "c", "d"])
lines = st.lists(st.builds("{} = {}".format, names, names), max_size=12, unique=True)


@given(lines, st.data())
def test_lines_put_in_move_the_others_and_change_none(kept: list[str], data: st.DataObject) -> None:
    before = FileText(dict(enumerate(["def f():", *kept], 1)))
    after = list(before.lines.values())
    for number in range(data.draw(st.integers(0, 4))):
        after.insert(data.draw(st.integers(1, len(after))), f"new_{number} = 1")
    alignment = align_file(before, FileText(dict(enumerate(after, 1))))
    assert len(alignment.lines) == len(before.lines)
    assert list(alignment.lines.values()) == sorted(alignment.lines.values())
    for old, new in alignment.lines.items():
        assert before.lines[old] == after[new - 1]


# -------------------------------------------------------------------- points


def point(
    line: int, column: int, instruction: str, name: str, offset: int
) -> tuple[PlaceKey, PointText]:
    return (FILE, "Counter.add", 1, offset), PointText(line, column, instruction, name)


def test_accesses_are_found_by_line_instruction_and_name() -> None:
    old = text("def add(self):\n    self.a = self.a + self.b")
    new = text("def add(self):\n    with self.lock:\n        self.a = self.a + self.b")
    alignment = align({FILE: old}, lambda name: new)
    recorded = [point(2, 14, "LOAD_ATTR", "a", 4), point(2, 5, "STORE_ATTR", "a", 36)]
    candidates = dict(
        [
            point(2, 10, "LOAD_ATTR", "lock", 4),
            point(3, 18, "LOAD_ATTR", "a", 30),
            point(3, 27, "LOAD_ATTR", "b", 50),
            point(3, 9, "STORE_ATTR", "a", 62),
            # The same access, compiled a second time.
            point(3, 9, "STORE_ATTR", "a", 92),
        ]
    )
    points, gone = align_points(
        [key for key, _ in recorded], [each for _, each in recorded], candidates, alignment
    )
    assert [key[3] for key in points] == [30, 62, 92]
    assert not gone


def test_of_equal_accesses_the_nearest_counts_and_a_write_stays_a_write() -> None:
    old = text("def f():\n    x = s.a + s.a")
    new = text("def f():\n    if c: x = s.a + s.a")
    alignment = align({FILE: old}, lambda name: new)
    first, second = point(2, 9, "LOAD_ATTR", "a", 2), point(2, 15, "LOAD_ATTR", "a", 8)
    now = dict([point(2, 15, "LOAD_ATTR", "a", 12), point(2, 21, "LOAD_ATTR", "a", 18)])
    points, _ = align_points([second[0]], [second[1]], now, alignment)
    assert [key[3] for key in points] == [12], "its old column is taken by the first one now"
    write = point(2, 9, "STORE_ATTR", "a", 2)
    points, gone = align_points([write[0]], [write[1]], now, alignment)
    assert (points, gone) == ([], [write])
    points, _ = align_points([first[0]], [first[1]], now, alignment)
    assert [key[3] for key in points] == [12]


def test_an_access_outside_of_the_recorded_files_is_as_it_was() -> None:
    key = ("/lib/queue.py", "Queue.put", 1, 4)
    points, gone = align_points([key], [PointText(9, 1, "LOAD_ATTR", "x")], {}, Alignment())
    assert (points, gone) == ([key], [])


# ------------------------------------------------------------------ schedule


def test_marks_carry_the_places_of_today_and_leave_out_what_is_gone() -> None:
    old = text("def f():\n    a()\n    b()\n    c()")
    new = text("import os\ndef f():\n    a()\n    c()")
    alignment = align({FILE: old}, lambda name: new)

    def at(line: int) -> Site:
        return Site(FILE, line, "f", 5)

    trace = Trace(
        choices=["0", 2, "0.1", "0", "0"],
        tasks=["0", "0", "0.1", "0", "0"],
        operations=[
            Operation(ACQUIRE, "0:1", at(2)),
            Operation(CHOOSE, "0:choice", at(2)),
            Operation(BEGIN, "0.1", at(3)),
            Operation(RELEASE, "0:1", at(3)),
            Operation(WRITE, "0:2.x", at(4)),
        ],
        enabled=[("0",), ("0",), ("0", "0.1"), ("0",), ()],
        timed=[(), (), (), (), ("0",)],
        yielded=[False] * 5,
        arities={1: 3},
        task_infos={"0": TaskInfo("0"), "0.1": TaskInfo("0.1", spawned=at(3))},
    )
    marks = marks_of(trace, alignment)
    assert marks.policy.marks == (
        Mark("0", "acquire", Site(FILE, 3, "f")),
        Mark("0.1", "begin", None),
        Mark("0", "write", Site(FILE, 4, "f"), fired=True),
    )
    assert marks.policy.tasks == (("0.1", None),)
    assert marks.policy.values == (("0", (2,)),)
    assert (marks.steps, marks.lost) == ((0, 2, 4), (3,))


def test_the_same_failure_is_told_by_where_its_line_is_now() -> None:
    old = text("def f():\n    assert x\n    assert y")
    new = text("import os\ndef f():\n    assert x")
    alignment = align({FILE: old}, lambda name: new)

    def failed(line: int, exception: str = "AssertionError") -> Outcome:
        stack = (Frame(Site(FILE, line, "f")),)
        return Outcome(OutcomeKind.ASSERTION, exception=exception, stack=stack)

    assert is_same_failure(failed(2), failed(3), alignment)
    assert not is_same_failure(failed(2), failed(2), alignment)
    assert not is_same_failure(failed(2), failed(3, "Other"), alignment)
    assert not is_same_failure(failed(2), Outcome(OutcomeKind.PASSED), alignment)
    assert is_same_failure(failed(3), failed(3), alignment), "its line is gone, its function counts"
    livelock = Outcome(OutcomeKind.LIVELOCK)
    assert is_same_failure(livelock, livelock, alignment)


def test_of_groups_the_exceptions_in_them_are_told_by_where_their_lines_are_now() -> None:
    old = text("def f():\n    assert x\n    assert y")
    new = text("import os\ndef f():\n    assert x\n    assert y")
    alignment = align({FILE: old}, lambda name: new)

    def failed(*raised: tuple[str, int]) -> Outcome:
        grouped = tuple(
            Grouped(exception, (Frame(Site(FILE, line, "f")),)) for exception, line in raised
        )
        stack = (Frame(Site("taskgroups.py", 145, "__aexit__")),)
        kind = OutcomeKind.EXCEPTION
        return Outcome(kind, exception="ExceptionGroup", stack=stack, grouped=grouped)

    def is_same(recorded: Outcome, found: Outcome) -> bool:
        return is_same_failure(recorded, found, alignment)

    two = failed(("Error", 2), ("Error", 3))
    assert is_same(failed(("Error", 2)), failed(("Error", 3)))
    assert is_same(two, failed(("Error", 4), ("Error", 3)))
    assert not is_same(failed(("Error", 2)), failed(("Error", 4)))
    assert not is_same(failed(("Error", 2)), failed(("Other", 3)))
    assert not is_same(two, failed(("Error", 3)))
    assert not is_same(failed(("Error", 2)), failed(("Error", 3), ("Error", 4)))


# ---------------------------------------------------------------------- text


def test_the_statements_of_the_module_that_were_recorded_are_kept(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "shop.py"
    path.write_text("import os\n\n@decorated\ndef f():\n    a()\n    b()\n\ndef g():\n    c()\n")
    texts = recorded_text(
        [Site(str(path), 5, "f"), Site("<string>", 1, "f"), Site("/none.py", 1, "f")]
    )
    assert list(texts) == [str(path)]
    assert texts[str(path)].lines == {3: "@decorated", 4: "def f():", 5: "    a()", 6: "    b()"}
    assert recorded_text([Site(textwrap.__file__, 5, "dedent")]) == {}, "a library"

    path.write_text("import os\n")
    assert show_as_recorded(texts) == (str(path),)
    assert source_line(Site(str(path), 5, "f")) == "a()"


def test_text_survives_json() -> None:
    kept = FileText({2: "a", 3: "b", 9: "", 10: "c"})
    assert text_to_json(kept) == [[2, ["a", "b"]], [9, ["", "c"]]]
    assert text_from_json(text_to_json(kept)) == kept


@pytest.mark.parametrize("data", [[], [[0, ["a"]]], [["1", ["a"]]], [[1, "a"]], {}])
def test_damaged_text(data: object) -> None:
    with pytest.raises(FileFormatError):
        text_from_json(data)


def test_what_an_access_looks_like() -> None:
    def add(self: object) -> None:
        self.value = 1  # type: ignore[attr-defined]

    code = add.__code__
    texts = [PointText.of((code, offset)) for offset in range(0, len(code.co_code), 2)]
    (store,) = [each for each in texts if each.instruction == "STORE_ATTR"]
    assert store.name == "value"
    assert store.is_write
    assert store.line == code.co_firstlineno + 1
    assert not PointText(1, 1, READ.name, "").is_write
