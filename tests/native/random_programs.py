"""Small random programs in C, which print what came of them.

Nothing here shares code with what is tested: a program is written to C, and all that can come of
it is known by :mod:`tests.native.program_model`.  Compiled without hooks it also runs natively,
held up at random between its steps.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DEADLOCK = "deadlock"
"""The outcome of a program that does not end."""

EACH = 2
"""How many there are of each: variables, atomics, locks, ..."""

REGISTERS = 24


@dataclass(frozen=True)
class Statement:
    """One statement of a thread.

    Parameters:
        kind: what it does, of :data:`LEAVES` or :data:`BLOCKS`.
        number: of the variable, lock, ... to which it does that.
        constant: with which constant.
        inner: what it encloses.
    """

    kind: str
    number: int = 0
    constant: int = 0
    inner: tuple[Statement, ...] = ()


Threads = tuple[tuple[Statement, ...], ...]
"""The statements of each thread that ``main`` starts."""

LEAVES = {
    # Plain memory.
    "read": "KEEP(v[$n])",
    "write": "v[$n] = $c;",
    "add": "{ int old = v[$n]; step(); v[$n] = old + $c; }",
    "read_both": "{ long long both = *(volatile long long *)v;"
    " KEEP((int)both + 10 * (int)(both >> 32)) }",
    "write_both": "*(volatile long long *)v = $c | (long long)$c << 32;",
    "read_byte": "KEEP(((volatile char *)&v[$n])[0])",
    # Atomics, and the same memory as plain memory.
    "load": "KEEP(atomic_load(&a[$n]))",
    "store": "atomic_store(&a[$n], $c);",
    "fetch_add": "KEEP(atomic_fetch_add(&a[$n], $c))",
    "exchange": "KEEP(atomic_exchange(&a[$n], $c))",
    "replace": "{ int old = 0; KEEP(atomic_compare_exchange_strong(&a[$n], &old, $c)) }",
    "peek": "KEEP(*(volatile int *)&a[$n])",
    "poke": "*(volatile int *)&a[$n] = $c;",
    # Semaphores, condition variables, barriers.
    "post": "sem_post(&s[$n]);",
    "wait": "sem_wait(&s[$n]);",
    "trywait": "KEEP(sem_trywait(&s[$n]) != 0)",
    "timedwait": "{ struct timespec t = soon(); KEEP(sem_timedwait(&s[$n], &t) != 0) }",
    "getvalue": "{ int value; sem_getvalue(&s[$n], &value); KEEP(value) }",
    "signal": "UNDER(cm, $n, said[$n] = 1; pthread_cond_signal(&c[$n]);)",
    "bare_signal": "pthread_cond_signal(&c[$n]);",
    "broadcast": "pthread_cond_broadcast(&c[$n]);",
    "await": "UNDER(cm, $n, while (!said[$n]) pthread_cond_wait(&c[$n], &cm[$n]);)",
    "bare_await": "UNDER(cm, $n, pthread_cond_wait(&c[$n], &cm[$n]);)",
    "timed_await": "UNDER(cm, $n, { struct timespec t = soon();"
    " KEEP(pthread_cond_timedwait(&c[$n], &cm[$n], &t) != 0) })",
    "meet": "KEEP(pthread_barrier_wait(&b[$n]) != 0)",
    # What needs no hooks to be seen.
    "guarded": "LOCK(&g[$n]); { int old = v[$n]; step(); v[$n] = 2 * old + $c; KEEP(v[$n]) }"
    " step(); UNLOCK(&g[$n]);",
    "note": "KEEP($c)",
    # Futexes, signals, pipes.
    "futex_wait": "KEEP(futex(&a[$n], FUTEX_WAIT_PRIVATE, 0, 0) != 0)",
    "futex_timed": "{ struct timespec t = {0, 100000};"
    " KEEP(futex(&a[$n], FUTEX_WAIT_PRIVATE, 0, &t) != 0) }",
    "futex_wake": "KEEP(futex(&a[$n], FUTEX_WAKE_PRIVATE, 9, 0))",
    "send": "kill(getpid(), SIGUSR1);",
    "sigwait": "sigtimedwait(&signals, 0, 0);",
    "sigpoll": "{ struct timespec t = {0, 0}; KEEP(sigtimedwait(&signals, 0, &t) < 0) }",
    "sigtimed": "{ struct timespec t = {0, 100000}; KEEP(sigtimedwait(&signals, 0, &t) < 0) }",
    "put": 'if (write(pipes[$n][1], "x", 1) != 1) abort();',
    "get": "{ char byte; if (read(pipes[$n][0], &byte, 1) != 1) abort(); }",
    "poll": "{ struct pollfd one = {pipes[$n][0], POLLIN, 0}; KEEP(poll(&one, 1, 0)) }",
    "poll_timed": "{ struct pollfd one = {pipes[$n][0], POLLIN, 0}; KEEP(poll(&one, 1, 1)) }",
    # Others.
    "once": "pthread_once(&o[$n], init_$n);",
    "specific": "pthread_setspecific(k[$n], (void *)$c);",
    "yield": "sched_yield();",
    "sleep": "usleep($c);",
    "unlock_any": "pthread_mutex_unlock(&m[$n]);",
}
"""In C: ``$n`` stands for the number, ``$c`` for the constant."""

BLOCKS = {
    "if": ("if (v[$n]) {", "}"),
    "locked": ("LOCK(&m[$n]);", "UNLOCK(&m[$n]);"),
    "trylocked": ("if (!pthread_mutex_trylock(&m[$n])) {", "UNLOCK(&m[$n]); }"),
    "timedlocked": ("if (timedlock(&m[$n]) == 0) {", "UNLOCK(&m[$n]); }"),
    "recursive": (
        "LOCK(&rm[$n]); step(); LOCK(&rm[$n]);",
        "UNLOCK(&rm[$n]); step(); UNLOCK(&rm[$n]);",
    ),
    "reading": ("if (!pthread_rwlock_rdlock(&w[$n])) {", "pthread_rwlock_unlock(&w[$n]); }"),
    "writing": ("if (!pthread_rwlock_wrlock(&w[$n])) {", "pthread_rwlock_unlock(&w[$n]); }"),
    "tryreading": ("if (!pthread_rwlock_tryrdlock(&w[$n])) {", "pthread_rwlock_unlock(&w[$n]); }"),
    "trywriting": ("if (!pthread_rwlock_trywrlock(&w[$n])) {", "pthread_rwlock_unlock(&w[$n]); }"),
    "spinlocked": ("pthread_spin_lock(&p[$n]);", "pthread_spin_unlock(&p[$n]);"),
    "spawn": ("", ""),
    "spawn_cancelled": ("", ""),
}
"""The same, around what is enclosed."""

STARTING = ("spawn", "spawn_cancelled")
"""Those of them that start a thread for what they enclose."""

_MEMORY = ("read", "read", "write", "add", "load", "store", "fetch_add")
_FIRST = ("if", "if", "locked", "locked", "trylocked", "reading", "writing")
_WAITS = ("post", "wait", "signal", "await")


@dataclass(frozen=True)
class Family:
    """Which programs are drawn.

    Parameters:
        leaves: statements without others in them.
        blocks: those around others; none of them in another of their own family, unless ``deep``.
        most: statements of a thread, by the number of threads.
        deep: blocks may enclose blocks.
        allowed_misuses: what has to be allowed for them.
        hooks: whether they need them, as they access memory without a lock.
    """

    leaves: tuple[str, ...]
    blocks: tuple[str, ...]
    most: tuple[int, ...] = (0, 0, 4, 2, 1)
    deep: bool = False
    allowed_misuses: tuple[str, ...] = ()
    hooks: bool = True


_ATOMICS = ("load", "store", "fetch_add", "exchange", "replace")

FAMILIES = {
    "mixed": Family((*_MEMORY, *_MEMORY, *_WAITS), (*_FIRST, *_FIRST)),
    "sizes": Family(("read", "write", "read_both", "write_both", "read_byte", "add"), ("if",)),
    "atomics": Family((*_ATOMICS, "peek", "poke", "read", "write"), ("if",), (0, 0, 3, 2, 1)),
    "locks": Family(
        ("read", "write", "add"),
        ("locked", "trylocked", "timedlocked", "recursive", "spinlocked"),
        (0, 0, 3, 2, 1),
        deep=True,
    ),
    "readers": Family(
        ("read", "write", "add"),
        ("reading", "writing", "tryreading", "trywriting"),
        (0, 0, 3, 2, 1),
        deep=True,
    ),
    "semaphores": Family(
        ("post", "post", "wait", "trywait", "timedwait", "getvalue", "read", "add"), ("if",)
    ),
    "conditions": Family(
        (
            *("signal", "await", "bare_signal", "bare_await", "timed_await", "broadcast"),
            *("read", "write"),
        ),
        ("locked",),
        (0, 0, 3, 2, 1),
    ),
    "threads": Family(
        ("meet", "once", "specific", "yield", "sleep", "read", "add", "store", "load"),
        ("spawn", "if", "locked"),
        (0, 0, 3, 2, 1),
    ),
    "futexes": Family(
        ("futex_wait", "futex_wait", "futex_timed", "futex_wake", "futex_wake", "store", "load"),
        ("locked",),
        (0, 0, 3, 2, 1),
    ),
    "signals": Family(
        ("send", "send", "sigwait", "sigpoll", "sigtimed", "fetch_add", "note"),
        ("locked",),
        (0, 0, 3, 2, 1),
    ),
    "pipes": Family(
        ("put", "put", "get", "poll", "poll_timed", "fetch_add"), ("locked",), (0, 0, 3, 2, 1)
    ),
    "cancelled": Family(
        ("post", "wait", "sleep", "note", "read", "add", "fetch_add"),
        ("spawn_cancelled", "spawn_cancelled", "if"),
        (0, 0, 2, 2, 1),
    ),
    "unseen": Family(
        (
            *("guarded", "guarded", "note", "post", "wait", "trywait", "timedwait", "getvalue"),
            *("bare_signal", "broadcast", "bare_await", "timed_await", "meet", "yield", "sleep"),
        ),
        (
            *("locked", "trylocked", "timedlocked", "recursive", "spinlocked", "spawn"),
            *("reading", "writing", "tryreading", "trywriting"),
        ),
        (0, 0, 3, 2, 1),
        hooks=False,
    ),
    "unlocked": Family(
        ("read", "add", "unlock_any"),
        ("locked", "trylocked"),
        (0, 0, 3, 2, 1),
        deep=True,
        allowed_misuses=("unlock-unowned", "left-locked"),
    ),
}
"""By name; each has programs of its own under every seed."""


@dataclass(frozen=True)
class Program:
    """A program.

    Parameters:
        threads: those that ``main`` starts.
        allowed_misuses: kinds of misuse that it is full of.
        hooks: whether all that matters is seen only with hooks.
    """

    threads: Threads
    allowed_misuses: tuple[str, ...] = ()
    hooks: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        """What a compiler is told, so that all that matters is seen."""
        return ("-fsanitize=thread",) if self.hooks else ()

    @property
    def all_threads(self) -> list[tuple[Statement, ...]]:
        """Those of ``main``, then those that they start, in the order in which they stand there."""
        found = list(self.threads)
        for statements in found:
            found += _started_by(statements)
        return found

    def started_by(self, number: int) -> list[int]:
        """The numbers of the threads that a thread may start, in the order of :func:`nested`."""
        threads = self.all_threads
        first = len(self.threads)
        for before in threads[:number]:
            first += len(_started_by(before))
        return list(range(first, first + len(_started_by(threads[number]))))


def nested(statements: Sequence[Statement]) -> Iterator[Statement]:
    """All statements of a thread, without those of threads that it starts."""
    for statement in statements:
        yield statement
        if statement.kind not in STARTING:
            yield from nested(statement.inner)


def _started_by(statements: Sequence[Statement]) -> list[tuple[Statement, ...]]:
    return [each.inner for each in nested(statements) if each.kind in STARTING]


def random_program(seed: int, family: str = "mixed") -> Program:
    """A program of two to four threads.

    Parameters:
        seed: decides which.
        family: of :data:`FAMILIES`.
    """
    chosen = FAMILIES[family]
    draw = random.Random(f"{family} {seed}")
    threads = draw.choice((2, 2, 2, 3) if family == "mixed" else (2, 2, 2, 2, 3, 3, 4))

    def statement(depth: int) -> Statement:
        may_enclose = depth == 0 or (chosen.deep and depth == 1)
        kinds = (*chosen.leaves, *chosen.blocks) if may_enclose else chosen.leaves
        kind = draw.choice(kinds)
        inner: tuple[Statement, ...] = ()
        if kind in BLOCKS:
            inner = tuple(statement(depth + 1) for _ in range(draw.choice((1, 1, 2))))
        return Statement(kind, draw.choice((0, 0, 1)), draw.choice((1, 2)), inner)

    most = chosen.most[threads]
    return Program(
        tuple(
            tuple(statement(0) for _ in range(draw.randint((most + 1) // 2, most)))
            for _ in range(threads)
        ),
        chosen.allowed_misuses,
        chosen.hooks,
    )


# -- as C ----------------------------------------------------------------------------------------


def _array(type: str, name: str, value: str = "") -> str:
    values = f" = {{{', '.join([value] * EACH)}}}" if value else ""
    return f"static {type} {name}[{EACH}]{values};"


_HEADERS = (
    "linux/futex poll pthread sched semaphore signal stdatomic stdio stdlib sys/syscall time unistd"
)

_HEAD = "\n".join(
    (
        *(f"#include <{name}.h>" for name in _HEADERS.split()),
        """#ifdef DELAYS
