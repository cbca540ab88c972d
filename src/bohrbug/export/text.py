"""The text of an exported test: the test, the order of turns, and what forces it."""

from __future__ import annotations

import inspect
import json
import os
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from bohrbug.export import forced_loop, forced_threads
from bohrbug.export.order import ForcedOrder, Moment, Turn
from bohrbug.export.refusals import CannotExport
from bohrbug.export.steps import ForcedSteps
from bohrbug.paths import display_path

_COPIED = "# --8<-- copied from here"
DEADLOCKED_AFTER = 1.0
"""Seconds without any movement after which a test that should deadlock has."""


@dataclass(frozen=True, slots=True)
class Story:
    """What an exported test says of itself.

    Parameters:
        test: the name of the test that fails.
        failure: what comes of it, in one line.
        is_deadlock: its threads wait for ever.
        needs_free_threading: a build with the GIL can't switch threads where they are paused.
        is_coroutine: the test is a coroutine function.
        seconds: of virtual time that pass.
    """

    test: str
    failure: str
    is_deadlock: bool = False
    needs_free_threading: bool = False
    is_coroutine: bool = False
    seconds: float = 0.0


def text_of(
    order: ForcedOrder | ForcedSteps, target: Mapping[str, Any], story: Story, output: Path
) -> str:
    """The text of the file.

    Parameters:
        order: to be forced.
        target: how a reproduction file names the test.
        story: what is said of it.
        output: where the file will be, as it finds the program from there.

    Raises:
        CannotExport: nothing is known by which the test could be called without Bohrbug.
    """
    patience = f", patience={DEADLOCKED_AFTER}" if story.is_deadlock else ""
    if order.beside:
        patience += f", beside={order.beside!r}"
    guard = _GUARD if story.needs_free_threading else ""
    program = _program(target, story, output.absolute().parent)
    if isinstance(order, ForcedSteps):
        if story.seconds >= forced_loop.LIMIT / 2:
            # Its timers fire after that time.
            patience += f", limit={forced_loop.LIMIT + story.seconds:.1f}"
        parts = (
            _docstring(story, _ABOUT_LOOP),
            _IMPORTS_FOR_LOOPS,
            program,
            _table_of_steps(order),
            _TEST.format(guard=guard, forced=f"ForcedLoop(STEPS{patience})"),
            _source_of(forced_loop),
        )
    else:
        count = order.preemptions
        cuts = "no preemption" if not count else f"{count} preemption{'s' * (count > 1)}"
        parts = (
            _docstring(story, _ABOUT_THREADS.format(cuts=cuts)),
            _IMPORTS,
            program,
            _table(order),
            _TEST.format(guard=guard, forced=f"Forced(TURNS{patience})"),
            _source_of(forced_threads),
        )
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join((*parts, _MAIN)))


def name_of(test: str, digest: str) -> str:
    """The name of a file that pytest collects."""
    words = re.sub(r"\W+", "_", test).strip("_").removesuffix("_py")
    return f"test_forced_{words}_{digest}.py"


_IMPORTS = """\

from __future__ import annotations

import dis
import linecache
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
"""

_IMPORTS_FOR_LOOPS = """\

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
import weakref
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
"""

_ABOUT_TURNS = """\
# The threads are called by who has started them: the first one that "0" starts is "0.1".
# Each pauses where its next turn begins, until the turns before that are over. A turn begins at an
# instruction of the program: file, line and its text, columns, name of the instruction, and on
# which arrival there since the last turn of its thread if it is not the first. A "timeout" is
# waited for, where a thread that stands still in its turn has else to wait for others.
#"""

_ABOUT_STEPS = """\
# The tasks, in the order in which they begin, and the order of their steps: a step goes from one
# `await` that has to wait to the next.
#"""

_TEST = '''\

def test_in_the_order_that_fails():
    """Run the test in that order."""
{guard}    {forced}.run(the_test)

'''

_GUARD = """\
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        message = "a build with the GIL can't switch threads where some turns end"
        if "pytest" in sys.modules:
            sys.modules["pytest"].skip(message)
        sys.exit(message)
"""

_MAIN = """\

if __name__ == "__main__":
    test_in_the_order_that_fails()
    print("passed: the failure did not show")
"""


_ABOUT_THREADS = """\
Nothing is patched but Thread.start, to name threads: they are ordinary threads, which pause at
the instructions in TURNS, where a trace function (sys.settrace) holds them up ({cuts})."""

_ABOUT_LOOP = """\
Nothing is patched but asyncio.Handle._run, which puts back the steps of tasks whose turn it is not
yet, as if what they wait for had come later."""


def _docstring(story: Story, about: str) -> str:
    builds = "\nIt needs a build of Python without the GIL.\n" if story.needs_free_threading else ""
    return f'''"""{_plain(story.test)} fails in one order, which this file forces.

What happens: {_plain(story.failure)}
{builds}
It needs Python 3.11 or later, and nothing else but the test and what that needs. Run it with
`python` or `pytest`. {about}
"""'''


def _plain(words: str) -> str:
    text = " ".join(words.split()).replace("\\", "\\\\").replace('"""', "'''")
    return text[:-1] + "'" if text.endswith('"') else text


