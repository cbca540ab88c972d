"""Hand-made failures for the tests of the reports."""

from __future__ import annotations

from pathlib import Path

import bohrbug.exploration.result
from bohrbug.exploration.result import Failure, Interpreter
from bohrbug.model.operation import (
    ACQUIRE,
    BEGIN,
    END,
    GET,
    JOIN,
    NOTIFY,
    PUT,
    READ,
    RELEASE,
    SPAWN,
    TRY_ACQUIRE,
    WAIT,
    WAKE,
    WRITE,
    Kind,
    Operation,
    Resource,
    Site,
)
from bohrbug.model.outcome import (
    Access,
    BlockedTask,
    Frame,
    Held,
    Outcome,
    OutcomeKind,
    Race,
    TaskInfo,
)
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace

GOLD = Path(__file__).parent / "gold"


class Writer:
    """Writes a trace step by step; a task is enabled from its start to its end unless blocked.

    Parameters:
        file: the program, in the folder ``gold``.
        function: the test.
    """

    def __init__(self, file: str, function: str) -> None:
        self.path = GOLD / file
        self.lines = self.path.read_text().splitlines()
        self.function = function
        self.trace = Trace()
        self.trace.task_infos["0"] = TaskInfo("0", "MainThread", function)
        self.enabled = ["0"]
        self.blocked: dict[str, Operation] = {}
        self.timed: set[str] = set()

    def site(self, source: str, function: str = "", number: int = 0) -> Site:
        """The place of the source line with this text, the ``number``-th one (from 0)."""
        found = [n for n, line in enumerate(self.lines, 1) if line.strip() == source]
        return Site(str(self.path), found[number], function or self.function)

    def resource(self, id: str, type: str, source: str = "", function: str = "") -> str:
        """Describe a resource made at a source line, or a variable."""
        if source:
            created = self.site(source, function)
            label = f"{type} {self.path.name}:{created.line}"
            self.trace.resources[id] = Resource(id, type, label, created)
        else:
            self.trace.resources[id] = Resource(id, "variable", type)
        return id

    def step(
        self, task: str, kind: Kind, resource: str, place: Site | None, *, yielded: bool = False
    ) -> int:
        """One step of ``task``."""
        trace = self.trace
        trace.tasks.append(task)
        trace.choices.append(task)
        trace.operations.append(Operation(kind, resource, place))
        enabled = [t for t in self.enabled if t not in self.blocked]
        if task in self.blocked and task not in self.timed:
            raise ValueError(f"task {task} is blocked")
        trace.enabled.append(tuple(enabled))
        trace.timed.append(tuple(sorted(self.timed)))
        trace.yielded.append(yielded)
        self.timed.discard(task)
        self.blocked.pop(task, None)
        if kind is SPAWN:
            self.enabled.append(resource)
        if kind is END:
            self.enabled.remove(task)
        return len(trace.tasks) - 1

    def start(self, child: str, name: str, target: str, place: Site) -> None:
        """The parent of ``child`` starts it."""
        parent = child.rpartition(".")[0]
        self.trace.task_infos[child] = TaskInfo(child, name, target, False, place)
        self.step(parent, SPAWN, child, place)

    def begin(self, task: str) -> int:
        """The first step of a task."""
        return self.step(task, BEGIN, task, self.trace.task_infos[task].spawned)

    def end(self, task: str) -> int:
        """The last step of a task; wakes the tasks that join it."""
        index = self.step(task, END, task, self.trace.task_infos[task].spawned)
        for other, operation in list(self.blocked.items()):
            if operation.kind is JOIN and operation.resource == task:
                del self.blocked[other]
        return index

    def block(
        self, task: str, kind: Kind, resource: str, place: Site, *, timeout: bool = False
    ) -> None:
        """From now on ``task`` waits to do this operation."""
        self.blocked[task] = Operation(kind, resource, place)
        if timeout:
            self.timed.add(task)

    def failure(
        self,
        outcome: Outcome,
        *,
        strategy: str = "ipb",
        execution: int = 7,
        found: int = 3,
        interpreter: Interpreter = Interpreter.UNKNOWN,
        early: tuple[int, ...] = (),
    ) -> Failure:
        """A confirmed failure with this outcome; all its preemptions are essential."""
        trace = self.trace
        trace.outcome = outcome
        trace.final_pending.update(self.blocked)
        trace.plan = Plan(tuple(trace.choices))
        return Failure(
            outcome,
            trace,
            trace.plan,
            strategy,
            execution,
            found,
            essential=tuple(trace.preemptions()),
            confirmed=3,
            interpreter=interpreter,
            early_timeouts=early,
        )


