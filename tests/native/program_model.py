"""All that can come of a program of :mod:`tests.native.random_programs`, by interleaving.

Each thread is a list of steps, and a state is what there is in memory and where the threads are.  A
step gives the states that may follow: none where it has to wait, several where the C library is
free to choose.  Every state that can be reached is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from tests.native.random_programs import DEADLOCK, EACH, Program, Statement, random_program


@dataclass(frozen=True)
class Step:
    """What a thread does at once.

    Parameters:
        does: the function.
        place: of the variable, lock, ... in memory.
        constant: with which constant.
        otherwise: how many steps further it goes where a test fails.
        cancelled: the same for a thread that is cancelled, if it ends there.
    """

    does: Callable[[State, int, Step], list[State]]
    place: int = 0
    constant: int = 0
    otherwise: int = 0
    cancelled: int = 0


_NAMES = ("v", "a", "m", "g", "cm", "rm", "w", "p", "s", "said", "o", "b", "round", "pipe", "sent")
_AT = {name: EACH * at for at, name in enumerate(_NAMES)}
_THREADS = EACH * len(_NAMES)
"""Where that of the threads begins: whether each has ended and is cancelled, and so on."""

_PER_THREAD = 4 + EACH
ENDED, WAITS, CANCELLED, WAS_CANCELLED, SPECIFIC = range(5)
_NOT_WAITING, _WAITING, _WOKEN = 0, 1, 2


@dataclass(frozen=True)
class State:
    """Where the threads are, and what there is in memory.

    Parameters:
        at: the next step of each thread; -1 where it was not started.
        kept: what each has kept.
        held: the value that each is about to change.
        memory: see ``_AT``.
    """

    at: tuple[int, ...]
    kept: tuple[tuple[int, ...], ...]
    held: tuple[int, ...]
    memory: tuple[int, ...]

    def go(self, thread: int, by: int = 1) -> State:
        """The thread goes on."""
        return State(_put(self.at, thread, self.at[thread] + by), self.kept, self.held, self.memory)

    def keep(self, thread: int, value: int) -> State:
        """The thread keeps a value, and goes on."""
        kept = (*self.kept[:thread], (*self.kept[thread], value), *self.kept[thread + 1 :])
        return State(self.at, kept, self.held, self.memory).go(thread)

    def hold(self, thread: int, value: int) -> State:
        """The thread takes a value that it is about to change, and goes on."""
        return State(self.at, self.kept, _put(self.held, thread, value), self.memory).go(thread)

    def put(self, place: int, value: int) -> State:
        """Something in memory is changed."""
        return State(self.at, self.kept, self.held, _put(self.memory, place, value))

    def start(self, thread: int) -> State:
        """A thread is started."""
        return State(_put(self.at, thread, 0), self.kept, self.held, self.memory)


def _put(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _of_thread(thread: int, what: int) -> int:
    return _THREADS + _PER_THREAD * thread + what


# -- what steps do ---------------------------------------------------------------------------------


def _read(state: State, thread: int, step: Step) -> list[State]:
    return [state.keep(thread, state.memory[step.place])]


def _read_both(state: State, thread: int, step: Step) -> list[State]:
    low, high = state.memory[_AT["v"]], state.memory[_AT["v"] + 1]
    return [state.keep(thread, low + 10 * high)]


def _write(state: State, thread: int, step: Step) -> list[State]:
    return [state.put(step.place, step.constant).go(thread)]


def _write_both(state: State, thread: int, step: Step) -> list[State]:
    low = _AT["v"]
    return [state.put(low, step.constant).put(low + 1, step.constant).go(thread)]


def _take_value(state: State, thread: int, step: Step) -> list[State]:
    return [state.hold(thread, state.memory[step.place])]


def _put_back(state: State, thread: int, step: Step) -> list[State]:
    return [state.put(step.place, state.held[thread] + step.constant).go(thread)]


def _double(state: State, thread: int, step: Step) -> list[State]:
    new = 2 * state.held[thread] + step.constant
    return [state.put(step.place, new).keep(thread, new)]


def _note(state: State, thread: int, step: Step) -> list[State]:
    return [state.keep(thread, step.constant)]


def _fetch_add(state: State, thread: int, step: Step) -> list[State]:
    old = state.memory[step.place]
    return [state.put(step.place, old + step.constant).keep(thread, old)]


def _exchange(state: State, thread: int, step: Step) -> list[State]:
    return [state.put(step.place, step.constant).keep(thread, state.memory[step.place])]


def _replace(state: State, thread: int, step: Step) -> list[State]:
    if state.memory[step.place]:
        return [state.keep(thread, 0)]
    return [state.put(step.place, step.constant).keep(thread, 1)]


def _test(state: State, thread: int, step: Step) -> list[State]:
    return [state.go(thread, 1 if state.memory[step.place] else step.otherwise)]


def _lock(state: State, thread: int, step: Step) -> list[State]:
    return [] if state.memory[step.place] else [state.put(step.place, thread + 1).go(thread)]


def _trylock(state: State, thread: int, step: Step) -> list[State]:
    return _lock(state, thread, step) or [state.go(thread, step.otherwise)]


def _unlock(state: State, thread: int, step: Step) -> list[State]:
    return [state.put(step.place, 0).go(thread)]


def _lock_again(state: State, thread: int, step: Step) -> list[State]:
    """Of a recursive mutex; the owner, and how often beside the first time in tens."""
    value = state.memory[step.place]
    if value and value % 10 != thread + 1:
        return []
    return [state.put(step.place, value + 10 if value else thread + 1).go(thread)]


def _unlock_again(state: State, thread: int, step: Step) -> list[State]:
    value = state.memory[step.place]
    return [state.put(step.place, value - 10 if value >= 10 else 0).go(thread)]


def _is_written_by(state: State, thread: int, step: Step) -> bool:
    return state.memory[step.place] == -(thread + 1)


def _read_lock(state: State, thread: int, step: Step) -> list[State]:
    """Readers are counted; below 0 is who writes."""
    if state.memory[step.place] < 0:
        # Whoever writes is told so.
        return [state.go(thread, step.otherwise)] if _is_written_by(state, thread, step) else []
    return [state.put(step.place, state.memory[step.place] + 1).go(thread)]


def _write_lock(state: State, thread: int, step: Step) -> list[State]:
    if _is_written_by(state, thread, step):
        return [state.go(thread, step.otherwise)]
    return [] if state.memory[step.place] else [state.put(step.place, -(thread + 1)).go(thread)]


def _try_read_lock(state: State, thread: int, step: Step) -> list[State]:
    if state.memory[step.place] < 0:
        return [state.go(thread, step.otherwise)]
    return _read_lock(state, thread, step)


def _try_write_lock(state: State, thread: int, step: Step) -> list[State]:
    if state.memory[step.place]:
        return [state.go(thread, step.otherwise)]
    return _write_lock(state, thread, step)


def _unlock_rwlock(state: State, thread: int, step: Step) -> list[State]:
    value = state.memory[step.place]
    return [state.put(step.place, value - 1 if value > 0 else 0).go(thread)]


def _post(state: State, thread: int, step: Step) -> list[State]:
    return [state.put(step.place, state.memory[step.place] + 1).go(thread)]


def _down(state: State, step: Step) -> State | None:
    value = state.memory[step.place]
    return state.put(step.place, value - 1) if value else None


def _wait(state: State, thread: int, step: Step) -> list[State]:
    after = _down(state, step)
    return [after.go(thread)] if after else []


def _try_wait(state: State, thread: int, step: Step) -> list[State]:
    """Whoever may wait for a while may also get it later: then this step comes later."""
    after = _down(state, step)
    return [after.keep(thread, 0) if after else state.keep(thread, 1)]


def _begin_wait(state: State, thread: int, step: Step) -> list[State]:
    """For the condition variable of a number; the mutex is given up."""
    waits = 10 * step.constant + _WAITING
    return [state.put(step.place, 0).put(_of_thread(thread, WAITS), waits).go(thread)]


def _end_wait(state: State, thread: int, step: Step) -> list[State]:
    place = _of_thread(thread, WAITS)
    if state.memory[place] % 10 != _WOKEN:
        return []
    return [state.put(place, _NOT_WAITING).go(thread)]


def _end_timed_wait(state: State, thread: int, step: Step) -> list[State]:
    place = _of_thread(thread, WAITS)
    is_woken = state.memory[place] % 10 == _WOKEN
    return [state.put(place, _NOT_WAITING).keep(thread, 0 if is_woken else 1)]


def _waiters(state: State, number: int) -> list[int]:
    places = (_of_thread(thread, WAITS) for thread in range(len(state.at)))
    return [place for place in places if state.memory[place] == 10 * number + _WAITING]


def _futex_wait(state: State, thread: int, step: Step) -> list[State]:
    """Numbers of futexes come behind those of condition variables."""
    if state.memory[step.place]:
        return [state.keep(thread, 1).go(thread)]
    number = EACH + step.place - _AT["a"]
    return [state.put(_of_thread(thread, WAITS), 10 * number + _WAITING).go(thread)]


def _end_futex_wait(state: State, thread: int, step: Step) -> list[State]:
    return [after.keep(thread, 0).go(thread, -1) for after in _end_wait(state, thread, step)]


def _futex_wake(state: State, thread: int, step: Step) -> list[State]:
    number = EACH + step.place - _AT["a"]
    waiters = _waiters(state, number)
    for place in waiters:
        state = state.put(place, 10 * number + _WOKEN)
    return [state.keep(thread, len(waiters))]


def _poll(state: State, thread: int, step: Step) -> list[State]:
    return [state.keep(thread, 1 if state.memory[step.place] else 0)]


def _send(state: State, thread: int, step: Step) -> list[State]:
    """It is pending once, however often it is sent."""
    return [state.put(step.place, 1).go(thread)]


def _cancel(state: State, thread: int, step: Step) -> list[State]:
    return [state.put(_of_thread(step.place, CANCELLED), 1).go(thread)]


def _join_cancelled(state: State, thread: int, step: Step) -> list[State]:
    if not state.memory[_of_thread(step.place, ENDED)]:
        return []
    return [state.keep(thread, state.memory[_of_thread(step.place, WAS_CANCELLED)])]


def _signal(state: State, thread: int, step: Step) -> list[State]:
    waiters = _waiters(state, step.constant)
    woken = 10 * step.constant + _WOKEN
    return [state.put(place, woken).go(thread) for place in waiters] or [state.go(thread)]


def _broadcast(state: State, thread: int, step: Step) -> list[State]:
    for place in _waiters(state, step.constant):
        state = state.put(place, 10 * step.constant + _WOKEN)
    return [state.go(thread)]


def _arrive(state: State, thread: int, step: Step) -> list[State]:
    """At a barrier of two; the last one is told."""
    number = step.place - _AT["b"]
    if not state.memory[step.place]:
        return [state.put(step.place, 1).hold(thread, state.memory[_AT["round"] + number])]
    after = state.put(step.place, 0)
    after = after.put(_AT["round"] + number, state.memory[_AT["round"] + number] + 1)
    return [after.keep(thread, 1).go(thread)]


def _leave(state: State, thread: int, step: Step) -> list[State]:
    gone_on = state.memory[step.place] != state.held[thread]
    return [state.keep(thread, 0)] if gone_on else []


def _begin_once(state: State, thread: int, step: Step) -> list[State]:
    """0: nobody was there; 1: somebody is; 2: it is done."""
    match state.memory[step.place]:
        case 0:
            return [state.put(step.place, 1).go(thread)]
        case 1:
            return []
        case _:
            return [state.go(thread, step.otherwise)]


def _set_specific(state: State, thread: int, step: Step) -> list[State]:
    return [state.put(_of_thread(thread, SPECIFIC + step.place), step.constant).go(thread)]


def _begin_destructor(state: State, thread: int, step: Step) -> list[State]:
    value = state.memory[_of_thread(thread, SPECIFIC + step.place)]
    return [state.go(thread) if value else state.go(thread, step.otherwise)]


def _take_for_destructor(state: State, thread: int, step: Step) -> list[State]:
    more = state.memory[_of_thread(thread, SPECIFIC + step.place)]
    return [state.hold(thread, state.memory[_AT["v"] + step.place] + more)]


def _nothing(state: State, thread: int, step: Step) -> list[State]:
    return [state.go(thread)]


def _sleep(state: State, thread: int, step: Step) -> list[State]:
    return [state.go(thread)]


def _start(state: State, thread: int, step: Step) -> list[State]:
    return [state.start(step.place).go(thread)]


def _join(state: State, thread: int, step: Step) -> list[State]:
    """Of a thread that may not have been started."""
    may_go_on = state.at[step.place] < 0 or state.memory[_of_thread(step.place, ENDED)]
    return [state.go(thread)] if may_go_on else []


def _end(state: State, thread: int, step: Step) -> list[State]:
    return [state.put(_of_thread(thread, ENDED), 1).go(thread)]


# -- from statements to steps -----------------------------------------------------------------

_SIMPLE: dict[str, tuple[Callable[[State, int, Step], list[State]], str]] = {
    "read": (_read, "v"),
    "write": (_write, "v"),
    "read_both": (_read_both, "v"),
    "write_both": (_write_both, "v"),
    "read_byte": (_read, "v"),
    "load": (_read, "a"),
    "peek": (_read, "a"),
    "store": (_write, "a"),
    "poke": (_write, "a"),
    "fetch_add": (_fetch_add, "a"),
    "exchange": (_exchange, "a"),
    "replace": (_replace, "a"),
    "post": (_post, "s"),
    "wait": (_wait, "s"),
    "trywait": (_try_wait, "s"),
    "timedwait": (_try_wait, "s"),
    "getvalue": (_read, "s"),
    "futex_wake": (_futex_wake, "a"),
    "put": (_post, "pipe"),
    "get": (_wait, "pipe"),
    "poll": (_poll, "pipe"),
    "poll_timed": (_poll, "pipe"),
    "note": (_note, "v"),
    "yield": (_nothing, "v"),
    "sleep": (_sleep, "v"),
    "unlock_any": (_unlock, "m"),
}
"""Statements that are one step: what it does, and to what."""

_AROUND: dict[str, tuple[str, list[Callable[[State, int, Step], list[State]]], int]] = {
    "if": ("v", [_test], 0),
    "locked": ("m", [_lock, _unlock], 1),
    "trylocked": ("m", [_trylock, _unlock], 1),
    "timedlocked": ("m", [_trylock, _unlock], 1),
    "recursive": ("rm", [_lock_again, _lock_again, _unlock_again, _unlock_again], 2),
    "reading": ("w", [_read_lock, _unlock_rwlock], 1),
    "writing": ("w", [_write_lock, _unlock_rwlock], 1),
    "tryreading": ("w", [_try_read_lock, _unlock_rwlock], 1),
    "trywriting": ("w", [_try_write_lock, _unlock_rwlock], 1),
    "spinlocked": ("p", [_lock, _unlock], 1),
}
"""Those around others: to what, which steps, and how many of these come behind."""


def _steps(statement: Statement, children: Iterator[int]) -> list[Step]:
    kind, number, constant = statement.kind, statement.number, statement.constant
    mutex = _AT["cm"] + number
    locked, unlocked = Step(_lock, mutex), Step(_unlock, mutex)
    if kind in _SIMPLE:
        does, name = _SIMPLE[kind]
        return [Step(does, _AT[name] + number, constant)]
    if kind in _AROUND:
        name, around, behind = _AROUND[kind]
        body = [step for inner in statement.inner for step in _steps(inner, children)]
        place = _AT[name] + number
        first, last = around[: len(around) - behind], around[len(around) - behind :]
        over = 1 + len(body) + behind
        return [
            *(Step(does, place, constant, over) for does in first),
            *body,
            *(Step(does, place) for does in last),
        ]
    wait = Step(_begin_wait, mutex, number)
    match kind:
        case "add":
            return [
                Step(_take_value, _AT["v"] + number),
                Step(_put_back, _AT["v"] + number, constant),
            ]
        case "guarded":
            guard, variable = _AT["g"] + number, _AT["v"] + number
            return [
                Step(_lock, guard),
                Step(_take_value, variable),
                Step(_double, variable, constant),
                Step(_unlock, guard),
            ]
        case "signal":
            said = Step(_write, _AT["said"] + number, 1)
            return [locked, said, Step(_signal, 0, number), unlocked]
        case "bare_signal":
            return [Step(_signal, 0, number)]
        case "broadcast":
            return [Step(_broadcast, 0, number)]
        case "await":
            # It goes back to the test.
            tested = Step(_test, _AT["said"] + number, 0, 2)
            again = Step(_back, 0, 5)
            return [
                locked,
                tested,
                Step(_back, 0, -5),
                wait,
                Step(_end_wait),
                locked,
                again,
                unlocked,
            ]
        case "bare_await":
            return [locked, wait, Step(_end_wait), locked, unlocked]
        case "timed_await":
            return [locked, wait, Step(_end_timed_wait), locked, unlocked]
        case "meet":
            return [Step(_arrive, _AT["b"] + number), Step(_leave, _AT["round"] + number)]
        case "once":
            begin = Step(_begin_once, _AT["o"] + number, 0, 4)
            variable = _AT["v"] + number
            return [
                begin,
                Step(_take_value, variable),
                Step(_put_back, variable, 1),
                Step(_write, _AT["o"] + number, 2),
            ]
        case "specific":
            return [Step(_set_specific, number, constant)]
        case "futex_wait":
            return [Step(_futex_wait, _AT["a"] + number), Step(_end_futex_wait)]
        case "futex_timed":
            return [Step(_futex_wait, _AT["a"] + number), Step(_end_timed_wait)]
        case "send":
            return [Step(_send, _AT["sent"])]
        case "sigwait":
            return [Step(_wait, _AT["sent"])]
        case "sigpoll" | "sigtimed":
            return [Step(_try_wait, _AT["sent"])]
        case "spawn":
            return [Step(_start, next(children))]
        case "spawn_cancelled":
            child = next(children)
            return [Step(_start, child), Step(_cancel, child), Step(_join_cancelled, child)]
    raise ValueError(kind)


def _back(state: State, thread: int, step: Step) -> list[State]:
    return [state.go(thread, -step.constant)]


_CANCELLATION_POINTS = (_wait, _sleep)


def _destructor(number: int) -> list[Step]:
    variable = _AT["v"] + number
    return [
        Step(_begin_destructor, number, 0, 3),
        Step(_take_for_destructor, number),
        Step(_put_back, variable),
    ]


def _thread(program: Program, number: int) -> list[Step]:
    children = program.started_by(number)
    started = iter(children)
    body = [step for each in program.all_threads[number] for step in _steps(each, started)]
    joins = [Step(_join, child) for child in children]
    ends = [step for number in range(EACH) for step in _destructor(number)]
    before = [*body, *joins]
    # Whoever is cancelled leaves the rest out.
    steps = [
        replace(step, cancelled=len(before) - at) if step.does in _CANCELLATION_POINTS else step
        for at, step in enumerate(before)
    ]
    return [*steps, *ends, Step(_end)]


# -- all of it -----------------------------------------------------------------


def _outcome(state: State) -> str:
    kept = "".join("".join(f"{value}," for value in mine) + ";" for mine in state.kept)
    first = _AT["v"]
    return kept + "".join(f"{value}," for value in state.memory[first : first + 2 * EACH])


def possible_outcomes(program: Program) -> set[str]:
    """All outcomes of a program under all interleavings, as it prints them."""
    every = len(program.all_threads)
    threads = [_thread(program, number) for number in range(every)]
    started = len(program.threads)
    first = State(
        (*(0,) * started, *(-1,) * (every - started)),
        ((),) * every,
        (0,) * every,
        (0,) * (_THREADS + _PER_THREAD * every),
    )
    left, seen, outcomes = [first], {first}, set()
    while left:
        state = left.pop()
        alive = [t for t in range(every) if 0 <= state.at[t] < len(threads[t])]
        if not alive:
            outcomes.add(_outcome(state))
            continue
        later: list[State] = []
        for thread in alive:
            step = threads[thread][state.at[thread]]
            if step.cancelled and state.memory[_of_thread(thread, CANCELLED)]:
                ended = state.put(_of_thread(thread, WAS_CANCELLED), 1)
                later.append(ended.go(thread, step.cancelled))
            else:
                later += step.does(state, thread, step)
        if not later:
            outcomes.add(DEADLOCK)
        for after in later:
            if after not in seen:
                seen.add(after)
                left.append(after)
    return outcomes


FEWEST, MOST = 3, 60
"""Outcomes of programs that say something, and can be explored completely."""


def telling_program(seed: int, family: str) -> tuple[Program, set[str]]:
    """A program with several outcomes, but not too many, and these.

    Parameters:
        seed: decides which.
        family: see :func:`tests.native.random_programs.random_program`.
    """
    for number in count():
        program = random_program(1000 * seed + number, family)
        outcomes = possible_outcomes(program)
        if FEWEST <= len(outcomes) <= MOST:
            return program, outcomes
    raise AssertionError
