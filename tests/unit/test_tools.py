"""What is asked of other programs of the machine."""

from __future__ import annotations

import sys

from bohrbug.runtime.posix.tools import said_by

PYTHON = (sys.executable, "-S", "-E", "-c")


def test_what_a_tool_prints_whatever_it_exits_with() -> None:
    said = said_by((*PYTHON, "print(input()); raise SystemExit(3)"), "a name\n")
    assert said == "a name\n"


def test_a_tool_that_is_not_there_says_nothing() -> None:
    assert said_by(("/no/such/tool",)) is None


def test_a_tool_that_does_not_end_is_ended() -> None:
    assert said_by((*PYTHON, "while True: pass"), patience=0.1) is None


def test_what_is_no_text_is_replaced() -> None:
    said = said_by((*PYTHON, "import sys; sys.stdout.buffer.write(bytes([65, 255]))"))
    assert said == "A\N{REPLACEMENT CHARACTER}"