def lost_update() -> Failure:
    """Two deposits, one of which is lost."""
    w = Writer("bank.py", "test_deposit")
    balance = w.resource("0:0.balance", "Account.balance")
    read = w.site("t = self.balance", "Account.deposit")
    write = w.site("self.balance = t + 1", "Account.deposit")
    w.start("0.1", "Thread-1 (deposit)", "Account.deposit", w.site("first.start()"))
    w.start("0.2", "Thread-2 (deposit)", "Account.deposit", w.site("second.start()"))
    join = w.site("first.join()")
    w.block("0", JOIN, "0.1", join)
    w.begin("0.1")
    w.step("0.1", READ, balance, read)
    w.begin("0.2")
    w.step("0.2", READ, balance, read)
    w.step("0.2", WRITE, balance, write)
    w.end("0.2")
    w.step("0.1", WRITE, balance, write)
    w.end("0.1")
    w.step("0", JOIN, "0.1", join)
    w.step("0", JOIN, "0.2", w.site("second.join()"))
    check = w.site("assert account.balance == 2")
    w.step("0", READ, balance, check)
    outcome = Outcome(
        OutcomeKind.ASSERTION,
        "AssertionError: assert 1 == 2",
        task="0",
        exception="AssertionError",
        stack=(Frame(check),),
        traceback=(
            "Traceback (most recent call last):\n"
            f'  File "{check.filename}", line {check.line}, in test_deposit\n'
            "    assert account.balance == 2\n"
            "           ^^^^^^^^^^^^^^^^^^^^\n"
            "AssertionError: assert 1 == 2\n"
        ),
    )
    return w.failure(outcome, interpreter=Interpreter.FREE_THREADED)


def lock_cycle() -> Failure:
    """Two transfers in opposite directions, each of which holds what the other wants."""
    w = Writer("bank.py", "test_transfer")
    left = w.resource("0:0", "Lock", "self.lock = threading.Lock()", "Account.__init__")
    right = w.resource("0:1", "Lock", "self.lock = threading.Lock()", "Account.__init__")
    outer = w.site("with source.lock:", "transfer")
    inner = w.site("with target.lock:", "transfer")
    w.start("0.1", "Thread-1 (transfer)", "transfer", w.site("first.start()", number=1))
    w.start("0.2", "Thread-2 (transfer)", "transfer", w.site("second.start()", number=1))
    join = w.site("first.join()", number=1)
    w.block("0", JOIN, "0.1", join)
    w.begin("0.1")
    w.step("0.1", ACQUIRE, left, outer)
    w.begin("0.2")
    w.step("0.2", ACQUIRE, right, outer)
    w.block("0.1", ACQUIRE, right, inner)
    w.block("0.2", ACQUIRE, left, inner)
    outcome = Outcome(
        OutcomeKind.DEADLOCK,
        "2 tasks wait for each other",
        blocked=(
            BlockedTask("0", w.blocked["0"], ("0.1",), (), (Frame(join),)),
            BlockedTask(
                "0.1", w.blocked["0.1"], ("0.2",), (Held(left, outer),), (Frame(inner),), False, 5
            ),
            BlockedTask(
                "0.2", w.blocked["0.2"], ("0.1",), (Held(right, outer),), (Frame(inner),), False, 6
            ),
        ),
        cycle=("0.1", "0.2"),
    )
    return w.failure(outcome, interpreter=Interpreter.GIL)


def lost_notify() -> Failure:
    """A notify before the wait: nobody is left to wake the consumer."""
    w = Writer("waiting.py", "test_lost_notify")
    ready = w.resource("0:0", "Condition", "ready = threading.Condition()")
    lock = w.resource("0:1", "RLock", "ready = threading.Condition()")
    w.start("0.1", "Thread-1 (consumer)", "consumer", w.site("first.start()"))
    w.start("0.2", "Thread-2 (producer)", "producer", w.site("second.start()"))
    join = w.site("first.join()")
    w.block("0", JOIN, "0.1", join)
    enter = w.site("with ready:", "producer")
    w.begin("0.2")
    w.step("0.2", ACQUIRE, lock, enter)
    w.step("0.2", NOTIFY, ready, w.site("ready.notify()", "producer"))
    w.step("0.2", RELEASE, lock, enter)
    w.end("0.2")
    w.begin("0.1")
    w.step("0.1", ACQUIRE, lock, w.site("with ready:", "consumer", 1))
    wait = w.site("ready.wait()", "consumer")
    w.step("0.1", WAIT, ready, wait)
    w.block("0.1", WAKE, ready, wait)
    outcome = Outcome(
        OutcomeKind.DEADLOCK,
        "2 tasks wait and nobody is left to wake them",
        blocked=(
            BlockedTask("0", w.blocked["0"], ("0.1",), (), (Frame(join),)),
            BlockedTask("0.1", w.blocked["0.1"], (), (), (Frame(wait),), False, 9),
        ),
    )
    return w.failure(outcome, found=0, interpreter=Interpreter.GIL)


