"""A tiny runtime for made-up programs: executes a plan, gives a trace; pure Python.

A program is a list of instructions per task.  Its state is one immutable
value, so that the same rules serve the executor of plans and a brute-force
search over all states, which the strategies are judged by.  Searches come to
the same states again and again: what follows from one is worked out once.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from bohrbug.model.operation import (
    ACQUIRE,
    BEGIN,
    CHOOSE,
    CLEAR,
    END,
    JOIN,
    NOTIFY,
    READ,
    RELEASE,
    SET,
    SPAWN,
    TRY_ACQUIRE,
    WAIT,
    WAKE,
    WRITE,
    YIELD,
    Kind,
    Operation,
    Resource,
    TaskId,
)
from bohrbug.model.outcome import PASSED, Divergence, Outcome, OutcomeKind
from bohrbug.model.plan import Choice, Plan
from bohrbug.model.trace import Gate, Trace
from tests.deciding import decider_of


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Parameters:
        name: one of ``_KINDS`` or ``choose``.
        what: the lock, semaphore, condition, variable or task it acts on.
        value: what ``write`` adds to the register, the arity of ``choose``, or what
            ``check`` must not read.
        timeout: seconds after which a blocking instruction gives up, or ``None``.
    """

    name: str
    what: str = ""
    value: int = 0
    timeout: float | None = None


_KINDS: dict[str, Kind] = {
    "read": READ,
    "check": READ,
    "set": SET,
    "clear": CLEAR,
    "await": WAIT,
    "write": WRITE,
    "acquire": ACQUIRE,
    "try": TRY_ACQUIRE,
    "release": RELEASE,
    "down": ACQUIRE,
    "up": RELEASE,
    "wait": WAIT,
    "wake": WAKE,
    "notify": NOTIFY,
    "yield": YIELD,
    "spawn": SPAWN,
    "begin": BEGIN,
    "end": END,
    "join": JOIN,
}

_TYPES = {
    "acquire": "Lock",
    "try": "Lock",
    "release": "Lock",
    "down": "Semaphore",
    "up": "Semaphore",
    "wait": "Condition",
    "wake": "Condition",
    "notify": "Condition",
    "set": "Event",
    "clear": "Event",
    "await": "Event",
    "spawn": "Thread",
    "begin": "Thread",
    "end": "Thread",
    "join": "Thread",
}


@dataclass(frozen=True)
class Program:
    """Instructions per task in order of creation.

    Parameters:
        tasks: the tasks with their instructions; the first is the root.
        semaphores: initial counts.
        spawned: the tasks that do not exist before another spawns them.
        unheeded: yields of a task in a row that hold it back by nothing; the next one does.
    """

    tasks: tuple[tuple[TaskId, tuple[Instruction, ...]], ...]
    semaphores: tuple[tuple[str, int], ...] = ()
    spawned: frozenset[TaskId] = frozenset()
    unheeded: int = 0

    @cached_property
    def machine(self) -> Machine:
        """Its rules."""
        _WITH_MACHINES.append(weakref.ref(self))
        return Machine(self)


_WITH_MACHINES: list[weakref.ref[Program]] = []


def forget_machines() -> None:
    """Let go of all states of programs: whoever looks at all objects looks at them, too."""
    for reference in _WITH_MACHINES:
        program = reference()
        if program is not None:
            del vars(program)["machine"]
    _WITH_MACHINES.clear()


def tasks(*code: list[Instruction]) -> Program:
    """The program with these tasks, the root first."""
    return Program(tuple(("0" if n == 0 else f"0.{n}", tuple(each)) for n, each in enumerate(code)))


def writes(number: int, variable: str = "x") -> list[Instruction]:
    """A task that writes a variable so many times."""
    return [Instruction("write", variable, 1)] * number


@dataclass(frozen=True)
class Turn:
    """What fairness knows of a task.

    Parameters:
        below: the tasks that go before it.
        ran: those that have run since its last yield.
        unheeded: its yields in a row that held it back by nothing.
    """

    below: frozenset[int] = frozenset()
    ran: frozenset[int] = frozenset()
    unheeded: int = 0


