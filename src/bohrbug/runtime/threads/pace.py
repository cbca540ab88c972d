"""How long loops that wait may go on: limits in steps, looks and yields.

A task that spins never says so. After so many equal looks, or steps in a row, it is made to yield;
after so many yields by which nobody came any further, virtual time passes.
"""

from __future__ import annotations

from bohrbug.model.operation import (
    ADD_CALLBACK,
    CLEAR,
    END,
    NOTIFY,
    PUT,
    RELEASE,
    RESOLVE,
    SET,
    SET_RUNNING,
    SHUTDOWN,
    SPAWN,
    TASK_DONE,
    WRITE,
)

SPIN_READS = 25
"""Equal looks, without a change made in between, after which it is found out where a task stands.

Each second time it yields: only then it can be told whether it has come back to where it was."""

TIME_SLICE = 2_000
"""Steps that a task does in a row before it is taken to yield, as any real scheduler would."""

IDLE_YIELDS = 20
"""Yields per enabled task, without progress by anyone, after which virtual time passes.

A loop that waits for something which a sleeping task will do can't be left to
itself: in real life time passes while it spins.
"""

LONELY_STEPS = 10 * TIME_SLICE
"""Steps that a task does in a row, while all others sleep, after which virtual time passes."""

LONELY_STEPS_LATER = 200
"""The same once this has happened: how many steps apart it is looked at."""

MOST_PASSED_OVER = 3
"""Timeouts of others that fire, while nobody can run, after the moment when a task was to wake up.

A busy machine is late now and then.  But nobody sleeps again and again, for hours, while another
one that slept for a second does not get its turn."""

STEPS_OF_REAL_TIME = 100
"""Where time is the real one: after how many steps it is looked whether a sleeper is to wake up."""

SWITCH_INTERVAL = 0.005
"""Seconds after which a sleeper that is to wake up preempts others there, as natively: that of the
GIL. Sooner it wakes up only if they wait."""

STEP_SECONDS = 1e-5
"""How long a step takes in reality, when it matters whether a short sleep should be over."""

ADVANCE_PART = 10
"""The last one of so many parts of the steps that an execution may do shows whether it advances."""

EXTENSIONS = 3
"""How often time passes, rather than that a livelock is declared, while tasks sleep."""

PROGRESS = frozenset(
    {
        *(RELEASE, SET, CLEAR, NOTIFY, PUT, TASK_DONE, SHUTDOWN, WRITE, END, SPAWN),
        *(RESOLVE, SET_RUNNING, ADD_CALLBACK),
    }
)
"""Kinds of operations by which a task shows that it does not only wait."""
