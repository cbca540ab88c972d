"""Small random programs in C, and all that can come of them by the rules of interleaving.

Nothing here shares code with what is tested: a program is written to C, and executed step by step
by a model of a few lines, in every order.  Compiled without hooks it also runs natively, held up
at random between its steps.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEADLOCK = "deadlock"
"""The outcome of a program that does not end."""

VARIABLES = 2
REGISTERS = 16

Statement = tuple[str, int, int, tuple["Statement", ...]]
"""What it does, to which variable or lock, with which constant, and what else it encloses."""

Program = tuple[tuple[Statement, ...], ...]
"""The statements of each thread."""

_LEAVES = ("read", "read", "write", "add", "load", "store", "fetch_add")


def random_program(seed: int, with_waits: bool = True) -> Program:
    """A program of two or three threads.

    Parameters:
        seed: decides which.
        with_waits: it may wait for semaphores and condition variables, so that it may deadlock.
    """
    draw = random.Random(seed)
    threads = draw.choice((2, 2, 2, 3))
    most = 4 if threads == 2 else 2
    kinds = (*_LEAVES, "if", "if", "locked", "locked", "trylocked", "reading", "writing")
    if with_waits:
        kinds = (*kinds, "post", "wait", "signal", "await")

    def statement(depth: int) -> Statement:
        kind = draw.choice(kinds if depth == 0 else _LEAVES)
        inner: tuple[Statement, ...] = ()
        if kind in ("if", "locked", "trylocked", "reading", "writing"):
            inner = tuple(statement(depth + 1) for _ in range(draw.choice((1, 1, 2))))
        return kind, draw.randrange(VARIABLES), draw.choice((1, 2)), inner

    return tuple(tuple(statement(0) for _ in range(draw.randint(1, most))) for _ in range(threads))


# -- as C ----------------------------------------------------------------------------------------

_HEAD = f"""\
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef DELAYS
static _Thread_local unsigned draw;
static void step(void) {{
    atomic_thread_fence(memory_order_seq_cst);
    draw = draw * 1103515245u + 12345u;
    unsigned which = draw >> 16 & 7;
    if (which < 3) usleep(draw >> 20 & 127);
    else if (which < 5) sched_yield();
}}
#define BEGIN(number) draw = seed * 2654435761u + (number) * 40503u; step();
static unsigned seed;
#else
#define step()
#define BEGIN(number)
#endif
static volatile int v[{VARIABLES}];
static atomic_int a[{VARIABLES}];
static pthread_mutex_t m[{VARIABLES}] = {{PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}};
static pthread_rwlock_t w[{VARIABLES}] = {{PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER}};
static pthread_mutex_t cm[{VARIABLES}] = {{PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}};
static pthread_cond_t c[{VARIABLES}] = {{PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER}};
static int said[{VARIABLES}];
static sem_t s[{VARIABLES}];
static int r[4][{REGISTERS}], n[4];
"""


def _code(statement: Statement, thread: int) -> list[str]:
    kind, number, constant, inner = statement
    keep = f"r[{thread}][n[{thread}]++] ="
    body = [line for each in inner for line in _code(each, thread)]
    around = {
        "locked": ("pthread_mutex_lock(&m[%d]);", "pthread_mutex_unlock(&m[%d]);"),
        "trylocked": ("if (!pthread_mutex_trylock(&m[%d])) {", "pthread_mutex_unlock(&m[%d]); }"),
        "reading": ("pthread_rwlock_rdlock(&w[%d]);", "pthread_rwlock_unlock(&w[%d]);"),
        "writing": ("pthread_rwlock_wrlock(&w[%d]);", "pthread_rwlock_unlock(&w[%d]);"),
        "if": ("if (v[%d]) {", "}"),
    }
    if kind in around:
        opens, closes = (each.replace("%d", str(number)) for each in around[kind])
        return [opens, "step();", *body, closes, "step();"]
    lines = {
        "read": [f"{keep} v[{number}];"],
        "write": [f"v[{number}] = {constant};"],
        "add": [f"{{ int old = v[{number}]; step(); v[{number}] = old + {constant}; }}"],
        "load": [f"{keep} atomic_load(&a[{number}]);"],
        "store": [f"atomic_store(&a[{number}], {constant});"],
        "fetch_add": [f"{keep} atomic_fetch_add(&a[{number}], {constant});"],
        "post": [f"sem_post(&s[{number}]);"],
        "wait": [f"sem_wait(&s[{number}]);"],
        "signal": [
            f"pthread_mutex_lock(&cm[{number}]); said[{number}] = 1;",
            f"pthread_cond_signal(&c[{number}]); pthread_mutex_unlock(&cm[{number}]);",
        ],
        "await": [
            f"pthread_mutex_lock(&cm[{number}]); while (!said[{number}])",
            f"pthread_cond_wait(&c[{number}], &cm[{number}]);",
            f"pthread_mutex_unlock(&cm[{number}]);",
        ],
    }[kind]
    return [*lines, "step();"]


def written(program: Program) -> str:
    """The source of a program; it prints its outcome."""
    lines = [_HEAD]
    for number, statements in enumerate(program):
        lines.append(f"static void *thread_{number}(void *unused) {{ BEGIN({number})")
        lines += [line for statement in statements for line in _code(statement, number)]
        lines.append("return unused; }")
    count = len(program)
    lines.append("int main(int argc, char **argv) {")
    lines.append("#ifdef DELAYS\nseed = argc > 1 ? (unsigned)atoi(argv[1]) : 0; alarm(1);\n#endif")
    lines.append(f"(void)argc; (void)argv; pthread_t t[{count}];")
    lines += [f"sem_init(&s[{i}], 0, 0);" for i in range(VARIABLES)]
    lines += [f"pthread_create(&t[{i}], 0, thread_{i}, 0);" for i in range(count)]
    lines += [f"pthread_join(t[{i}], 0);" for i in range(count)]
    lines.append(
        f"for (int i = 0; i < {count}; i++) {{ for (int k = 0; k < n[i]; k++)"
        ' printf("%d,", r[i][k]); printf(";"); }'
    )
    for name in ("v", "a"):
        lines.append(f'for (int i = 0; i < {VARIABLES}; i++) printf("%d,", {name}[i]);')
    return "\n".join([*lines, "return 0; }", ""])


def compiled(cc: str, program: Program, target: Path, *flags: str) -> Path:
    """The program, compiled with flags such as ``-fsanitize=thread`` or ``-DDELAYS``."""
    source = target.with_suffix(".c")
    source.write_text(written(program))
    words = [cc, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-pthread", *flags]
    subprocess.run([*words, "-o", str(target), str(source)], check=True)
    return target


def native_outcomes(program: Path, seeds: range) -> set[str]:
    """What a program with delays gives, run once for each seed."""
    found = set()
    for seed in seeds:
        done = subprocess.run([str(program), str(seed)], capture_output=True, text=True)
        found.add(done.stdout if done.returncode == 0 else DEADLOCK)
    return found


# -- by a model ----------------------------------------------------------------------------------

Step = tuple[str, int, int, int]
"""What it does, to what, with which constant, and where it goes on if a test fails."""


def _steps(statements: tuple[Statement, ...], at: int = 0) -> Iterator[Step]:
    """A thread without nesting: tests jump over what they enclose."""
    for kind, number, constant, inner in statements:
        body = list(_steps(inner, at + 1))
        if kind == "add":
            flat: list[Step] = [("take", number, 0, 0), ("put", number, constant, 0)]
        elif kind == "if":
            flat = [("if", number, 0, at + 1 + len(body)), *body]
        elif kind in ("locked", "reading", "writing"):
            flat = [(kind, number, 0, 0), *body, ("un" + kind, number, 0, 0)]
        elif kind == "trylocked":
            after = at + 2 + len(body)
            flat = [("trylocked", number, 0, after), *body, ("unlocked", number, 0, 0)]
        else:
            flat = [(kind, number, constant, 0)]
        yield from flat
        at += len(flat)


@dataclass(frozen=True)
class _State:
    """Of the model: where the threads are, and what there is in memory.

    Parameters:
        at: the next step of each thread.
        kept: what each thread has kept, and the value that it is about to change.
        memory: of the variables, atomics, locks, reader-writer locks, semaphores and what was said.
    """

    at: tuple[int, ...]
    kept: tuple[tuple[int, ...], ...]
    held: tuple[int, ...]
    memory: tuple[tuple[int, ...], ...]


def _replaced(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _done(state: _State, thread: int, step: Step) -> _State | None:
    """The state after a thread's step; ``None`` where it has to wait."""
    kind, number, constant, otherwise = step
    plain, atomic, locks, readers, semaphores, said = state.memory
    to, keeps, held = state.at[thread] + 1, None, state.held[thread]
    if kind in ("read", "take"):
        keeps = plain[number] if kind == "read" else None
        held = plain[number]
    elif kind in ("write", "put"):
        plain = _replaced(plain, number, constant + (held if kind == "put" else 0))
    elif kind == "if":
        to = to if plain[number] else otherwise
    elif kind == "load":
        keeps = atomic[number]
    elif kind in ("store", "fetch_add"):
        keeps = atomic[number] if kind == "fetch_add" else None
        atomic = _replaced(atomic, number, constant + (keeps or 0))
    elif kind in ("locked", "trylocked"):
        if locks[number] and kind == "locked":
            return None
        if locks[number]:
            to = otherwise
        else:
            locks = _replaced(locks, number, 1)
    elif kind == "unlocked":
        locks = _replaced(locks, number, 0)
    elif kind == "reading":
        if readers[number] < 0:
            return None
        readers = _replaced(readers, number, readers[number] + 1)
    elif kind == "writing":
        if readers[number]:
            return None
        readers = _replaced(readers, number, -1)
    elif kind == "unreading":
        readers = _replaced(readers, number, readers[number] - 1)
    elif kind == "unwriting":
        readers = _replaced(readers, number, 0)
    elif kind == "post":
        semaphores = _replaced(semaphores, number, semaphores[number] + 1)
    elif kind == "wait":
        if not semaphores[number]:
            return None
        semaphores = _replaced(semaphores, number, semaphores[number] - 1)
    elif kind == "signal":
        said = _replaced(said, number, 1)
    elif kind == "await":
        if not said[number]:
            return None
    else:
        raise ValueError(kind)
    kept = state.kept
    if keeps is not None:
        mine = (*kept[thread], keeps)
        kept = (*kept[:thread], mine, *kept[thread + 1 :])
    return _State(
        _replaced(state.at, thread, to),
        kept,
        _replaced(state.held, thread, held),
        (plain, atomic, locks, readers, semaphores, said),
    )


def possible_outcomes(program: Program) -> set[str]:
    """All outcomes of a program under all interleavings, as it prints them."""
    threads = [list(_steps(statements)) for statements in program]
    count = len(threads)
    zeros = (0,) * VARIABLES
    first = _State((0,) * count, ((),) * count, (0,) * count, (zeros,) * 6)
    left, seen, outcomes = [first], {first}, set()
    while left:
        state = left.pop()
        alive = [t for t in range(count) if state.at[t] < len(threads[t])]
        if not alive:
            kept = "".join("".join(f"{value}," for value in mine) + ";" for mine in state.kept)
            outcomes.add(
                kept + "".join(f"{value}," for values in state.memory[:2] for value in values)
            )
            continue
        later = [
            after
            for thread in alive
            if (after := _done(state, thread, threads[thread][state.at[thread]])) is not None
        ]
        if not later:
            outcomes.add(DEADLOCK)
        for after in later:
            if after not in seen:
                seen.add(after)
                left.append(after)
    return outcomes
