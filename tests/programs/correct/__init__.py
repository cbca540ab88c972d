"""Programs that no interleaving breaks; the docstring of each says what looks suspicious.

Each is called without arguments, once for each execution. A failure, a hang or a verdict with
doubts is a false alarm; each has been one for some tool that explores interleavings.
"""

from __future__ import annotations

from . import (
    calls,
    classes,
    coroutines,
    data,
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
    loops,
    memory,
    open_files,
    parts,
    primitives,
    services,
    signals,
    state,
    system,
    threads,
    values,
)

MODULES = (
    *(
        calls,
        classes,
        coroutines,
        data,
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
        loops,
        memory,
        open_files,
        parts,
        primitives,
        services,
        signals,
        state,
        system,
        threads,
        values,
    ),
)