@dataclass(frozen=True)
class State:
    """All that a program can depend on.

    Parameters:
        counters: the next instruction of each task; -1 if it does not exist yet.
        registers: the register of each task.
        variables: the values that are not 0.
        owners: ``(lock, task)`` of the locks that are held.
        semaphores: counts.
        waiting: ``(condition, task)`` in the order of their waiting.
        notified: tasks that were notified and did not wake yet.
        flags: events that are set.
        failed: a check has failed, and with it the execution.
        turns: for each task what fairness knows of it; nothing where no task ever yields.
    """

    counters: tuple[int, ...]
    registers: tuple[int, ...]
    variables: frozenset[tuple[str, int]] = frozenset()
    owners: frozenset[tuple[str, int]] = frozenset()
    semaphores: frozenset[tuple[str, int]] = frozenset()
    waiting: tuple[tuple[str, int], ...] = ()
    notified: frozenset[int] = frozenset()
    flags: frozenset[str] = frozenset()
    failed: bool = False
    turns: tuple[Turn, ...] = ()
    known: Known = field(default_factory=lambda: Known(), init=False, compare=False, repr=False)

    def __hash__(self) -> int:
        if self.known.hash is None:
            names = (self.counters, self.registers, self.variables, self.owners, self.semaphores)
            self.known.hash = hash(
                (*names, self.waiting, self.notified, self.flags, self.failed, self.turns)
            )
        return self.known.hash


@dataclass(slots=True)
class Known:
    """What was worked out of a state.

    Parameters:
        hash: its own.
        options: by the task that made the last step.
        steps: what follows, by the task and whether its timeout fired.
        choices: what follows a data choice, by the task and the value.
        pending: the operations of tasks.
    """

    hash: int | None = None
    options: dict[int | None, Options] = field(default_factory=dict)
    steps: dict[tuple[int, bool], tuple[State, list[tuple[str, bool]]]] = field(
        default_factory=dict
    )
    choices: dict[tuple[int, int], State] = field(default_factory=dict)
    pending: dict[int, Operation] = field(default_factory=dict)


Options = tuple[tuple[int, ...], tuple[int, ...], bool]
"""Tasks that are enabled, tasks whose timeout can fire, whether the last step was a yield."""

Final = tuple[str, frozenset[tuple[str, int]], tuple[int, ...]]
"""``done``, ``failed`` or ``deadlock``, the variables, the registers."""


