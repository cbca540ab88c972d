"""Rewritten code does what the original does."""

from __future__ import annotations

import argparse
import collections
import configparser
import csv
import dataclasses
import dis
import fractions
import functools
import io
import json
import json.decoder
import json.encoder
import json.scanner
import random
import shlex
import statistics
import string
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bohrbug.runtime.threads.rewrite import Rewriter, Scope, attributes, set_sink
from bohrbug.runtime.threads.rewrite.codec import (
    Splice,
    decode,
    decode_exception_table,
    encode_exception_table,
    encode_instruction,
    splice,
)
from tests.thoroughness import examples


@pytest.fixture(autouse=True, scope="module")
def nothing_stays_stored() -> Iterator[None]:
    """What code is known to store says nothing of other tests; no exploration ends here."""
    yield
    attributes.forget_stored_names()


class Silent:
    """A sink that is told and does nothing."""

    def attribute(self, owner: object, name: str, is_write: bool, place: object) -> None:
        pass

    def item(self, owner: object, key: object, is_write: bool, place: object) -> None:
        hash(key)

    def whole(self, owner: object, is_write: bool, place: object) -> None:
        pass

    def breaker(self) -> None:
        pass


def functions_of(namespace: dict[str, Any], module: str) -> Iterator[types.FunctionType]:
    """The functions and methods that a module defines."""
    for value in list(namespace.values()):
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, property):
            value = value.fget
        if isinstance(value, types.FunctionType) and value.__module__ == module:
            yield value
        elif isinstance(value, type) and value.__module__ == module:
            yield from functions_of(dict(vars(value)), module)


MODULES = (
    *(json, json.decoder, json.encoder, json.scanner, collections, textwrap, functools),
    *(dataclasses, fractions, statistics, csv, configparser, argparse, shlex, string, random),
)


def json_work() -> object:
    data = {"a": [1, 2.5, None, True, {"b": "\u00e9\n"}], "c": {}}
    decoder = json.JSONDecoder()
    decoder.scan_once = json.scanner.py_make_scanner(decoder)
    text = "".join(json.JSONEncoder(indent=2, sort_keys=True).iterencode(data))
    try:
        json.loads('{"a": tru}')
    except json.JSONDecodeError as error:
        return text, decoder.decode(text), str(error)
    raise AssertionError


def collections_work() -> object:
    counter = collections.Counter("abracadabra") + collections.Counter("abc")
    point = collections.namedtuple("point", "x y", defaults=[3])(1)
    chain = collections.ChainMap({}, {"a": 1})
    chain["b"] = 2
    user = collections.UserDict(a=1)
    user.update(b=2)
    return counter.most_common(), point._replace(x=5), dict(chain), user, repr(user)


def text_work() -> object:
    words = "the quick brown fox jumps over the lazy dog " * 3
    return (
        textwrap.fill(words, 17, initial_indent="* "),
        textwrap.dedent("   a\n     b\n   c"),
        textwrap.indent("a\n\nb", "> "),
        textwrap.shorten(words, 20),
        shlex.split('a \'b c\' "d\\"e" f#g', comments=True),
        string.Template("$a ${b} $$").substitute(a=1, b=2),
        string.Formatter().vformat("{0!r:>5} {x[1]}", ("a",), {"x": [1, 2]}),
    )


def numbers_work() -> object:
    generator = random.Random(7)
    half = fractions.Fraction("0.5") + fractions.Fraction(1, 3)
    return (
        half.limit_denominator(4),
        statistics.quantiles([1, 5, 2, 8, 7], n=4),
        statistics.stdev([1.5, 2.5, 4]),
        generator.sample(range(100), 5),
        generator.choices("abc", weights=[1, 2, 3], k=4),
        generator.gauss(0, 1),
    )


def formats_work() -> object:
    parser = configparser.ConfigParser()
    parser.read_string("[a]\nx = 1\ny = %(x)s2\n[b]\nz : ${a}\n")
    options = argparse.ArgumentParser(prog="p")
    options.add_argument("--number", type=int, default=3)
    options.add_argument("names", nargs="*")
    rows = list(csv.DictReader(io.StringIO("a,b\n1,2\n3,4\n")))
    arguments = options.parse_args(["--number", "5", "x", "y"])
    return parser.getint("a", "y"), vars(arguments), rows, csv.Sniffer().sniff("a;b\n1;2").delimiter