static unsigned seed;
static _Thread_local unsigned draw;
static void step(void) {
    atomic_thread_fence(memory_order_seq_cst);
    draw = draw * 1103515245u + 12345u;
    unsigned which = draw >> 16 & 7;
    /* The function of the C library would be a point where threads can be cancelled. */
    struct timespec pause = {0, (draw >> 20 & 127) * 1000};
    if (which < 3) syscall(SYS_nanosleep, &pause, 0);
    else if (which < 5) sched_yield();
}
#define BEGIN draw = seed * 2654435761u + self * 40503u; step();
#else
#define step()
#define BEGIN
#endif
#define KEEP(value) r[self][n[self]++] = (value);
#define LOCK(mutex) pthread_mutex_lock(mutex)
#define UNLOCK(mutex) pthread_mutex_unlock(mutex)
#define UNDER(mutexes, n, ...) \\
    LOCK(&mutexes[n]); step(); __VA_ARGS__ step(); UNLOCK(&mutexes[n]);""",
        f"static volatile int v[{EACH}] __attribute__((aligned(8)));",
        _array("atomic_int", "a"),
        _array("pthread_mutex_t", "m", "PTHREAD_MUTEX_INITIALIZER"),
        _array("pthread_mutex_t", "cm", "PTHREAD_MUTEX_INITIALIZER"),
        _array("pthread_mutex_t", "g", "PTHREAD_MUTEX_INITIALIZER"),
        _array("pthread_mutex_t", "rm", "PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP"),
        _array("pthread_rwlock_t", "w", "PTHREAD_RWLOCK_INITIALIZER"),
        _array("pthread_cond_t", "c", "PTHREAD_COND_INITIALIZER"),
        _array("pthread_once_t", "o", "PTHREAD_ONCE_INIT"),
        *(_array(f"{type}", name) for type, name in (("int", "said"), ("sem_t", "s"))),
        *(
            _array(f"pthread_{type}_t", name)
            for type, name in (("barrier", "b"), ("spinlock", "p"), ("key", "k"))
        ),
        f"static int r[8][{REGISTERS}], n[8];",
        """static struct timespec soon(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 100000;
    if (t.tv_nsec >= 1000000000) { t.tv_sec++; t.tv_nsec -= 1000000000; }
    return t;
}
static inline long futex(void *word, int operation, int value, void *time) {
    return syscall(SYS_futex, word, operation, value, time, 0, 0);
}
static sigset_t signals;
static int pipes[2][2];
static inline int timedlock(pthread_mutex_t *mutex) {
    struct timespec t = soon();
    return pthread_mutex_timedlock(mutex, &t);
}""",
        *(
            f"static void init_{i}(void)"
            f" {{ step(); int old = v[{i}]; step(); v[{i}] = old + 1; }}\n"
            f"static void end_{i}(void *more)"
            f" {{ step(); int old = v[{i}]; step(); v[{i}] = old + (int)(long)more; step(); }}"
            for i in range(EACH)
        ),
        "",
    )
)


_MAIN = """int main(int argc, char **argv) {
#ifdef DELAYS
if (argc == 3) {
    seed = (unsigned)atoi(argv[1]);
    ualarm((unsigned)atoi(argv[2]) * 1000, 0);
}
#endif"""


class _Writer:
    """Writes the threads of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def function(self, thread: int) -> str:
        self._started = iter(self._program.started_by(thread))
        statements = self._program.all_threads[thread]
        children = self._program.started_by(thread)
        lines = [f"static void *thread_{thread}(void *unused) {{ enum {{ self = {thread} }}; BEGIN"]
        lines += [f"pthread_t t{child}; int has{child} = 0;" for child in children]
        lines += [line for statement in statements for line in self._code(statement)]
        lines += [f"if (has{child}) pthread_join(t{child}, 0);" for child in children]
        return "\n".join([*lines, "return unused; }"])

    def _code(self, statement: Statement) -> list[str]:
        if statement.kind in STARTING:
            child = next(self._started)
            create = f"pthread_create(&t{child}, 0, thread_{child}, 0); step();"
            if statement.kind == "spawn":
                return [f"has{child} = 1; {create}"]
            cancel = f"pthread_cancel(t{child}); step();"
            end = f"{{ void *end; pthread_join(t{child}, &end); KEEP(end == PTHREAD_CANCELED) }}"
            return [f"{create} {cancel} {end} step();"]
        if statement.kind in BLOCKS:
            opens, closes = (_filled(text, statement) for text in BLOCKS[statement.kind])
            body = [line for inner in statement.inner for line in self._code(inner)]
            return [opens, "step();", *body, closes, "step();"]
        return [_filled(LEAVES[statement.kind], statement), "step();"]


def _filled(text: str, statement: Statement) -> str:
    return text.replace("$n", str(statement.number)).replace("$c", str(statement.constant))


def written(program: Program) -> str:
    """The source of a program; it prints its outcome."""
    writer = _Writer(program)
    every = len(program.all_threads)
    count = len(program.threads)
    lines = [_HEAD, *(writer.function(thread) for thread in reversed(range(every)))]
    lines.append(_MAIN)
    lines.append(f"(void)argc; (void)argv; pthread_t t[{count}];")
    lines.append("sigemptyset(&signals); sigaddset(&signals, SIGUSR1);")
    lines.append("pthread_sigmask(SIG_BLOCK, &signals, 0);")
    for i in range(EACH):
        lines.append(f"if (pipe(pipes[{i}])) return 9;")
        lines.append(f"sem_init(&s[{i}], 0, 0); pthread_barrier_init(&b[{i}], 0, 2);")
        lines.append(f"pthread_spin_init(&p[{i}], 0); pthread_key_create(&k[{i}], end_{i});")
        lines.append(f"(void)init_{i};")
    lines += [f"pthread_create(&t[{i}], 0, thread_{i}, 0);" for i in range(count)]
    lines += [f"pthread_join(t[{i}], 0);" for i in range(count)]
    lines.append(
        f"for (int i = 0; i < {every}; i++) {{ for (int j = 0; j < n[i]; j++)"
        ' printf("%d,", r[i][j]); printf(";"); }'
    )
    for name in ("v", "a"):
        lines.append(f'for (int i = 0; i < {EACH}; i++) printf("%d,", {name}[i]);')
    return "\n".join([*lines, "return 0; }", ""])


def compiled(cc: str, program: Program, target: Path, *flags: str) -> Path:
    """The program, compiled with flags such as ``-fsanitize=thread`` or ``-DDELAYS``."""
    source = target.with_suffix(".c")
    source.write_text(written(program))
    words = [cc, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-pthread", *flags]
    subprocess.run([*words, "-o", str(target), str(source)], check=True)
    return target


_SHORT, _LONG = 200, 900
"""Milliseconds that a program may take, which takes less than one but for what holds it up."""


def native_outcomes(program: Path, seeds: range) -> set[str]:
    """What a program with delays gives, run once for each seed."""
    found: set[str] = set()

    def outcome(seed: int, milliseconds: int) -> str:
        words = [str(program), str(seed), str(milliseconds)]
        done = subprocess.run(words, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else DEADLOCK

    for seed in seeds:
        came = outcome(seed, _SHORT)
        if came == DEADLOCK and DEADLOCK not in found:
            # The machine may have been busy.
            came = outcome(seed, _LONG)
        found.add(came)
    return found
