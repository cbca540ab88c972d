"""Looking at the local variables of a frame keeps nothing alive, wherever that is done."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path

import bohrbug
from bohrbug.runtime.threads.local_variables import is_of_module, local_variables

_IN_OTHER_WAYS = {
    # What the program asks for, or as the interpreter does for it.
    "runtime/threads/made_code.py",
    "runtime/threads/rewrite/executed.py",
    "runtime/threads/rewrite/methods_in_c.py",
    "runtime/threads/rewrite/parts.py",
    # Of functions of the standard library that return at once.
    "runtime/threads/temporary_names.py",
    # To let go of what the frame keeps.
    "pytest_plugin/execution.py",
}


def test_no_module_asks_frames_itself() -> None:
    package = Path(bohrbug.__file__).parent
    asking = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if ".f_locals" in path.read_text("utf-8")
    }
    assert asking - _IN_OTHER_WAYS == {"runtime/threads/local_variables.py"}


def test_variables_are_as_they_are() -> None:
    class Value:
        pass

    value = Value()
    reference = weakref.ref(value)
    assert local_variables(sys._getframe())["value"] is value
    del value
    assert reference() is None
    assert "value" not in local_variables(sys._getframe())


def test_the_variables_of_a_module_are_its_globals() -> None:
    found: list[bool] = []
    exec("found.append(of(frame()))", {"found": found, "of": is_of_module, "frame": sys._getframe})
    assert found == [True]
    assert not is_of_module(sys._getframe())