def livelock(rounds: int = 200) -> Failure:
    """Two threads that are so polite that neither gets both locks."""
    w = Writer("waiting.py", "test_polite")
    left = w.resource("0:0", "Lock", "left = threading.Lock()")
    right = w.resource("0:1", "Lock", "right = threading.Lock()")
    mine = w.site("with mine:", "insist")
    other = w.site("if other.acquire(blocking=False):", "insist")
    w.start("0.1", "Thread-1 (insist)", "insist", w.site("first.start()", number=1))
    w.start("0.2", "Thread-2 (insist)", "insist", w.site("second.start()", number=1))
    w.block("0", JOIN, "exit", Site(bohrbug.exploration.result.__file__, 1, "_finish"))
    w.begin("0.1")
    w.begin("0.2")
    start = 0
    for number in range(rounds):
        start = len(w.trace)
        for task, lock in (("0.1", left), ("0.2", right)):
            w.step(task, ACQUIRE, lock, mine, yielded=number > 0)
        for task, lock in (("0.1", right), ("0.2", left)):
            w.step(task, TRY_ACQUIRE, lock, other, yielded=True)
        for task, lock in (("0.1", left), ("0.2", right)):
            w.step(task, RELEASE, lock, mine, yielded=True)
    outcome = Outcome(
        OutcomeKind.LIVELOCK,
        f"not finished after {len(w.trace):,} steps: task 0.1, 0.2 repeats the same steps",
        repeating=tuple(range(start, len(w.trace))),
    )
    return w.failure(outcome, strategy="random", found=0)


def early_timeout() -> Failure:
    """A get whose timeout fires although the worker could still put."""
    w = Writer("waiting.py", "test_timeout")
    jobs = w.resource("0:0", "Queue", "jobs = queue.Queue()")
    w.start("0.1", "Thread-1 (put)", "Queue.put", w.site("worker.start()"))
    get = w.site("job = jobs.get(timeout=0.5)")
    w.block("0", GET, jobs, get, timeout=True)
    index = w.step("0", GET, jobs, get)
    outcome = Outcome(
        OutcomeKind.EXCEPTION,
        "Empty",
        task="0",
        exception="Empty",
        stack=(Frame(get),),
    )
    w.trace.final_pending["0.1"] = Operation(PUT, jobs, None)
    return w.failure(outcome, found=1, early=(index,), interpreter=Interpreter.GIL)


def many_tasks(count: int = 50) -> Failure:
    """Many deposits, one of which is lost."""
    w = Writer("bank.py", "test_many")
    balance = w.resource("0:0.balance", "Account.balance")
    read = w.site("t = self.balance", "Account.deposit")
    write = w.site("self.balance = t + 1", "Account.deposit")
    start = w.site("thread.start()")
    for number in range(1, count + 1):
        w.start(f"0.{number}", f"Thread-{number} (deposit)", "Account.deposit", start)
    join = w.site("thread.join()")
    w.block("0", JOIN, "0.1", join)
    late = f"0.{count // 2}"
    last = f"0.{count}"
    for number in range(1, count + 1):
        task = f"0.{number}"
        w.begin(task)
        w.step(task, READ, balance, read)
        if task == late:
            w.begin(last)
            w.step(last, READ, balance, read)
            w.step(last, WRITE, balance, write)
            w.end(last)
        if number == count - 1:
            w.step(task, WRITE, balance, write)
            w.end(task)
            break
        w.step(task, WRITE, balance, write)
        w.end(task)
    for number in range(1, count + 1):
        w.step("0", JOIN, f"0.{number}", join)
    check = w.site("assert account.balance == 50")
    w.step("0", READ, balance, check)
    outcome = Outcome(
        OutcomeKind.ASSERTION,
        f"AssertionError: assert {count - 1} == {count}",
        task="0",
        exception="AssertionError",
        stack=(Frame(check),),
    )
    return w.failure(outcome, strategy="pct", execution=1234)


def balance_race() -> Race:
    """The race behind the lost update."""
    w = Writer("bank.py", "test_deposit")
    read = w.site("t = self.balance", "Account.deposit")
    write = w.site("self.balance = t + 1", "Account.deposit")
    lock = Held("Lock audit", read)
    return Race(
        "0:0.balance",
        "Account.balance",
        Access("0.1", Operation(WRITE, "0:0.balance", write), (Frame(write),), (lock,)),
        Access("0.2", Operation(READ, "0:0.balance", read), (Frame(read),)),
        count=17,
    )


SAMPLES = {
    "lost_update": lost_update,
    "lock_cycle": lock_cycle,
    "lost_notify": lost_notify,
    "livelock": livelock,
    "early_timeout": early_timeout,
    "many_tasks": many_tasks,
}