class Machine:
    """The rules of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.ids = [task for task, _ in program.tasks]
        self.code = [code for _, code in program.tasks]
        self.number = {task: number for number, task in enumerate(self.ids)}
        self.resources = _resources(self)
        yields = any(step.name == "yield" for code in self.code for step in code)
        self._start = State(
            tuple(-1 if task in program.spawned else 0 for task in self.ids),
            (0,) * len(self.ids),
            semaphores=frozenset(program.semaphores),
            turns=(Turn(),) * len(self.ids) if yields else (),
        )
        self._ids_of: dict[tuple[int, ...], tuple[TaskId, ...]] = {}
        # Equal states are one object, so that what is known of it is not worked out again.
        self._states = {self._start: self._start}

    def start(self) -> State:
        """The state before the first step."""
        return self._start

    def ids_of(self, tasks: tuple[int, ...]) -> tuple[TaskId, ...]:
        """The ids of tasks."""
        if tasks not in self._ids_of:
            self._ids_of[tasks] = tuple(self.ids[task] for task in tasks)
        return self._ids_of[tasks]

    def instruction(self, state: State, task: int) -> Instruction | None:
        """What a task is about to do; ``None`` if it ended or does not exist."""
        counter = state.counters[task]
        return self.code[task][counter] if 0 <= counter < len(self.code[task]) else None

    def pending(self, state: State, task: int) -> Operation:
        """The operation of the task's next instruction."""
        if task not in state.known.pending:
            state.known.pending[task] = self._pending(state, task)
        return state.known.pending[task]

    def _pending(self, state: State, task: int) -> Operation:
        instruction = self.instruction(state, task)
        assert instruction is not None
        resource = {"begin": self.ids[task], "end": self.ids[task]}.get(
            instruction.name, instruction.what or self.ids[task]
        )
        return Operation(_KINDS[instruction.name], f"0:{resource}")

    def can_run(self, state: State, task: int) -> bool:
        """Whether the task's next instruction would not block."""
        instruction = self.instruction(state, task)
        if instruction is None or state.failed:
            return False
        match instruction.name:
            case "acquire":
                return all(lock != instruction.what for lock, _ in state.owners)
            case "down":
                return dict(state.semaphores)[instruction.what] > 0
            case "wake":
                return task in state.notified
            case "await":
                return instruction.what in state.flags
            case "join":
                other = self.number[instruction.what]
                return state.counters[other] == len(self.code[other])
        return True

    def choosing(self, state: State, task: int | None) -> int:
        """The arity of the data choice that comes next, 0 if a task is chosen next."""
        if task is None or state.failed:
            return 0
        instruction = self.instruction(state, task)
        if instruction is not None and instruction.name == "choose":
            return instruction.value
        return 0

    def options(self, state: State, previous: int | None) -> Options:
        """``(enabled, timed, yielded)``; who yields lets those go first that it kept waiting."""
        if previous not in state.known.options:
            state.known.options[previous] = self._options(state, previous)
        return state.known.options[previous]

    def _options(self, state: State, previous: int | None) -> Options:
        enabled = self._enabled(state)
        timed = tuple(
            task
            for task in range(len(self.ids))
            if task not in enabled
            and not state.failed
            and (instruction := self.instruction(state, task)) is not None
            and instruction.timeout is not None
        )
        yielded = False
        if previous is not None:
            instruction = self.instruction(state, previous)
            yielded = instruction is not None and instruction.name == "yield"
        if state.turns:
            free = tuple(t for t in enabled if state.turns[t].below.isdisjoint(enabled))
            enabled = free or enabled
        return enabled, timed, yielded

    def _enabled(self, state: State) -> tuple[int, ...]:
        return tuple(task for task in range(len(self.ids)) if self.can_run(state, task))

    def _had_its_turn(self, state: State, task: int) -> State:
        """A task has made a step, and may have come to a yield: what fairness makes of it."""
        if not state.turns:
            return state
        turns = [
            replace(turn, below=turn.below - {task}, ran=turn.ran | {task}) for turn in state.turns
        ]
        instruction = self.instruction(state, task)
        if instruction is not None and instruction.name == "yield":
            turn = turns[task]
            unheeded = (turn.unheeded + 1) % (self.program.unheeded + 1)
            waiting = set(self._enabled(state)) - turn.ran - {task}
            below = turn.below if unheeded else turn.below | waiting
            turns[task] = Turn(below, frozenset(), unheeded)
        return replace(state, turns=tuple(turns))

    def step(self, state: State, task: int, fired: bool) -> tuple[State, list[tuple[str, bool]]]:
        """The state after a task's next instruction, and its effects on other resources."""
        if (task, fired) not in state.known.steps:
            after, effects = self._step(state, task, fired)
            after = self._had_its_turn(after, task)
            state.known.steps[task, fired] = self._states.setdefault(after, after), effects
        return state.known.steps[task, fired]

    def _step(self, state: State, task: int, fired: bool) -> tuple[State, list[tuple[str, bool]]]:
        instruction = self.instruction(state, task)
        assert instruction is not None
        what = instruction.what
        effects: list[tuple[str, bool]] = []
        register = state.registers[task]
        changes: dict[str, Any] = {}
        counters = list(state.counters)
        counters[task] += 1
        if fired:
            register = 100
            if instruction.name == "wake":
                changes["waiting"] = tuple(w for w in state.waiting if w[1] != task)
        else:
            match instruction.name:
                case "read":
                    register = dict(state.variables).get(what, 0)
                case "check":
                    register = dict(state.variables).get(what, 0)
                    changes["failed"] = register == instruction.value
                case "set":
                    changes["flags"] = state.flags | {what}
                case "clear":
                    changes["flags"] = state.flags - {what}
                case "write":
                    others = {name: v for name, v in state.variables if name != what}
                    changes["variables"] = frozenset(
                        (others | {what: register + instruction.value}).items()
                    )
                case "acquire":
                    changes["owners"] = state.owners | {(what, task)}
                case "try":
                    free = all(lock != what for lock, _ in state.owners)
                    register = int(free)
                    if free:
                        changes["owners"] = state.owners | {(what, task)}
                case "release":
                    # As of threading.Lock: whoever holds it, such as after a timed acquire in vain.
                    changes["owners"] = frozenset(
                        (lock, owner) for lock, owner in state.owners if lock != what
                    )
                case "down" | "up":
                    counts = dict(state.semaphores)
                    counts[what] += 1 if instruction.name == "up" else -1
                    changes["semaphores"] = frozenset(counts.items())
                case "wait":
                    changes["waiting"] = (*state.waiting, (what, task))
                    lock = f"lock of {what}"
                    changes["owners"] = state.owners - {(lock, task)}
                    effects.append((f"0:{lock}", True))
                case "notify":
                    for place, (condition, waiter) in enumerate(state.waiting):
                        if condition == what:
                            rest = state.waiting
                            changes["waiting"] = rest[:place] + rest[place + 1 :]
                            changes["notified"] = state.notified | {waiter}
                            break
                case "wake":
                    changes["notified"] = state.notified - {task}
                case "spawn":
                    counters[self.number[what]] = 0
        registers = (*state.registers[:task], register, *state.registers[task + 1 :])
        after = replace(state, counters=tuple(counters), registers=registers, **changes)
        return after, effects

    def choose(self, state: State, task: int, value: int) -> State:
        """The state after a data choice."""
        if (task, value) not in state.known.choices:
            after = self._had_its_turn(self._choose(state, task, value), task)
            state.known.choices[task, value] = self._states.setdefault(after, after)
        return state.known.choices[task, value]

    def _choose(self, state: State, task: int, value: int) -> State:
        counters = list(state.counters)
        counters[task] += 1
        registers = (*state.registers[:task], value, *state.registers[task + 1 :])
        return replace(state, counters=tuple(counters), registers=registers)

    def final(self, state: State) -> Final:
        """What can be seen of a state in which nothing can run."""
        ended = all(
            counter in (-1, len(code))
            for counter, code in zip(state.counters, self.code, strict=True)
        )
        if state.failed:
            return ("failed", state.variables, state.registers)
        return ("done" if ended else "deadlock", state.variables, state.registers)


