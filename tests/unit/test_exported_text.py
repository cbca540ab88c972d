"""The text of exported tests, and how what they print is judged."""

from __future__ import annotations

import ast
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bohrbug.export.confirming import (
    Confirmation,
    Expected,
    difference_from,
    expected_of,
    interpreter_at,
)
from bohrbug.export.order import ForcedOrder, Moment, Place, Turn
from bohrbug.export.refusals import CannotExport
from bohrbug.export.steps import ForcedSteps
from bohrbug.export.text import Story, name_of, text_of
from bohrbug.model.operation import ACQUIRE, Operation, Site
from bohrbug.model.outcome import BlockedTask, Frame, Outcome, OutcomeKind

SITE = Site("/src/shop.py", 12, "buy", 5)
PLACE = Place("shop.py", 12, 'self.log("sold \\"all\\"")', (4, 20), "CALL")
TURNS = ForcedOrder(
    (
        Turn("0", Moment.START),
        Turn("0.1", PLACE, 3, about_to='write dict["a"]', preempted=True),
        Turn("0.2", Moment.WOKEN, has_timeout=True),
    ),
    (("0", "test"), ("0.1", "buy")),
)
STORY = Story("shop:test", 'it """breaks"""\nin two lines')


def table_in(text: str, name: str) -> Any:
    """The value of a list that an exported test begins with."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"no {name}")


def function(path: Path) -> dict[str, Any]:
    return {"kind": "function", "name": "shop:test", "path": str(path)}


def test_the_table_says_where_each_turn_begins(tmp_path: Path) -> None:
    text = text_of(TURNS, function(tmp_path / "shop.py"), STORY, tmp_path / "test_it.py")

    assert table_in(text, "TURNS") == [
        ("0", "start"),
        ("0.1", ("shop.py", 12, PLACE.text, (4, 20), "CALL", 3)),
        ("0.2", "woken", "timeout"),
    ]
    assert "after a preemption" in text
    assert "#   0.1      buy" in text
    assert "bohrbug" not in text.lower()
    assert "type: ignore" not in text


def test_the_table_of_an_event_loop(tmp_path: Path) -> None:
    steps = ForcedSteps(("0.2", "0.2.1", "0.2") * 20, (("0.2", "main"),))

    text = text_of(steps, function(tmp_path / "shop.py"), STORY, tmp_path / "test_it.py")

    assert table_in(text, "STEPS") == list(steps.steps)
    assert "ForcedLoop(STEPS).run" in text
    late = text_of(
        steps, function(tmp_path / "shop.py"), replace(STORY, seconds=16.0), tmp_path / "t.py"
    )
    assert "ForcedLoop(STEPS, limit=26.0).run" in late


def test_a_program_is_found_from_where_the_test_is(tmp_path: Path) -> None:
    package = tmp_path / "source" / "pack"
    target = {"kind": "function", "name": "pack.shop:test", "path": str(package / "shop.py")}

    text = text_of(TURNS, target, STORY, tmp_path / "proofs" / "test_it.py")

    assert 'sys.path.insert(0, str(HERE / "../source"))' in text
    assert "import pack.shop as program" in text
    assert "    program.test()\n" in text


def test_a_coroutine_function_gets_a_loop(tmp_path: Path) -> None:
    story = Story("shop:test", "it fails", is_coroutine=True)

    text = text_of(ForcedSteps(("0.2",)), function(tmp_path / "shop.py"), story, tmp_path / "t.py")

    assert "asyncio.run(program.test())" in text


def test_a_deadlock_is_seen_sooner_and_the_gil_is_looked_for(tmp_path: Path) -> None:
    story = Story("shop:test", "it hangs", is_deadlock=True, needs_free_threading=True)
    target = function(tmp_path / "shop.py")

    text = text_of(TURNS, target, story, tmp_path / "test_it.py")
    plain = text_of(TURNS, target, STORY, tmp_path / "test_it.py")

    assert "patience=1.0" in text
    assert "_is_gil_enabled" in text
    assert "patience=1.0" not in plain
    assert "_is_gil_enabled" not in plain


def test_a_test_of_pytest_is_run_by_pytest_as_it_was(tmp_path: Path) -> None:
    target = {
        "kind": "pytest",
        "node": "tests/test_shop.py::test_one[a'b]",
        "root": str(tmp_path / "shop"),
        "file": "tests/test_shop.py",
        "directory": "tests",
        "configuration": "other.ini",
        "imports_from_directory": True,
    }
    (tmp_path / "shop").mkdir()

    text = text_of(TURNS, target, STORY, tmp_path / "test_it.py")

    ast.parse(text)
    assert """TEST = str(HERE / "shop/tests/test_shop.py") + "::test_one[a'b]\"""" in text
    assert 'ROOT = str(HERE / "shop")' in text
    assert 'contextlib.chdir(HERE / "shop/tests")' in text
    assert '"-c", str(HERE / "shop/other.ini")' in text
    assert 'sys.path.insert(0, str(HERE / "shop/tests"))' in text