def tools_work() -> object:
    @dataclasses.dataclass(order=True)
    class Item:
        name: str
        tags: list[str] = dataclasses.field(default_factory=list, compare=False)

    @functools.singledispatch
    def describe(value: object) -> str:
        return "object"

    @describe.register
    def _(value: int) -> str:
        return "int"

    item = dataclasses.replace(Item("b"), name="a")
    key = functools.cmp_to_key(lambda one, two: two - one)
    ordered = sorted([3, 1, 2], key=key)
    return (
        dataclasses.asdict(item),
        repr(item),
        item < Item("b"),
        describe(1),
        describe(""),
        ordered,
    )


WORK = (json_work, collections_work, text_work, numbers_work, formats_work, tools_work)


@pytest.mark.parametrize("breakers", [False, True])
@pytest.mark.parametrize("work", WORK)
def test_standard_library_modules(work: Callable[[], object], breakers: bool) -> None:
    before = repr(work())
    rewriter = Rewriter(Scope(["+json", "+collections"]), breakers)
    count = 0
    for module in MODULES:
        for function in functions_of(vars(module), module.__name__):
            count += rewriter.install_function(function)
    set_sink(Silent())  # type: ignore[arg-type]
    try:
        after = repr(work())
    finally:
        set_sink(None)
        rewriter.restore()
    assert after == before
    assert count > 400
    assert rewriter.skipped == {}


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and all that is nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_taking_apart_and_putting_together_changes_nothing(module: types.ModuleType) -> None:
    assert module.__file__ is not None
    with open(module.__file__, encoding="utf-8") as file:
        whole = compile(file.read(), module.__file__, "exec")
    for code in codes_of(whole):
        again = splice(code, decode(code), {}, code.co_consts, 0)
        assert again.co_code == code.co_code
        assert again.co_exceptiontable == code.co_exceptiontable
        assert [position[0] for position in again.co_positions()] == [
            position[0] for position in code.co_positions()
        ]
        table = decode_exception_table(code.co_exceptiontable)
        assert encode_exception_table(table) == code.co_exceptiontable


@pytest.mark.parametrize("count", [1, 100, 300])
def test_padding_moves_jumps_and_exception_ranges(count: int) -> None:
    def function(numbers: list[int]) -> int:
        total = 0
        for number in numbers:
            try:
                total += 12 // number if number < 4 else number
            except ZeroDivisionError:
                total -= 1
            finally:
                total += 100
        while total > 1000:
            total -= 1000
        return total

    code = function.__code__
    instructions = decode(code)
    padding = encode_instruction(dis.opmap["NOP"]) * count
    splices = {
        index: Splice(before=padding)
        for index, instruction in enumerate(instructions)
        if dis.opname[instruction.opcode] in ("LOAD_FAST", "LOAD_CONST", "BINARY_OP")
    }
    numbers = [1, 0, 3, 5, 0]
    before = function(numbers)
    function.__code__ = splice(code, instructions, splices, code.co_consts, 0)
    assert len(function.__code__.co_code) > len(code.co_code)
    assert function(numbers) == before


# --- Generated functions


NAMES = ("a", "b", "c")

expressions = st.recursive(
    st.sampled_from([*NAMES, "0", "1", "2", "box.x", "box.y", "items", "table", "len(items)"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "*", "-", "or", "and"]), inner),
        st.builds(
            "({} {} {})".format, inner, st.sampled_from(["==", "<", "in", "not in", "is"]), inner
        ),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("items[{}]".format, inner),
        st.builds("table.get({}, {})".format, inner, inner),
        st.builds("box.add({}, z={})".format, inner, inner),
        st.builds("max({}, {})".format, inner, inner),
        st.builds("[{} for a in {} if {}]".format, inner, inner, inner),
        st.builds("sum({} for b in {})".format, inner, inner),
        st.builds("(lambda c: {})({})".format, inner, inner),
        st.builds("box.add(*{})".format, inner),
        st.builds("f'{{{}}}'".format, st.sampled_from(NAMES)),
        st.builds("[{}, *{}]".format, inner, inner),
        st.builds("{{**table, {}: {}}}".format, inner, inner),
        st.builds("items[{}:{}]".format, inner, inner),
    ),
    max_leaves=6,
)

simple_statements = st.one_of(
    st.builds("{} = {}".format, st.sampled_from(NAMES), expressions),
    st.builds("{} += {}".format, st.sampled_from([*NAMES, "box.x", "items", "g"]), expressions),
    st.builds("box.{} = {}".format, st.sampled_from("xy"), expressions),
    st.builds("table[{}] = {}".format, expressions, expressions),
    st.builds("items.append({})".format, expressions),
    st.builds("del items[{}]".format, expressions),
    st.builds("a, *b = {}".format, expressions),
    st.builds("g = {}".format, expressions),
)


