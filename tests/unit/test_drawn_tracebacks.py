"""Tracebacks in reports."""

from __future__ import annotations

import io

from rich.console import Console

from bohrbug.report.stack import draw_traceback
from bohrbug.report.style import Paper


def test_marks_are_left_out_below_a_source_line_that_does_not_fit() -> None:
    call = f"run({', '.join(['argument'] * 8)})"
    traceback = (
        "Traceback (most recent call last):\n"
        '  File "bank.py", line 10, in run\n'
        f"    {call}\n"
        f"    ~~~^{'^' * (len(call) - 4)}\n"
        '  File "bank.py", line 12, in work\n'
        "    return a / b\n"
        "           ~~^~~\n"
        "ZeroDivisionError: division by zero\n"
    )

    def drawn(width: int) -> str:
        console = Console(file=io.StringIO(), width=width, color_system=None)
        with console.capture() as capture:
            draw_traceback(Paper(console), traceback)
        return capture.get()

    assert drawn(100).count("^") > 60
    narrow = drawn(60)
    assert [line.strip() for line in narrow.splitlines() if "^" in line] == ["~~^~~"]
    assert narrow.count("argument") == 8
