"""Programs that some interleaving breaks; the docstring of each says what breaks.

Each is called without arguments, once for each execution, and uses nothing but the standard
library. Each has been seen broken, or called correct, by some tool that explores interleavings.
"""

from __future__ import annotations

from . import (
    attributes,
    calls,
    classes,
    code_in_c,
    containers,
    coroutines,
    deadlocks,
    effects,
    given,
    inheriting,
    insides,
    intervals,
    iterators,
    library,
    library_state,
    lives,
    looks,
    memory,
    names,
    open_files,
    parts,
    primitives,
    services,
    shared,
    signals,
    state,
    system,
    threads,
    values,
)

MODULES = (
    *(attributes, calls, classes, code_in_c, containers, coroutines, deadlocks, effects),
    *(given, inheriting, insides, intervals, iterators, library, library_state, lives, looks),
    *(memory, names, open_files, parts, primitives, services, shared, signals, state, system),
    *(threads, values),
)
