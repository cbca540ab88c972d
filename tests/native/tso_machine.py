"""The abstract machine of x86-TSO: all that a litmus test can come to.

Owens, Sarkar and Sewell, *A better x86 memory model: x86-TSO* (TPHOLs 2009): each processor has a
FIFO buffer of stores, from which it reads first; the oldest store of any buffer may reach memory at
any time; a fence, and a locked instruction, needs an empty buffer.  It knows nothing of how Bohrbug
does that.
"""

from __future__ import annotations

from collections.abc import Iterator

VARIABLES = "xyz"

_Buffer = tuple[tuple[str, int], ...]
_State = tuple[tuple[int, ...], tuple[_Buffer, ...], tuple[int, ...], tuple[tuple[int, ...], ...]]


def outcomes(threads: tuple[str, ...]) -> set[str]:
    """What ``programs/litmus.c`` may print for these arguments."""
    programs = [thread.split() for thread in threads]
    count = len(programs)
    start: _State = ((0,) * count, ((),) * count, (0,) * len(VARIABLES), ((),) * count)
    todo, known, found = [start], {start}, set()
    while todo:
        state = todo.pop()
        following = list(_steps(programs, state))
        if not following:
            found.add(_printed(state))
        for each in following:
            if each not in known:
                known.add(each)
                todo.append(each)
    return found


def _steps(programs: list[list[str]], state: _State) -> Iterator[_State]:
    counters, buffers, memory, seen = state
    for thread, program in enumerate(programs):
        buffer = buffers[thread]
        if buffer:
            (name, value), rest = buffer[0], buffer[1:]
            yield counters, _with(buffers, thread, rest), _stored(memory, name, value), seen
        if counters[thread] == len(program):
            continue
        word = program[counters[thread]]
        after = _with(counters, thread, counters[thread] + 1)
        if word == "mfence":
            if not buffer:
                yield after, buffers, memory, seen
        elif word.startswith("xchg:"):
            if not buffer:
                name, value = word[5], int(word[7])
                old = (*seen[thread], memory[VARIABLES.index(name)])
                yield after, buffers, _stored(memory, name, value), _with(seen, thread, old)
        elif "=" in word:
            more = (*buffer, (word[0], int(word[2])))
            yield after, _with(buffers, thread, more), memory, seen
        else:
            own = [value for name, value in buffer if name == word]
            value = own[-1] if own else memory[VARIABLES.index(word)]
            yield after, buffers, memory, _with(seen, thread, (*seen[thread], value))


def _with(values: tuple, index: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:index], value, *values[index + 1 :])


def _stored(memory: tuple[int, ...], name: str, value: int) -> tuple[int, ...]:
    return _with(memory, VARIABLES.index(name), value)


def _printed(state: _State) -> str:
    _, _, memory, seen = state
    parts = ["".join(map(str, each)) for each in (*seen, memory)]
    return " ".join(parts)
