"""What functions in C read that are given it by keyword, and what is read beside a constant."""

from __future__ import annotations

import collections
import contextlib
import io
import itertools
import os
import pickle
import re
import tempfile
from collections.abc import Callable
from typing import Any

import pytest

from bohrbug import VerdictKind, explore
from tests.programs.together import together
from tests.unit.test_byte_buffers import Use, is_seen, kind


def printed(numbers: list[int]) -> object:
    options: dict[str, Any] = {"file": io.StringIO()}
    print(numbers, **options)
    return options["file"].getvalue()


def pickled(numbers: list[int]) -> bytes:
    options: dict[str, Any] = {"obj": numbers}
    return pickle.dumps(**options)


def pickled_into(file: io.BytesIO, numbers: list[int]) -> bytes:
    pickle.dump(numbers, file=file)
    return file.getvalue()


def repeated_in_place(numbers: list[int]) -> int:
    same = numbers
    same *= 1
    return len(same)


def in_order_of(numbers: list[int]) -> object:
    options: dict[str, Any] = {"key": numbers.index}
    return sorted([7], **options), len(numbers)


OF_LISTS: dict[str, Use] = {
    "deque": lambda numbers: len(collections.deque(iterable=numbers)),
    "permutations": lambda numbers: len(list(itertools.permutations(iterable=numbers, r=1))),
    "pickle": lambda numbers: pickle.dumps(obj=numbers),
    "pickle into a file": lambda numbers: pickled_into(io.BytesIO(), numbers),
    "pickle, **": pickled,
    "print, **": printed,
    "sorted, **": in_order_of,
    "times": lambda numbers: numbers * 2,
    "times from the left": lambda numbers: 2 * numbers,
    "times in place": repeated_in_place,
}

OF_BUFFERS: dict[str, Use] = {
    "from_bytes": lambda data: int.from_bytes(bytes=data, byteorder="big"),
    "str": lambda data: str(object=data, encoding="ascii"),
    "bytearray": lambda data: bytearray(source=data),  # type: ignore[call-overload]
    "BytesIO": lambda data: io.BytesIO(initial_bytes=data).getvalue(),
    "split": lambda data: b"xabcdy".split(sep=data),
    "translate": lambda data: b"abcd".translate(None, delete=data),
    "match": lambda data: re.compile(b"a").match(string=data) is None,
    "sub": lambda data: re.compile(b"a").sub(repl=b"x", string=data),
}

CHANGES: dict[str, Callable[[Any], object]] = {
    "list": lambda numbers: numbers.append(9),
    "bytearray": lambda data: data.__setitem__(0, 51),
}


@pytest.mark.parametrize(
    ("use", "given", "change"),
    [(use, [7, 8], CHANGES["list"]) for use in OF_LISTS.values()]
    + [(use, bytearray(b"abcd"), CHANGES["bytearray"]) for use in OF_BUFFERS.values()],
    ids=[*OF_LISTS, *OF_BUFFERS],
)
def test_what_is_given_by_keyword_or_beside_a_constant_is_read(
    use: Use, given: Any, change: Callable[[Any], object]
) -> None:
    def program(guard: Any) -> None:
        thing = given[:]
        found: list[object] = []

        def look() -> None:
            with guard:
                first = use(thing)
            found.append(first)

        def alter() -> None:
            with guard:
                change(thing)

        before = use(thing)
        together(look, alter)
        assert found == [before]

    assert kind(program, contextlib.nullcontext()) is VerdictKind.FAILED


@pytest.mark.parametrize(
    ("act", "ask"),
    [
        (lambda path: os.mkdir(path=path), os.path.isdir),
        (lambda path: os.rename(src=path + "1", dst=path), os.path.isfile),
        (lambda path: open(file=path, mode="w").close(), os.path.isfile),
    ],
)
def test_paths_given_by_keyword_are_seen(
    act: Callable[[str], object], ask: Callable[[str], bool]
) -> None:
    def program(guard: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            open(path + "1", "w").close()
            found: list[bool] = []

            def do() -> None:
                with guard:
                    act(path)

            def look() -> None:
                with guard:
                    found.extend((ask(path), ask(path)))

            together(do, look)
        assert found[0] == found[1]

    assert is_seen(program)


def test_what_is_given_by_stars_is_not_used_up() -> None:
    written: list[str] = []

    def program() -> None:
        def write() -> None:
            stream = io.StringIO()
            options: dict[str, Any] = {"file": stream, "sep": "-"}
            print(*map(str, [1, 2, 3]), **options)
            written.append(stream.getvalue())

        together(write, write)

    explore(program, executions=3)
    assert set(written) == {"1-2-3\n"}


def test_the_file_that_something_is_written_to_may_be_given_by_keyword() -> None:
    def test() -> None:
        file = io.BytesIO()
        together(lambda: pickle.dump(1, file=file), lambda: pickle.dump(obj=2, file=file))
        if pickle.loads(file.getvalue()) != 1:
            raise LookupError

    assert explore(test).failures