def _table(order: ForcedOrder) -> str:
    tasks = [f"#   {task:8} {name}" for task, name in order.names]
    return "\n".join((_ABOUT_TURNS, *tasks, "TURNS = [", *map(_row, order.turns), "]", ""))


def _table_of_steps(order: ForcedSteps) -> str:
    tasks = [f"#   {task:8} {name}" for task, name in order.names]
    rows = textwrap.wrap(
        " ".join(f'"{task}",' for task in order.steps),
        96,
        initial_indent="    ",
        subsequent_indent="    ",
    )
    return "\n".join((_ABOUT_STEPS, *tasks, "STEPS = [", *rows, "]", ""))


def _row(turn: Turn) -> str:
    begin = turn.begin
    if isinstance(begin, Moment):
        place = f'"{begin.value}"'
    else:
        text = json.dumps(begin.text, ensure_ascii=False)
        row = f'"{begin.file}", {begin.line}, {text}, {begin.columns}, "{begin.instruction}"'
        place = f"({row})" if turn.times == 1 else f"({row}, {turn.times})"
    timeout = ', "timeout"' if turn.has_timeout else ""
    return f'    ("{turn.task}", {place}{timeout}),{_comment(turn)}'


def _comment(turn: Turn) -> str:
    cut = ", after a preemption" if turn.preempted else ""
    if turn.begin in (Moment.START, Moment.END):
        return ""
    return f"  # is about to {_plain(turn.about_to)}{cut}"


def _source_of(module: ModuleType) -> str:
    """What an exported test has of a module of ours."""
    source = inspect.getsource(module)
    text = source.partition(_COPIED)[2].strip("\n")
    # Written for a type checker that this file does not meet.
    text = re.sub(r"  # (type: ignore|noqa)[^\n]*", "", text)
    return f"\n# What forces the order.\n\n\n{text}\n"


# -- the test ------------------------------------------------------------------


def _program(target: Mapping[str, Any], story: Story, folder: Path) -> str:
    kind = target.get("kind")
    if kind == "script":
        return _script(target, folder)
    if kind == "function":
        return _function(target, story, folder)
    if kind == "pytest":
        return _pytest(target, folder)
    raise CannotExport("it is a failure of a native program")


def _path(path: Path, folder: Path) -> str:
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:
        # On another drive.
        return f"Path({str(path)!r})"
    return "HERE" if relative == "." else f"HERE / {Path(relative).as_posix()!r}".replace("'", '"')


def _script(target: Mapping[str, Any], folder: Path) -> str:
    path = _path(Path(target["path"]).absolute(), folder)
    arguments = ", ".join(("path", *map(repr, target["arguments"])))
    return f'''
def the_test():
    """The script, as it is."""
    import runpy

    path = str({path})
    sys.argv[:] = [{arguments}]
    sys.path.insert(0, str(Path(path).parent))
    runpy.run_path(path, run_name="__main__")

'''


def _function(target: Mapping[str, Any], story: Story, folder: Path) -> str:
    module, _, name = target["name"].partition(":")
    path = target.get("path")
    if path is None:
        raise CannotExport("the file does not say where the module of the test is")
    call = f"asyncio.run(program.{name}())" if story.is_coroutine else f"program.{name}()"
    imports = "import asyncio\n\n    " if story.is_coroutine else ""
    root = Path(path)
    if module == "__main__" or root.stem not in (module.rpartition(".")[2], "__init__"):
        module, root = root.stem, root.parent
    else:
        parts = len(module.split(".")) + (root.stem == "__init__")
        root = root.parents[parts - 1]
    return f'''
sys.path.insert(0, str({_path(root, folder)}))
import {module} as program


def the_test():
    """{_plain(story.test)}"""
    {imports}{call}

'''


def _pytest(target: Mapping[str, Any], folder: Path) -> str:
    root = Path(target["root"])
    if not root.is_dir():
        # As replays have it.
        root = Path.cwd()
    file = root / target.get("file", target["node"].partition("::")[0])
    names = target["node"].partition("::")[2]
    extra = ""
    configuration = target.get("configuration")
    if configuration:
        extra = f'"-c", str({_path(root / configuration, folder)}), '
    directory = _path(root / target.get("directory", ""), folder)
    imports = (
        f"sys.path.insert(0, str({directory}))\n" if target.get("imports_from_directory") else ""
    )
    return f'''
import contextlib

import pytest

TEST = str({_path(file, folder)}) + {("::" + names)!r}
ROOT = str({_path(root, folder)})
{imports}

def the_test():
    """{_plain(display_path(str(file)))}::{_plain(names)}, run by pytest, as it is."""
    errors = []

    class Keeper:
        def pytest_exception_interact(self, call):
            errors.append(call.excinfo.value)

    arguments = [TEST, f"--rootdir={{ROOT}}", {extra}"-p", "no:bohrbug", "-p", "no:cacheprovider"]
    with contextlib.chdir({directory}):
        code = pytest.main([*arguments, "-q", "--no-header", "--no-summary"], plugins=[Keeper()])
    if errors:
        raise errors[0]
    if code:
        raise RuntimeError(f"pytest did not run the test, and ended with {{code!r}}")

'''