def execute(program: Program, plan: Plan, step_limit: int = 10_000) -> tuple[Trace, Final]:
    """Execute a plan."""
    machine = program.machine
    ids = machine.ids
    state = machine.start()
    trace = Trace(plan, resources=dict(machine.resources))
    decider = decider_of(plan.policy, machine, trace)
    previous: int | None = None
    prefix: deque[Choice] = deque(plan.prefix)
    while len(trace) < step_limit:
        step = len(trace)
        arity = machine.choosing(state, previous)
        enabled, timed, yielded = ((), (), False) if arity else machine.options(state, previous)
        if not arity and not enabled and not timed:
            break
        choice: Choice | None = prefix.popleft() if prefix else None
        options = range(arity) if arity else machine.ids_of(enabled + timed)
        if choice is not None and choice not in options:
            trace.divergence = Divergence(step, str(choice), ", ".join(map(str, options)))
            prefix.clear()
            choice = None
        if arity:
            assert previous is not None
            value = decider.value(arity) if choice is None else choice
            assert isinstance(value, int)
            operation = Operation(CHOOSE, f"0:{ids[previous]}")
            task = previous
            trace.arities[step] = arity
            trace.choices.append(value)
            state = machine.choose(state, previous, value)
        else:
            if choice is None:
                task = decider.task(previous, enabled, timed, yielded, step, state)
            else:
                task = machine.number[str(choice)]
            operation = machine.pending(state, task)
            trace.choices.append(ids[task])
            instruction = machine.instruction(state, task)
            if instruction is not None and instruction.timeout is not None:
                trace.early_timeouts.append(step)
            if instruction is not None and instruction.name in ("down", "up"):
                can_take = dict(state.semaphores)[instruction.what] > 0
                trace.gates[step] = Gate(can_take, True, instruction.name == "down")
            state, effects = machine.step(state, task, task not in enabled)
            for resource, is_write in effects:
                trace.effects.append((step, ids[task], resource, is_write))
        trace.tasks.append(ids[task])
        trace.operations.append(operation)
        trace.enabled.append(machine.ids_of(enabled))
        trace.timed.append(machine.ids_of(timed))
        trace.yielded.append(yielded)
        previous = task
    final = machine.final(state)
    for number, task in enumerate(ids):
        instruction = machine.instruction(state, number)
        if instruction is not None and instruction.name != "choose":
            trace.final_pending[task] = machine.pending(state, number)
    if len(trace) >= step_limit:
        trace.outcome = Outcome(OutcomeKind.STEP_LIMIT)
    else:
        trace.outcome = _OUTCOMES[final[0]]
    return trace, final


