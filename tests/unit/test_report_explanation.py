"""The sentence that says which preemptions matter."""

from __future__ import annotations

import pytest

from bohrbug.model.operation import (
    ACQUIRE,
    BEGIN,
    CHOOSE,
    END,
    JOIN,
    READ,
    RELEASE,
    SLEEP,
    SPAWN,
    WRITE,
    Operation,
    Resource,
    Site,
)
from bohrbug.model.outcome import Outcome, OutcomeKind, TaskInfo
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.report.explanation import ends_waits_early, explain
from bohrbug.report.naming import Names
from bohrbug.report.stories import Story, TaskSteps, tell
from tests.simulated import Instruction, Program, execute, tasks, writes
from tests.unit.report_samples import (
    Writer,
    early_timeout,
    livelock,
    lock_cycle,
    lost_notify,
    lost_update,
)


def sentence(trace: Trace, essential: tuple[int, ...] | None = None) -> str:
    steps = tuple(trace.preemptions()) if essential is None else essential
    return explain(trace, steps, Names(trace))


def test_lost_update() -> None:
    assert sentence(lost_update().trace) == (
        "It fails when task 0.1 (Thread-1, Account.deposit) is preempted at bank.py:13, between "
        "its read of Account.balance (bank.py:12) and its write (bank.py:13), and task 0.2 "
        "(Thread-2, Account.deposit) writes Account.balance (bank.py:13) in between."
    )


def test_lock_cycle() -> None:
    assert sentence(lock_cycle().trace) == (
        "It deadlocks when task 0.1 (Thread-1, transfer) is preempted at bank.py:18, after its "
        "acquire of Lock Account.lock #1 (bank.py:17) and before its acquire of Lock Account.lock "
        "#2 (bank.py:18), and task 0.2 (Thread-2, transfer) acquires Lock Account.lock #2 "
        "(bank.py:17) first."
    )


def test_early_timeout() -> None:
    assert sentence(early_timeout().trace) == (
        "It fails when the 0.5 s timeout of the get from Queue jobs (waiting.py:46) in task 0 "
        "(MainThread, test_timeout) fires although task 0.1 (Thread-1, Queue.put) could still run."
    )


def test_no_preemption_names_the_choice_that_matters() -> None:
    text = sentence(lost_notify().trace)
    assert text.startswith("It deadlocks without any preemption, when the tasks run in this order:")
    assert text.endswith("what matters is that task 0.2 goes on before task 0.1.")


def test_usual_choices_are_not_said_to_matter() -> None:
    trace = lost_update().trace
    assert "what matters" not in sentence(trace, ())


def test_nobody_waits_for_a_variable() -> None:
    """A task whose run was so long that it was the others' turn stands before an access."""
    w = Writer("bank.py", "test_deposit")
    balance = w.resource("0:0.balance", "Account.balance")
    for task in ("0.1", "0.2"):
        w.start(task, "Thread", "Account.deposit", w.site("first.start()"))
        w.step(task, BEGIN, task, None)
        w.step(task, READ, balance, w.site("t = self.balance"))
    w.step("0.1", WRITE, balance, w.site("self.balance = t + 1"))
    text = sentence(w.trace, ())
    assert "until it is interrupted, before it writes Account.balance (bank.py:13)" in text
    assert "waits for Account.balance" not in text


def test_several_preemptions_are_told_in_order() -> None:
    text = sentence(livelock().trace)
    first, second, third = (text.index(f"task {task} ") for task in ("0.1", "0.2", "0.1"))
    assert first == third < second
    assert text.count("; and then ") == 2


@pytest.fixture
def order_violation() -> Writer:
    """The reader is preempted before it reads what another task then writes."""
    w = Writer("bank.py", "test_deposit")
    balance = w.resource("0:0.balance", "Account.balance")
    w.start("0.1", "reader", "", w.site("first.start()"))
    w.step("0.1", BEGIN, "0.1", None)
    w.step("0", WRITE, balance, w.site("account = Account()"))
    w.step("0.1", READ, balance, w.site("t = self.balance"))
    return w


def test_order_violation(order_violation: Writer) -> None:
    trace = order_violation.trace
    text = sentence(trace, (2,))
    assert (
        "task 0.1 (reader) is preempted at bank.py:12, before its read of Account.balance" in text
    )
    assert text.endswith(
        "task 0 (MainThread, test_deposit) writes Account.balance (bank.py:24) first."
    )


def test_data_beats_locks() -> None:
    """Where both a lock and a variable conflict, the variable is what the reader must see."""
    w = Writer("bank.py", "test_deposit")
    balance = w.resource("0:0.balance", "Account.balance")
    lock = w.resource("0:1", "Lock", "self.lock = threading.Lock()", "Account.__init__")
    w.start("0.1", "one", "", w.site("first.start()"))
    w.start("0.2", "two", "", w.site("second.start()"))
    w.block("0", JOIN, "0.1", w.site("first.join()"))
    for task in ("0.1", "0.2", "0.1"):
        w.step(task, ACQUIRE, lock, w.site("with source.lock:"))
        w.step(task, READ if task == "0.1" else WRITE, balance, w.site("t = self.balance"))
        w.step(task, RELEASE, lock, w.site("with source.lock:"))
    story = tell(w.trace, w.trace.preemptions()[0], TaskSteps(w.trace))
    assert story.between is not None
    assert w.trace.operations[story.between].resource == balance
    assert story.same