def test_a_script_gets_its_arguments(tmp_path: Path) -> None:
    target = {"kind": "script", "path": str(tmp_path / "shop.py"), "arguments": ["a b", "'"]}

    text = text_of(TURNS, target, STORY, tmp_path / "test_it.py")

    ast.parse(text)
    assert """sys.argv[:] = [path, 'a b', "'"]""" in text
    assert 'path = str(HERE / "shop.py")' in text


@pytest.mark.parametrize(
    "target",
    [
        {"kind": "command", "command": ["./server"], "directory": "."},
        {"kind": "function", "name": "shop:test", "path": None},
    ],
)
def test_what_can_not_be_called_is_refused(tmp_path: Path, target: dict[str, Any]) -> None:
    with pytest.raises(CannotExport):
        text_of(TURNS, target, STORY, tmp_path / "test_it.py")


def test_pytest_collects_the_file() -> None:
    name = name_of("tests/test_shop.py::test_one[a-b]", "7532f9a6")

    assert name == "test_forced_tests_test_shop_py_test_one_a_b_7532f9a6.py"


PRINTED = """Traceback (most recent call last):
  File "/elsewhere/shop.py", line 12, in buy
    raise SoldOut
shop.SoldOut: nothing left
"""


@pytest.mark.parametrize(
    ("expected", "code", "printed", "difference"),
    [
        (Expected("SoldOut", (("shop.py", 12),)), 1, PRINTED, None),
        (Expected("SoldOut", (("shop.py", 13),)), 1, PRINTED, "SoldOut came, but not from shop.py"),
        (Expected("KeyError", (("shop.py", 12),)), 1, PRINTED, "it failed without KeyError"),
        (Expected("SoldOut", ()), 0, PRINTED, "it passed"),
        (Expected("SoldOut", ()), -1, "", "had not ended"),
        (
            Expected("SoldOut", ()),
            1,
            PRINTED + "NotForced: but thread 0.1 did not come",
            "but thread 0.1 did not come",
        ),
        (Expected("AssertionError", ()), 1, "AssertionError\n", None),
        (Expected("AssertionError", ()), 1, "E   AssertionError: assert 1 == 2\n", None),
        (Expected("AssertionError", ()), 1, "a word: AssertionError\n", "it failed without"),
    ],
)
def test_what_a_run_printed_is_compared(
    expected: Expected, code: int, printed: str, difference: str | None
) -> None:
    found = difference_from(expected, code, printed)

    assert (found is None) == (difference is None)
    assert found is None or difference is None or difference in found


def test_what_is_expected() -> None:
    frames = (Frame(Site("/src/main.py", 3, "main")), Frame(SITE))
    raised = Outcome(OutcomeKind.EXCEPTION, exception="shop.SoldOut", stack=frames)
    waiting = BlockedTask("0.1", Operation(ACQUIRE, "0:1", Site("/src/a.py", 4, "f")))
    stuck = Outcome(OutcomeKind.DEADLOCK, blocked=(waiting, BlockedTask("0.2", waiting.operation)))

    assert expected_of(raised) == Expected("SoldOut", (("shop.py", 12),))
    in_library = replace(raised, stack=(*frames, Frame(Site(threading.__file__, 5, "wait"))))
    assert expected_of(in_library) == expected_of(raised)
    assert expected_of(replace(raised, stack=in_library.stack[-1:])).places == (
        ("threading.py", 5),
    )
    assert expected_of(stuck) == Expected("Deadlock", (("a.py", 4), ("a.py", 4)))


def test_interpreters_are_asked_what_they_are() -> None:
    this = interpreter_at(sys.executable)

    assert this.version.split(".")[:2] == [str(number) for number in sys.version_info[:2]]
    assert this.has_pytest
    with pytest.raises(ValueError, match="is not a Python interpreter"):
        interpreter_at("/bin/false")


@pytest.mark.parametrize(("runs", "failed", "sure"), [(5, 5, True), (5, 4, False), (0, 0, False)])
def test_only_every_run_is_a_proof(runs: int, failed: int, sure: bool) -> None:
    assert Confirmation(interpreter_at(sys.executable), runs, failed).is_sure is sure
