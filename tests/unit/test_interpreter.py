"""What differs between the versions of CPython, and what we count on in each."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import importlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bohrbug.model.conditions import Level
from bohrbug.model.operation import LOCKED
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads import interpreter, interpreters
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings

needs_contexts = pytest.mark.skipif(
    not interpreter.HAS_CONTEXTS, reason="threads have contexts from Python 3.14 on"
)

variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)


def executed(program: Callable[[], object], seeds: int = 20) -> list[Trace]:
    with threads_runtime(program, Settings(), Level.SYNC, Scope()) as runtime:
        traces = [runtime.execute(Plan((), UniformRandom(seed))).trace for seed in range(seeds)]
    for trace in traces:
        assert trace.outcome.kind is OutcomeKind.PASSED, trace.outcome.traceback
    return traces


def test_nothing_that_we_count_on_is_missing() -> None:
    for name in interpreter.PARTS_OF_MODULES:
        importlib.import_module(name)
    assert interpreter.missing_parts(interpreter.PARTS_OF_MODULES) == []


def test_what_is_missing_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = interpreter.PARTS_OF_MODULES
    monkeypatch.setitem(parts, "threading", (*parts["threading"], "Thread._not_there"))
    monkeypatch.setitem(interpreter.PARTS_OF_OBJECTS, threading.Event, ("_flag", "_gone"))
    with pytest.raises(ImportError) as raised:
        interpreter._check()
    assert "threading.Event()._gone, threading.Thread._not_there" in str(raised.value)


@needs_contexts
def test_a_thread_runs_in_the_context_that_it_is_given_or_in_an_empty_one() -> None:
    def program() -> None:
        given = contextvars.copy_context()
        given.run(variable.set, 1)
        seen: list[int] = []

        def work() -> None:
            seen.append(variable.get())
            variable.set(2)

        first = threading.Thread(target=work, context=given)  # type: ignore[call-arg,unused-ignore]
        second = threading.Thread(target=work)
        for thread in (first, second):
            thread.start()
        for thread in (first, second):
            thread.join()
        assert sorted(seen) == [0, 1]
        assert given[variable] == 2
        assert second._context[variable] == 2  # type: ignore[attr-defined]
        assert variable.get() == 0

    executed(program)


INHERITING = """
import contextvars, threading
import bohrbug
variable = contextvars.ContextVar("variable", default=0)
seen = []
def program():
    variable.set(3)
    thread = threading.Thread(target=lambda: seen.append(variable.get()))
    thread.start()
    thread.join()
bohrbug.explore(program, executions=5)
print(set(seen))
"""


@needs_contexts
@pytest.mark.parametrize(("flag", "value"), [("0", 0), ("1", 3)])
def test_a_thread_inherits_its_context_where_the_interpreter_says_so(
    flag: str, value: int, environment: dict[str, str]
) -> None:
    command = [sys.executable, "-X", f"thread_inherit_context={flag}", "-c", INHERITING]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.stdout.strip() == f"{{{value}}}", run.stderr


def test_each_task_has_an_asyncio_task_of_its_own() -> None:
    """The interpreter keeps what a loop runs per OS thread, which all tasks share."""

    def program() -> None:
        lock = threading.Lock()

        async def work() -> None:
            for _ in range(2):
                before = asyncio.current_task()
                with lock:
                    time.sleep(0.001)
                assert asyncio.current_task() is before
                await asyncio.sleep(0)

        threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    executed(program)


@pytest.mark.skipif(not interpreter.RLOCKS_TELL, reason="RLock.locked is new in Python 3.14")
def test_to_ask_whether_a_recursive_lock_is_held_is_an_operation() -> None:
    def program() -> None:
        lock = threading.RLock()
        thread = threading.Thread(target=lock.acquire)
        thread.start()
        lock.locked()  # type: ignore[attr-defined,unused-ignore]
        thread.join()

    for trace in executed(program, 3):
        assert LOCKED in {operation.kind for operation in trace.operations}


@pytest.mark.skipif(not hasattr(_thread, "set_name"), reason="new in Python 3.14")
def test_a_task_has_a_name_of_its_own_for_the_operating_system() -> None:
    names: Any = _thread
    before = names._get_name()

    def program() -> None:
        seen: list[str] = []

        def work() -> None:
            seen.append(names._get_name())
            threading.current_thread().name = "changed"
            seen.append(names._get_name())
            with pytest.raises(ValueError, match="null"):
                names.set_name("a\0b")

        thread = threading.Thread(target=work, name="given")
        thread.start()
        thread.join()
        assert seen == ["given", "changed"]
        assert names._get_name() == before

    executed(program, 3)
    assert names._get_name() == before


@pytest.mark.skipif(sys.version_info < (3, 14), reason="new in Python 3.14")
def test_code_of_another_interpreter_is_noted() -> None:
    def program() -> None:
        from concurrent.futures import InterpreterPoolExecutor

        with InterpreterPoolExecutor(1) as executor:
            assert executor.submit(pow, 2, 3).result() == 8

    for trace in executed(program, 2):
        assert trace.uncontrolled.counts == {interpreters.NOTE: 1}


LAZILY = """
lazy import lazily_imported.part
def use():
    return lazily_imported.part.value
"""


@pytest.mark.skipif(sys.version_info < (3, 15), reason="new in Python 3.15")
def test_a_submodule_can_be_imported_lazily(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lazily_imported"
    package.mkdir()
    # What the package asks itself for is what is being imported lazily.
    (package / "__init__.py").write_text("from . import part\n")
    (package / "part.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    source = compile(LAZILY, "lazy_file.py", "exec")

    def program() -> None:
        for name in [name for name in sys.modules if name.startswith("lazily_imported")]:
            del sys.modules[name]
        namespace: dict[str, Any] = {"__name__": "somewhere"}
        exec(source, namespace)
        assert namespace["use"]() == 3

    executed(program, 2)
