"""Greenlets of the program: a task that gives way within one goes on there.

SQLAlchemy, for one, runs ordinary code in a greenlet, so that its task of asyncio can await on
behalf of that code.  Whoever switches to the task's usual greenlet would return to the middle of
that library, with a value that nobody has sent.
"""

from __future__ import annotations

from greenlet import greenlet

from bohrbug.runtime.threads.task import Task


def switch_from(here: greenlet, running: Task, chosen: Task) -> None:
    """Pass control from a greenlet of the program; return when the task is chosen again.

    Parameters:
        here: the greenlet, which is not the usual one of the task that runs.
        running: the task.
        chosen: who goes on.
    """
    usual = running.greenlet
    # The thread of an event loop stands where the task does whose step it runs.
    those: list[Task] = []
    task: Task | None = running
    while task is not None and task.greenlet is usual:
        those.append(task)
        task = task.host
    for each in those:
        each.greenlet = here
    try:
        assert chosen.greenlet is not None
        chosen.greenlet.switch()
    finally:
        for each in those:
            each.greenlet = usual
