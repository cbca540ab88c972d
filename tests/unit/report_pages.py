"""Failures and documents for the tests of HTML reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bohrbug.exploration.result import Failure
from bohrbug.model.operation import (
    ACQUIRE,
    BEGIN,
    END,
    JOIN,
    READ,
    RELEASE,
    SPAWN,
    WRITE,
    Operation,
    Resource,
    Site,
)
from bohrbug.model.outcome import Frame, Outcome, OutcomeKind, TaskInfo
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace

HOSTILE = (
    "</script><script>window.hurt = 1</script><!--<img src=x onerror='window.hurt=1'>\u2028&amp;"
)
"""What a program may call its things: markup that would run if it were taken for such."""


def long_failure(steps: int, path: Path) -> Failure:
    """A lost update behind two loops in which tasks take turns under a lock.

    Parameters:
        steps: about so many.
        path: to write the program to.
    """
    path.write_text(
        "def work():\n"
        "    for _ in range(ROUNDS):\n"
        "        with lock:\n"
        "            pass\n"
        "    seen = total\n"
        "    total = seen + 1\n"
        "\n"
        "def test():\n"
        "    assert total == 2\n"
    )
    name = str(path)
    lock, read, write = Site(name, 3, "work"), Site(name, 5, "work"), Site(name, 6, "work")
    trace = Trace()
    for task, thread, target in (("0", "Main", "test"), ("0.1", "A", "work"), ("0.2", "B", "work")):
        trace.task_infos[task] = TaskInfo(task, thread, target)
    trace.resources["0:0"] = Resource("0:0", "Lock", "Lock lock", None)
    trace.resources["0:total"] = Resource("0:total", "variable", "total", None)

    def step(task: str, operation: Operation, enabled: tuple[str, ...]) -> None:
        trace.tasks.append(task)
        trace.choices.append(task)
        trace.operations.append(operation)
        trace.enabled.append(enabled)
        trace.timed.append(())
        trace.yielded.append(False)

    main, both = ("0",), ("0.1", "0.2")
    step("0", Operation(SPAWN, "0.1", Site(name, 8, "test")), main)
    step("0", Operation(SPAWN, "0.2", Site(name, 8, "test")), ("0", "0.1"))
    for task in both:
        step(task, Operation(BEGIN, task), both)
    for number in range((steps - 12) // 2):
        task = both[number // 5 % 2]
        step(task, Operation(ACQUIRE, "0:0", lock), both)
        # While it is held, the other one is blocked.
        step(task, Operation(RELEASE, "0:0", lock), (task,))
    for task in ("0.1", "0.2"):
        step(task, Operation(READ, "0:total", read), both)
    step("0.2", Operation(WRITE, "0:total", write), both)
    step("0.2", Operation(END, "0.2"), both)
    step("0.1", Operation(WRITE, "0:total", write), ("0.1",))
    step("0.1", Operation(END, "0.1"), ("0.1",))
    for task in both:
        step("0", Operation(JOIN, task, Site(name, 8, "test")), main)
    trace.outcome = Outcome(
        OutcomeKind.ASSERTION,
        "AssertionError: assert 1 == 2",
        task="0",
        exception="AssertionError",
        stack=(Frame(Site(name, 9, "test")),),
    )
    trace.plan = Plan(tuple(trace.choices))
    essential = (len(trace) - 7,)
    assert set(essential) <= set(trace.preemptions())
    return Failure(trace.outcome, trace, trace.plan, "random", 3, 9, essential, confirmed=3)


def hostile_failure(path: Path) -> Failure:
    """A failure in which all that a program can name is markup.

    Parameters:
        path: of a file, into which a program with such text is written.
    """
    path.write_text(f"def work():\n    x = {HOSTILE!r}  # {HOSTILE}\n    y = x\n", encoding="utf-8")
    name = str(path)
    site = Site(name, 2, HOSTILE)
    trace = Trace()
    trace.task_infos["0"] = TaskInfo("0", HOSTILE, HOSTILE)
    trace.task_infos["0.1"] = TaskInfo("0.1", HOSTILE, HOSTILE)
    trace.resources["0:x"] = Resource("0:x", "variable", HOSTILE, None)
    for task, kind in (("0", WRITE), ("0.1", READ), ("0", WRITE)):
        trace.tasks.append(task)
        trace.choices.append(task)
        trace.operations.append(Operation(kind, "0:x", site))
        trace.enabled.append(("0", "0.1"))
        trace.timed.append(())
        trace.yielded.append(False)
    trace.outcome = Outcome(
        OutcomeKind.EXCEPTION,
        HOSTILE,
        task="0",
        exception="Error",
        stack=(Frame(site, HOSTILE),),
        traceback=f"Traceback (most recent call last):\nError: {HOSTILE}\n",
    )
    trace.plan = Plan(tuple(trace.choices))
    failure = Failure(trace.outcome, trace, trace.plan, HOSTILE, 1, 1, (1,), confirmed=1)
    return replace(failure, reproduction=Path(f"{HOSTILE}.json".replace("/", "-")))
