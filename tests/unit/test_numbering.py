"""Numbers for what tasks do: alike in C and in Python, and nothing depends on their values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bohrbug.model import numbering
from bohrbug.model.operation import READ, WRITE, Operation
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.search.novelty import Novelty
from bohrbug.search.registry import Options, strategy_named
from tests.simulated import Instruction, Program, execute

PROGRAM = Program(
    tuple(
        (task, tuple(Instruction("write", name) for name in "xyx"))
        for task in ("0", "0.1", "0.2", "0.3")
    )
)


def a_trace(*steps: tuple[str, Operation]) -> Trace:
    return Trace(tasks=[task for task, _ in steps], operations=[each for _, each in steps])


CODE = (lambda: None).__code__
# Equal, and not the same object.
TWIN = CODE.replace()
STEPS = a_trace(
    ("0", Operation(WRITE, "x", (CODE, 0))),
    ("0", Operation(WRITE, "x", (TWIN, 0))),
    ("0", Operation(READ, "x", (CODE, 0))),
    ("0", Operation(WRITE, "y", (CODE, 0))),
    ("0.1", Operation(WRITE, "x", (CODE, 0))),
    ("0.1", Operation(WRITE, "x", None)),
    ("0", Operation(WRITE, "x", (CODE, 0))),
)


@pytest.fixture
def few_numbers() -> Iterator[None]:
    """All numbers are given anew for every trace."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "MOST_NUMBERS", 0)
        yield


def test_steps_have_the_same_number_if_they_are_alike() -> None:
    first, *others = numbering.numbers_of(STEPS)
    assert others[0] == others[5] == first
    assert len({first, *others}) == 5
    for number, task, operation in zip(
        [first, *others], STEPS.tasks, STEPS.operations, strict=True
    ):
        doing = numbering.doing(number)
        assert (doing.task, doing.operation[:2]) == (task, operation[:2])
        assert doing.event(2).occurrence == 2


def test_what_is_known_is_not_named_again() -> None:
    known: set[tuple[int, int]] = set()
    found = numbering.new_neighbours(STEPS, 100, known)
    assert [(before.task, after.task) for before, after in found] == [
        ("0", "0"),
        ("0", "0.1"),
        ("0.1", "0.1"),
        ("0.1", "0"),
    ]
    assert numbering.new_neighbours(STEPS, 100, known) == []
    assert len(numbering.new_neighbours(STEPS, 5, set())) == 2


def test_the_loops_in_c_do_what_those_in_python_do() -> None:
    def number(task: str, operation: Operation) -> int:
        return len(task) + len(operation.resource)

    numbers = numbering.numbers_of(STEPS)
    doings = {each: numbering.doing(each) for each in numbers}
    steps = (STEPS.tasks, STEPS.operations, {}, number)
    in_c, in_python = [], []
    for found, numbered, neighbours in (
        (in_c, numbering.numbered, numbering.neighbours),
        (in_python, *_in_python()),
    ):
        known: set[tuple[int, int]] = set()
        found += [numbered(*steps), neighbours(numbers, doings, known), known]
    assert in_c == in_python


def _in_python() -> tuple[object, object]:
    from tests.property.test_reduction_in_c import in_python

    pure = in_python(numbering)
    return pure.numbered, pure.neighbours


@pytest.mark.parametrize("name", ["auto", "rff", "surw"])
def test_plans_do_not_depend_on_numbers(name: str, few_numbers: None) -> None:
    def plans() -> list[Plan]:
        strategy = strategy_named(name, Options(60))
        made: list[Plan] = []
        while len(made) < 60 and (plan := strategy.next_plan()) is not None:
            made.append(plan)
            strategy.observe(execute(PROGRAM, plan)[0])
        return made

    anew = plans()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "MOST_NUMBERS", 1 << 17)
        assert plans() == anew


def test_new_numbers_make_no_pair_new(few_numbers: None) -> None:
    novelty = Novelty()
    plans = [Plan(), Plan()]
    found = [len(novelty.new_pairs(execute(PROGRAM, plan)[0])) for plan in plans]
    assert found[0] > found[1] == 0
