"""No instruction of any supported Python is passed over in silence."""

from __future__ import annotations

import dis
import opcode
import sys
from types import CodeType
from typing import Any

import pytest

from bohrbug.runtime.threads.rewrite import instruction_table, opcodes, told_instructions
from bohrbug.runtime.threads.rewrite.codec import decode
from bohrbug.runtime.threads.rewrite.functions import Rewriter
from bohrbug.runtime.threads.rewrite.instruction_sets import INSTRUCTION_SETS
from bohrbug.runtime.threads.rewrite.instruction_table import (
    ARGUMENTS,
    TOLD,
    is_told,
    unknown_reason,
)

HERE = INSTRUCTION_SETS[sys.version_info[:2]]
COMPILED = 256


def specialised() -> set[str]:
    families: Any = getattr(dis, "_specializations", None) or getattr(
        opcode, "_specializations", {}
    )
    return {name for forms in families.values() for name in forms}


def test_the_sets_are_those_of_the_running_interpreter() -> None:
    forms = specialised()
    instrumented = {name for name in dis.opmap if name.startswith("INSTRUMENTED_")}
    others = set(dis.opmap) - forms - instrumented
    assert HERE.plain == {name for name in others if dis.opmap[name] < COMPILED}
    assert HERE.pseudo == {name for name in others if dis.opmap[name] >= COMPILED}
    assert HERE.specialised == forms
    assert HERE.instrumented == instrumented


@pytest.mark.parametrize("version", INSTRUCTION_SETS)
def test_the_table_has_a_word_on_every_instruction(version: tuple[int, int]) -> None:
    table = instruction_table.instruction_table(version)
    instructions = INSTRUCTION_SETS[version]
    assert set(table) == frozenset().union(*instructions)
    told = {name for name, meaning in table.items() if meaning == TOLD}
    assert told <= instructions.plain
    assert told <= set(told_instructions.BY_NAME), "told of, but nobody handles it"


def test_every_handler_is_of_some_version() -> None:
    tables = map(instruction_table.instruction_table, INSTRUCTION_SETS)
    told = {name for table in tables for name, meaning in table.items() if meaning == TOLD}
    assert set(told_instructions.BY_NAME) == told


def test_the_table_has_no_instruction_of_no_version() -> None:
    names = {name for text in instruction_table._REASONS.values() for name in text.split()}
    assert names == frozenset().union(*(each.plain for each in INSTRUCTION_SETS.values()))


def test_the_handlers_are_those_of_the_running_version() -> None:
    handled = {dis.opname[number] for number in told_instructions.HANDLERS}
    assert handled == {name for name in HERE.plain if is_told(name)}


def of_the_interpreter(name: str) -> list[str]:
    """The arguments that an instruction has here; none if it has no table or is not there."""
    where = {
        "BINARY_OP": "_nb_ops",
        "LOAD_COMMON_CONSTANT": "_common_constants",
        "LOAD_SPECIAL": "_special_method_names",
        "CALL_INTRINSIC_1": "_intrinsic_1_descs",
        "CALL_INTRINSIC_2": "_intrinsic_2_descs",
    }
    found: Any = getattr(opcode, where[name], None) or getattr(dis, where[name], [])
    if name == "BINARY_OP":
        return [kind for kind, _ in found]
    if name == "LOAD_COMMON_CONSTANT":
        return [getattr(value, "__name__", None) or repr(value) for value in found]
    return list(found)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_are_those_of_the_running_interpreter(name: str) -> None:
    actual = of_the_interpreter(name)
    assert bool(actual) == (name in HERE.plain)
    assert list(ARGUMENTS[name][: len(actual)]) == actual


def test_unknown_instructions_and_arguments_have_a_reason() -> None:
    assert unknown_reason("LOAD_FAST", 3) == ""
    assert unknown_reason("BINARY_OP", 0) == ""
    assert "LOAD_NEWS" in unknown_reason("LOAD_NEWS", 0)
    assert "BINARY_OP 99" in unknown_reason("BINARY_OP", 99)


def test_code_with_an_unknown_instruction_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reads(owner: Any) -> Any:
        return owner.value

    monkeypatch.delitem(instruction_table._HERE, "LOAD_ATTR")
    original = reads.__code__
    codes = Rewriter()
    assert not codes.install_function(reads)
    assert reads.__code__ is original
    assert list(codes.skipped) == [original]
    assert "LOAD_ATTR" in codes.skipped[original]


def instructions_of(code: CodeType) -> set[str]:
    return {opcodes.NAMES[each.opcode] for each in decode(code)}


def test_code_that_runs_often_shows_its_plain_instructions() -> None:
    def busy(numbers: list[int], counts: dict[int, int]) -> int:
        total = 0
        for number in numbers:
            counts[number] = counts.get(number, 0) + 1
            if numbers[0] == number:
                total += len(counts)
        return total

    for _ in range(200):
        busy([1, 2, 3], {})
    assert instructions_of(busy.__code__) <= HERE.plain


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_code_that_is_monitored_shows_its_plain_instructions() -> None:
    def watched(number: int) -> int:
        return watched(number - 1) if number else 0

    monitoring = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    monitoring.use_tool_id(4, "test")
    try:
        monitoring.set_local_events(
            4, watched.__code__, monitoring.events.LINE | monitoring.events.PY_RETURN
        )
        watched(3)
        assert instructions_of(watched.__code__) <= HERE.plain
    finally:
        monitoring.set_local_events(4, watched.__code__, 0)
        monitoring.free_tool_id(4)
