"""coverage.py must know that tasks are greenlets, or it takes their calls for one stack."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager

import greenlet
import pytest


def tell_coverage() -> None:
    """Let the tracers of a running coverage.py keep one stack for each greenlet.

    As ``concurrency = ["greenlet"]`` in its own settings does; by now it is running.
    """
    coverage = sys.modules.get("coverage")
    running = None if coverage is None else coverage.Coverage.current()
    collector = getattr(running, "_collector", None)
    if collector is None:
        return
    tracers = getattr(collector, "tracers", None)
    if tracers is None or not hasattr(collector, "concur_id_func"):
        warnings.warn(
            pytest.PytestWarning(
                "this coverage.py is not known to Bohrbug: set concurrency = "
                "['thread', 'greenlet'] in its settings, or lines may be missing"
            ),
            stacklevel=2,
        )
        return
    if collector.concur_id_func is not None:
        return
    collector.concur_id_func = greenlet.getcurrent
    for tracer in tracers:
        # Tracers that hear of lines from sys.monitoring have no stack.
        if hasattr(tracer, "concur_id_func"):
            tracer.concur_id_func = greenlet.getcurrent


@contextmanager
def one_tracer_for_all_tasks() -> Generator[None]:
    """Tasks start no trace function of their own, as threads do on request of coverage.py.

    They all run in one operating system thread, where it would take the place of the
    one that sees all of them.
    """
    hook = threading.gettrace()
    if hook is None or sys.gettrace() is None:
        yield
        return
    threading.settrace(None)
    try:
        yield
    finally:
        threading.settrace(hook)
