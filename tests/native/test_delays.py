"""The library of delays by itself, and its side of the shared record."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bohrbug.runtime.posix import build
from bohrbug.runtime.posix import delays_layout as layout
from bohrbug.runtime.posix.build import DELAYS, PACKAGE, compiler
from tests.native.building import need_native

STRUCTURES = {
    "slot": layout.SlotRecord,
    "delay": layout.DelayRecord,
    "side": layout.SideRecord,
    "trap": layout.TrapRecord,
    "record": layout.DelaysRecord,
}


@pytest.fixture(autouse=True)
def _native() -> None:
    need_native()


def test_the_layout_is_the_same_on_both_sides(tmp_path: Path) -> None:
    lines = [
        "#include <stddef.h>",
        "#include <stdio.h>",
        '#include "record.h"',
        "int main(void) {",
    ]
    expected = []
    for name, record in STRUCTURES.items():
        lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
        expected.append(f"{name} {ctypes.sizeof(record)}")
        for field, *_ in record._fields_:
            if not field.startswith("_fill"):
                lines.append(f'printf("{name}.{field} %zu\\n", offsetof(struct {name}, {field}));')
                expected.append(f"{name}.{field} {getattr(record, field).offset}")
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text("\n".join([*lines, "return 0;", "}"]))
    cc = compiler()
    assert cc is not None
    folders = ("-I", str(DELAYS), "-I", str(PACKAGE))
    subprocess.run([cc, *folders, "-o", str(program), str(source)], check=True)
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == expected


def enumerators(text: str) -> Iterator[tuple[str, int]]:
    for match in re.finditer(r"^enum \w+ {([^}]*)};", text, re.MULTILINE):
        value = -1
        for word in match[1].split(","):
            name, _, given = word.strip().partition(" = ")
            value = int(given) if given else value + 1
            yield name, value


def test_numbers_are_the_same_on_both_sides() -> None:
    text = (DELAYS / "record.h").read_text("utf-8")
    named = dict(enumerators(text)) | {
        name: int(value) for name, value in re.findall(r"^#define (\w+) (\d+)$", text, re.MULTILINE)
    }
    assert len(named) > 30
    for name, value in named.items():
        assert getattr(layout, name) == value, name


def test_there_is_room_for_the_names_of_all_functions() -> None:
    text = (DELAYS / "functions.h").read_text("utf-8")
    names = re.findall(r"F\((\w+)\)", text.replace("INTERPOSED(F)", ""))
    assert len(names) > 40
    assert len(names) <= layout.MOST_NAMES
    assert max(map(len, names)) < 32
    sources = "\n".join(path.read_text("utf-8") for path in DELAYS.glob("*.c"))
    for name in names:
        assert re.search(rf"^EXPORT .*\b{name}\(", sources, re.MULTILINE), name


def exported(library: Path) -> set[str]:
    tool = shutil.which("nm")
    if tool is None:
        pytest.skip("needs nm")
    said = subprocess.run(
        [tool, "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    return {line.split()[-1] for line in said.stdout.splitlines()}


def test_programs_with_hooks_find_all_that_they_call() -> None:
    hooks = build.hooks()
    assert hooks is not None
    of_sanitizer = re.compile(r"__tsan_|Annotate|RunningOn|atexit$")
    called = {name for name in exported(hooks) if of_sanitizer.match(name)}
    assert len(called) > 100
    assert called <= exported(build.delays())