def told(program: Program, *choices: str) -> Story:
    """The story of the first preemption."""
    trace, _ = execute(program, Plan(choices))
    assert trace.divergence is None
    return tell(trace, trace.preemptions()[0], TaskSteps(trace))


READS_X = Instruction("read", "x")


def test_of_several_writes_the_last_one_counts_for_who_goes_on_with_the_variable() -> None:
    program = tasks([READS_X, *writes(1)], writes(2))
    story = told(program, "0", "0.1", "0.1", "0")
    assert (story.before, story.between, story.after, story.same) == (0, 2, 3, True)


def test_of_several_writes_the_first_one_counts_for_who_does_not() -> None:
    program = tasks([READS_X, *writes(1, "y")], writes(2))
    story = told(program, "0", "0.1", "0.1", "0")
    assert (story.before, story.between, story.after, story.same) == (0, 1, None, False)


def test_that_tasks_begin_and_end_explains_nothing() -> None:
    root = [Instruction("spawn", "0.1"), *writes(1, "y"), Instruction("join", "0.1")]
    made = tasks(root, [Instruction("begin"), Instruction("end")])
    program = Program(made.tasks, spawned=frozenset({"0.1"}))
    assert told(program, "0", "0.1", "0.1", "0", "0").between is None


def test_no_conflict_is_not_invented() -> None:
    w = Writer("bank.py", "test_deposit")
    balance = w.resource("0:0.balance", "Account.balance")
    w.start("0.1", "one", "", w.site("first.start()"))
    w.step("0.1", READ, balance, w.site("t = self.balance"))
    w.step("0", READ, balance, w.site("account = Account()"))
    w.step("0.1", READ, balance, w.site("t = self.balance"))
    text = sentence(w.trace, (2,))
    assert text.endswith("and task 0 (MainThread, test_deposit) runs instead.")


def test_data_choices_are_named() -> None:
    place = Site("x.py", 3, "f")
    trace = Trace(
        choices=["0", 2],
        tasks=["0", "0"],
        operations=[Operation(READ, "0:0.x", place), Operation(CHOOSE, "0", place)],
        enabled=[("0",), ("0",)],
        timed=[(), ()],
        yielded=[False, False],
        arities={1: 3},
        task_infos={"0": TaskInfo("0", "MainThread", "test")},
        outcome=Outcome(OutcomeKind.ASSERTION, "AssertionError"),
    )
    assert "with the data choice 2 (x.py:3)" in sentence(trace)


def test_early_end_of_a_sleep() -> None:
    w = Writer("bank.py", "test_deposit")
    start = w.site("first.start()")
    w.start("0.1", "one", "", start)
    w.block("0", SLEEP, "clock", start, timeout=True)
    index = w.step("0", SLEEP, "clock", start)
    text = sentence(w.trace, (index,))
    assert "sleep of task 0 (MainThread, test_deposit) at bank.py:27 ends although task 0.1" in text


def test_shorter_wait_after_a_longer_one_is_named() -> None:
    w = Writer("bank.py", "test_deposit")
    place = w.site("first.start()")
    w.trace.task_infos["0.1"] = TaskInfo("0.1", "one")
    w.step("0", SPAWN, "0.1", place)
    w.block("0", SLEEP, "clock", place, timeout=True)
    w.step("0.1", BEGIN, "0.1", None)
    w.block("0.1", SLEEP, "clock", place, timeout=True)
    w.step("0", SLEEP, "clock", place)
    w.trace.final_pending["0.1"] = w.blocked["0.1"]
    assert (
        "the sleep of task 0 at bank.py:27 ends before the sleep of task 0.1 at bank.py:27 ends"
        in sentence(w.trace)
    )


def test_sleep_that_ends_while_another_task_could_run_ends_early() -> None:
    w = Writer("bank.py", "test_deposit")
    start = w.site("first.start()")
    w.start("0.1", "one", "", start)
    w.block("0", SLEEP, "clock", start, timeout=True)
    index = w.step("0", SLEEP, "clock", start)
    assert ends_waits_early(w.trace, (index,))
    assert not ends_waits_early(w.trace, ())


@pytest.mark.parametrize("others", [0, 1])
def test_sleep_may_end_early_if_there_are_others(others: int) -> None:
    w = Writer("bank.py", "test_deposit")
    place = w.site("first.start()")
    w.step("0", SPAWN, "0.1", place)
    w.step("0.1", BEGIN, "0.1", place)
    w.block("0", SLEEP, "clock", place, timeout=True)
    w.block("0.1", JOIN, "0", place, timeout=others == 1)
    w.step("0", SLEEP, "clock", place)
    assert ends_waits_early(w.trace, ()) == (others == 1)


def test_single_task() -> None:
    trace = Trace(
        choices=["0"],
        tasks=["0"],
        operations=[Operation(END, "0", None)],
        enabled=[("0",)],
        timed=[()],
        yielded=[False],
        task_infos={"0": TaskInfo("0", "MainThread", "test")},
        outcome=Outcome(OutcomeKind.EXCEPTION, "ValueError"),
        resources={"0": Resource("0", "Thread", "thread 0")},
    )
    assert sentence(trace) == "It fails with a single task, so that no schedule can avoid it."
