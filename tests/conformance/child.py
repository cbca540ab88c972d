"""Runs test methods of one CPython test module in this process, one after the other.

Started by :mod:`runner`, which survives it: a test that hangs ends this process
(:mod:`faulthandler` writes the stacks first), and the runner starts another one
for the rest.

    python child.py MODULE MODE [SEED...] < names

Modes: ``native`` (no patches), ``installed`` (patches in place, nobody in
control), ``restored`` (patches installed and restored before), ``controlled``
(each test in an execution of its own, once per seed). Names of tests are read
from standard input, one per line; without any, the names of all tests are written.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import io
import json
import os
import queue
import sys
import time
import types
import unittest
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

SECONDS_PER_TEST = float(os.environ.get("BOHRBUG_CONFORMANCE_SECONDS", "20"))
"""Real seconds after which a test is taken to hang; the slowest native one takes 20.

More on a machine that has much else to do.
"""

COLLECTED_EVERY = 20
"""Tests between two garbage collections, of those under control."""


@dataclass(frozen=True, slots=True)
class Report:
    """How one test went.

    Parameters:
        test: its name.
        verdict: ``passed``, ``skipped``, ``failed``, or ``hung``.
        detail: for people.
        seconds: real time taken.
        seed: of the execution, or -1.
    """

    test: str
    verdict: str
    detail: str = ""
    seconds: float = 0.0
    seed: int = -1


def load(module_name: str) -> types.ModuleType:
    """Import a test module; the tests of ``ThreadPool`` have to be assembled."""
    if module_name == "test._test_multiprocessing":
        import test._test_multiprocessing as source

        module = types.ModuleType("multiprocessing_threads")
        source.install_tests_in_module_dict(vars(module), "spawn")
        for name in list(vars(module)):
            if not name.startswith(("WithThreads", "__")):
                delattr(module, name)
        sys.modules[module.__name__] = module
        return module
    module = importlib.import_module(module_name)
    if module_name == "test.test_queue":
        # The module under test is a private copy of ``queue``: test the one that programs import.
        for name, cls in vars(module).items():
            if name.startswith("C") and getattr(cls, "queue", None) is module.c_queue:
                cls.queue = queue
        module.c_queue = queue
    return module


def flat(suite: Any) -> Iterator[Any]:
    """The single tests of a suite."""
    if isinstance(suite, unittest.TestSuite):
        for part in suite:
            yield from flat(part)
    else:
        yield suite


def name_of(case: Any) -> str:
    """Class and method; the module is known."""
    return ".".join(case.id().split(".")[-2:])


def tests_of(module: types.ModuleType) -> dict[str, Any]:
    """All tests that concern threads, by name."""
    found = {}
    for case in flat(unittest.defaultTestLoader.loadTestsFromModule(module)):
        if not type(case).__name__.startswith(("Process", "FailingInitializerResources")):
            found[name_of(case)] = case
    return found


def fresh(case: Any, module_name: str) -> Any:
    """A test again, in the state before it was run."""
    if type(case).__init__ is unittest.TestCase.__init__:
        return type(case)(case._testMethodName)
    # Whoever made it knows how: all tests are made again.
    return tests_of(load(module_name)).get(name_of(case), case)


def run_natively(case: Any) -> tuple[str, str]:
    """Run one test, with the fixtures of its class and module; verdict and detail."""
    result = unittest.TestResult()
    result.failfast = True
    unittest.TestSuite([case]).run(result)
    problems = result.failures + result.errors
    if problems:
        return "failed", problems[0][1]
    if result.unexpectedSuccesses:
        return "failed", "unexpected success"
    if result.skipped:
        return "skipped", result.skipped[0][1]
    return "passed", ""


def run_controlled(case: Any, seed: int) -> tuple[str, str]:
    """Run one test in an execution with a random schedule; verdict and detail."""
    from bohrbug.model.conditions import Conditions, Level
    from bohrbug.model.outcome import OutcomeKind
    from bohrbug.model.plan import Plan, UniformRandom
    from bohrbug.platforms.threads.platform import threads_runtime
    from bohrbug.runtime.threads.rewrite.scope import Scope
    from bohrbug.runtime.threads.settings import Settings

    verdicts: list[tuple[str, str]] = []

    def function() -> None:
        verdicts.append(run_natively(case))

    plan = Plan((), UniformRandom(seed), conditions=Conditions(late_timeouts=True))
    with threads_runtime(function, Settings(), Level.SYNC, Scope()) as runtime:
        trace = runtime.execute(plan).trace
    outcome = trace.outcome
    if outcome.kind is not OutcomeKind.PASSED:
        lines = [f"outcome: {outcome.kind.value}: {outcome.message}", outcome.traceback]
        for blocked in outcome.blocked:
            lines.append(f"{blocked.task} {blocked.operation}")
            lines.extend(f"    {frame.site}" for frame in blocked.stack[-8:])
        if verdicts:
            lines.append(f"the test itself: {verdicts[0]}")
        return "failed", "\n".join(lines)
    return verdicts[0]


def main(arguments: list[str]) -> None:
    """Run what the command line asks for; one JSON object per line of output."""
    module_name, mode, *seeds = arguments
    out = os.fdopen(os.dup(1), "w", buffering=1)
    faulthandler.enable()
    names = sys.stdin.read().split("\n")
    names = [name for name in names if name]
    if mode in ("installed", "restored"):
        from bohrbug.runtime.threads.installation import installation

        installation.install()
        if mode == "restored":
            installation.restore()
    tests = tests_of(load(module_name))
    if mode == "controlled" and names:
        # What is imported late would count as the time of the first test.
        import bohrbug.platforms.threads.platform  # noqa: F401
    if not names:
        print(json.dumps(sorted(tests)), file=out)
        return
    stacks = sys.__stderr__
    for number, name in enumerate(names, start=1):
        for seed in [int(seed) for seed in seeds] or [-1]:
            print(json.dumps({"begin": name, "seed": seed}), file=out)
            started = time.perf_counter()
            faulthandler.dump_traceback_later(SECONDS_PER_TEST, exit=True, file=stacks)
            with contextlib.redirect_stdout(io.StringIO()):
                if mode == "controlled":
                    # An execution that was ended leaves the old one half-used.
                    verdict, detail = run_controlled(fresh(tests[name], module_name), seed)
                else:
                    verdict, detail = run_natively(tests[name])
            faulthandler.cancel_dump_traceback_later()
            # Taking control looks at every object there is, but an execution leaves few.
            if mode != "controlled" or number % COLLECTED_EVERY == 0:
                gc.collect()
            seconds = round(time.perf_counter() - started, 3)
            report = Report(name, verdict, detail[-6000:], seconds, seed)
            print(json.dumps(asdict(report)), file=out)
    out.flush()
    # Threads that a test left behind must not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
