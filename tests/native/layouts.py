"""Structures that C code and Python share: whether both have the same layout of them."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bohrbug.runtime.posix.build import compiler


def layouts_on_both_sides(
    tmp_path: Path,
    structures: Mapping[str, type[ctypes.Structure]],
    headers: Sequence[str],
    folders: Sequence[Path],
) -> tuple[list[str], list[str]]:
    """Sizes and offsets as a C compiler has them, and as :mod:`ctypes` has them.

    Parameters:
        tmp_path: where to compile.
        structures: by their names in C.
        headers: those that declare them.
        folders: where these are.
    """
    known = ("<stddef.h>", "<stdio.h>", *(f'"{header}"' for header in headers))
    lines = [*(f"#include {header}" for header in known), "int main(void) {"]
    expected = []
    for name, record in structures.items():
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
    options = [option for folder in folders for option in ("-I", str(folder))]
    subprocess.run([cc, *options, "-o", str(program), str(source)], check=True)
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return printed.splitlines(), expected