def indented(lines: str) -> str:
    """Lines as a block."""
    return textwrap.indent(lines, "    ")


blocks = st.recursive(
    simple_statements,
    lambda inner: st.one_of(
        st.builds("{}\n{}".format, inner, inner),
        st.builds(
            lambda test, body, other: f"if {test}:\n{indented(body)}\nelse:\n{indented(other)}",
            *(expressions, inner, inner),
        ),
        st.builds(
            # A loop over the list that its body appends to would never end.
            lambda where, body: (
                f"for c in {where}:\n{indented(body)}\n    if g or len(items) > 9: break"
            ),
            *(expressions, inner),
        ),
        st.builds(
            lambda body, handler: (
                f"try:\n{indented(body)}\nexcept TypeError:\n{indented(handler)}\n"
                f"finally:\n    box.y = 1"
            ),
            *(inner, inner),
        ),
        st.builds(lambda body: f"with box:\n{indented(body)}", inner),
    ),
    max_leaves=4,
)

PRELUDE = """
class Box:
    x = 5
    def __init__(self): self.y = 2
    def add(self, *args, z=1): return (args, z, self.y)
    def __enter__(self): return self
    def __exit__(self, *details): return details[0] is IndexError
g = 0
"""


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@settings(max_examples=examples(120), deadline=None)
@given(block=blocks, breakers=st.booleans())
def test_generated_functions(block: str, breakers: bool) -> None:
    source = f"{PRELUDE}\ndef function(box, items, table, a=1, b=2, c=3):\n    global g\n"
    source += indented(block) + "\n    return a, b, c\n"
    code = compile(source, "generated", "exec")

    def run(rewritten: bool) -> tuple[object, ...]:
        namespace: dict[str, Any] = {"__name__": "generated"}
        exec(code, namespace)
        box, items, table = namespace["Box"](), [1, 2, 3], {1: 2}
        if rewritten:
            rewriter = Rewriter(breakers=breakers)
            for function in functions_of(namespace, "generated"):
                assert rewriter.install_function(function)
            set_sink(Silent())  # type: ignore[arg-type]
        try:
            result = namespace["function"](box, items, table)
        except Exception as error:
            assert error.__traceback__ is not None
            last = error.__traceback__
            while last.tb_next is not None:
                last = last.tb_next
            result = (type(error), str(error), last.tb_frame.f_code.co_name, last.tb_lineno)
        finally:
            set_sink(None)
        return (_text(result), _text(vars(box)), _text(items), _text(table), namespace["g"])

    assert repr(run(rewritten=True)) == repr(run(rewritten=False))


def catches(log: list[str]) -> Iterator[int]:
    try:
        yield 1
    except ValueError:
        log.append("caught")
    log.append("goes on")
    return


def delegates(log: list[str], count: int) -> Iterator[int]:
    for _ in range(count):
        yield from catches(log)
        log.append("returned")
    yield 2


async def awaits(log: list[str]) -> int:
    class Gate:
        def __await__(self) -> Iterator[int]:
            yield from delegates(log, 2)

        async def __aenter__(self) -> None:
            await self

        async def __aexit__(self, *details: object) -> bool:
            await self
            return True

    async with Gate():
        log.append("inside")
        raise KeyError
    return 3


@pytest.mark.parametrize("breakers", [False, True])
@pytest.mark.parametrize("rewritten", [False, True])
def test_what_is_thrown_into_one_that_waits_for_another(rewritten: bool, breakers: bool) -> None:
    """The other one returns, and it goes on behind its ``yield from`` or ``await``."""
    namespace: dict[str, Any] = {"Iterator": Iterator}
    rewriter = Rewriter(breakers=breakers)
    for original in (catches, delegates, awaits):
        function = types.FunctionType(original.__code__, namespace, original.__name__)
        namespace[original.__name__] = function
        if rewritten:
            assert rewriter.install_function(function)
    log: list[str] = []
    waiting = namespace["awaits"](log)
    for _ in range(2):
        assert waiting.send(None) == 1
        assert waiting.throw(ValueError()) == 1
        assert waiting.throw(ValueError()) == 2
    with pytest.raises(StopIteration) as end:
        waiting.send(None)
    assert end.value.value == 3
    once = ["caught", "goes on", "returned"]
    assert log == [*once, *once, "inside", *once, *once]


def _text(value: object) -> str:
    """What a result says, without addresses."""
    text = repr(value)
    while " at 0x" in text:
        before, _, after = text.partition(" at 0x")
        text = before + after.lstrip("0123456789abcdef")
    return text