_OUTCOMES = {
    "done": PASSED,
    "failed": Outcome(OutcomeKind.ASSERTION),
    "deadlock": Outcome(OutcomeKind.DEADLOCK),
}


def _resources(machine: Machine) -> dict[str, Resource]:
    """The types of what the instructions of a program act on."""
    resources = {}
    for number, code in enumerate(machine.code):
        for instruction in code:
            kind = _TYPES.get(instruction.name)
            if kind is not None:
                name = f"0:{instruction.what or machine.ids[number]}"
                resources[name] = Resource(name, kind, name)
    return resources


_Node = tuple[State, int | None]


def successors(machine: Machine, node: _Node) -> Iterator[tuple[_Node, int]]:
    """The nodes after a node, each with the preemptions that it costs."""
    state, previous = node
    arity = machine.choosing(state, previous)
    if arity:
        assert previous is not None
        for value in range(arity):
            yield (machine.choose(state, previous, value), previous), 0
        return
    enabled, timed, yielded = machine.options(state, previous)
    going_on = previous in enabled and not yielded
    for task in enabled + timed:
        fired = task not in enabled
        cost = bool(enabled) if fired else going_on and task != previous
        yield (machine.step(state, task, fired)[0], task), int(cost)


def brute_force(program: Program) -> dict[Final, int]:
    """Every final outcome over all interleavings, with the fewest preemptions that reach it."""
    machine = program.machine
    start: _Node = (machine.start(), None)
    best = {start: 0}
    work: deque[_Node] = deque([start])
    settled: set[_Node] = set()
    outcomes: dict[Final, int] = {}
    while work:
        node = work.popleft()
        if node in settled:
            continue
        settled.add(node)
        cost = best[node]
        leaf = True
        for after, price in successors(machine, node):
            leaf = False
            if cost + price < best.get(after, 1 << 30):
                best[after] = cost + price
                (work.append if price else work.appendleft)(after)
        if leaf:
            outcomes.setdefault(machine.final(node[0]), cost)
    return outcomes


def count_schedules(program: Program, most: int | None = None) -> int:
    """How many interleavings there are.

    Parameters:
        program: the program.
        most: count no further than to one more than this.
    """
    machine = program.machine
    known: dict[_Node, int] = {}
    total = 0

    def count(node: _Node) -> None:
        nonlocal total
        before = total
        if node in known:
            total += known[node]
            return
        for after, _ in successors(machine, node):
            count(after)
            if most is not None and total > most:
                return
        if total == before:
            total += 1
        known[node] = total - before

    count((machine.start(), None))
    return total if most is None else min(total, most + 1)


def is_small(program: Program, most: int) -> bool:
    """Whether there are no more interleavings than that."""
    return count_schedules(program, most) <= most


def delays_of_schedules(program: Program) -> dict[tuple[Choice, ...], tuple[int, Final]]:
    """Every schedule with its number of delays and its outcome.

    Written from the definition: the deterministic scheduler goes on with the task, or with the
    next one in turn, and each task that it is made to skip is a delay.
    """
    machine = program.machine
    ids = machine.ids
    schedules: dict[tuple[Choice, ...], tuple[int, Final]] = {}

    def visit(state: State, previous: int | None, choices: tuple[Choice, ...], spent: int) -> None:
        arity = machine.choosing(state, previous)
        if arity:
            assert previous is not None
            for value in range(arity):
                visit(machine.choose(state, previous, value), previous, (*choices, value), spent)
            return
        enabled, timed, yielded = machine.options(state, previous)
        if not enabled and not timed:
            schedules[choices] = (spent, machine.final(state))
            return
        turn = 0 if previous is None else previous + int(yielded or previous not in enabled)
        for skipped, task in enumerate(sorted(enabled, key=lambda t: (t - turn) % len(ids))):
            visit(machine.step(state, task, False)[0], task, (*choices, ids[task]), spent + skipped)
        for task in timed:
            cost = spent + bool(enabled)
            visit(machine.step(state, task, True)[0], task, (*choices, ids[task]), cost)

    visit(machine.start(), None, (), 0)
    return schedules
