"""How often one execution of PCT finds a bug, beside the bound ``1 / (n * k**(d - 1))``.

    cd benchmarks
    python -m texts.pct                                        # about ten minutes
    python -m texts.pct --json FILE                            # goes on where it was stopped
    python -m texts.pct --read FILE --plot ../docs/pictures/pct-bound.svg   # needs matplotlib

Two sets of programs, in Python and in C: *tight* ones, whose bugs can be found in one way only, so
that the bound is all there is, for several ``n`` and ``k``; and *usual* ones, after the classics of
the field.  ``k`` is the number of steps of the longest execution, ``n`` the number of tasks with
the main thread.  The executions are independent: each has a seed of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from search.programs import SUITE

from bohrbug.exploration.learning import Learner
from bohrbug.model.conditions import Conditions, Level
from bohrbug.model.plan import Plan, Priorities, UniformRandom
from bohrbug.platforms.posix.outcomes import Expectation, NativeExplainer
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.posix.build import compiler
from bohrbug.runtime.posix.runtime import NativeRuntime, NativeSettings
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings

from .counting import Share, short
from .tight import tight

HERE = Path(__file__).parent
PROGRAMS = HERE.parents[1] / "tests" / "native" / "programs"

DEPTHS = (1, 2, 3)

TIGHT = (
    *((tasks, 1, 5) for tasks in (3, 4, 6, 10, 16)),
    *((tasks, 2, filling) for tasks in (3, 6) for filling in (0, 5, 15, 30)),
    *((3, 3, filling) for filling in (0, 2, 5, 10)),
)
"""Tasks, depth, and how much there is to do beside the bug."""

USUAL = {
    "Python": (
        "lost_update_2",
        "lost_update_4",
        "account_checked_too_early",
        "reorder_3",
        "reorder_5",
        "twostage_2",
        "lazy01",
        "lock_order_2",
        "lock_order_3",
        "philosophers_4",
        "wait_without_loop",
        "bounded_buffer_2",
        "work_stealing_queue_3",
        "bluetooth_1",
        "lost_notify",
        "string_buffer",
    ),
    "C": (
        "plain_lost_update.c",
        "check_then_act.c",
        "double_checked.c",
        "reorder.c",
        "twostage.c",
        "lock_order.c",
        "philosophers.c",
        "if_for_while.c",
        "lost_signal.c",
        "aba_stack.c",
    ),
}

WANTED = 400
"""Finds that are expected at the bound, so that the share is known to a tenth."""

MOST = {"Python": 200_000, "C": 25_000}
USUAL_EXECUTIONS = {"Python": 4_000, "C": 2_000}

MAX_STEPS = 5_000


@dataclass(frozen=True, slots=True)
class Subject:
    """A program with a bug.

    Parameters:
        name: of it.
        language: it is written in.
        started: makes its runtime.
        depth: of its bug, if that is known; else each depth is tried.
    """

    name: str
    language: str
    started: Callable[[], AbstractContextManager[Any]]
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured with one program and depth.

    Parameters:
        program, language: of the subject.
        is_tight: whether the bound is all there is.
        depth: ``d``.
        tasks: ``n``.
        steps: ``k``.
        executions, found: all, and those that failed.
    """

    program: str
    language: str
    is_tight: bool
    depth: int
    tasks: int
    steps: int
    executions: int
    found: int

    @property
    def bound(self) -> float:
        """What PCT promises."""
        return 1.0 / (self.tasks * self.steps ** (self.depth - 1))

    @property
    def share(self) -> Share:
        """What was found."""
        return Share(self.found, self.executions)

    @property
    def reaches_bound(self) -> bool:
        """Whether the bug may be of this depth: a deeper one can be found, but more rarely."""
        return self.found > 0 and self.share.interval()[1] >= self.bound


# -- programs ------------------------------------------------------------------------------


def compiled(folder: Path, source: Path) -> Path:
    """A native program whose accesses to memory are seen."""
    target = folder / source.stem
    cc = compiler()
    assert cc is not None
    words = [cc, "-std=gnu11", "-D_GNU_SOURCE", "-DN=2", "-g", "-O1", "-pthread"]
    subprocess.run([*words, "-fsanitize=thread", "-o", str(target), str(source)], check=True)
    return target


def in_python(function: Callable[[], object]) -> AbstractContextManager[Any]:
    """The runtime of a Python function."""
    return threads_runtime(function, Settings(), Level.RACY, Scope())


def in_c(program: Path, *arguments: object) -> AbstractContextManager[Any]:
    """The runtime of a native program, which should exit with 0."""
    words = [str(program), *map(str, arguments)]
    settings = NativeSettings(max_steps=MAX_STEPS)
    return NativeRuntime(words, settings, NativeExplainer(Expectation(0)))


def subjects(folder: Path, languages: Sequence[str], tight_only: bool) -> Iterator[Subject]:
    """All programs; those in C are compiled into a folder."""
    native_tight = compiled(folder, HERE / "tight.c") if "C" in languages else None
    for tasks, depth, filling in TIGHT:
        name = f"tight, n={tasks}, filling={filling}"
        if "Python" in languages:
            test = partial(tight, tasks, depth, filling)
            yield Subject(name, "Python", partial(in_python, test), depth)
        if native_tight is not None:
            started = partial(in_c, native_tight, tasks, depth, filling)
            yield Subject(name, "C", started, depth)
    if tight_only:
        return
    if "Python" in languages:
        for name in USUAL["Python"]:
            yield Subject(name, "Python", partial(in_python, SUITE[name].broken))
    if "C" in languages:
        for name in USUAL["C"]:
            yield Subject(name, "C", partial(in_c, compiled(folder, PROGRAMS / name)))


# -- measuring -----------------------------------------------------------------------------


def learned(runtime: Any) -> tuple[Conditions, int, int]:
    """Under what to execute, and the numbers of tasks and steps, from random executions."""
    learner = Learner(runtime, Conditions(max_steps=MAX_STEPS))
    tasks = steps = 0
    for seed in range(60):
        policy = UniformRandom(seed) if seed % 2 else Priorities(seed, 3, max(steps, 1))
        trace = learner.execute(Plan((), policy)).trace
        tasks, steps = max(tasks, trace.task_count), max(steps, len(trace))
    return learner.conditions, tasks, steps


def measure(subject: Subject, depth: int, executions: int | None) -> Measured:
    """Execute under independent plans of PCT for a depth.

    Parameters:
        subject: the program.
        depth: ``d``.
        executions: how many; ``None``: so many that there should be :data:`WANTED` finds.
    """
    with subject.started() as runtime:
        conditions, tasks, steps = learned(runtime)
        if executions is None:
            needed = WANTED * tasks * steps ** (depth - 1)
            executions = min(needed, MOST[subject.language])
        # A longer execution than all before makes ``k`` larger, and the count begins again.
        while True:
            draw = Random(f"{subject.name} {depth} {steps}")
            seeds = (draw.getrandbits(32) for _ in range(executions))
            plans = [Plan((), Priorities(seed, depth, steps)).under(conditions) for seed in seeds]
            found, longest = _count(runtime, plans, steps)
            if longest <= steps:
                break
            steps = longest
    is_tight = subject.depth is not None
    name = subject.name
    return Measured(name, subject.language, is_tight, depth, tasks, steps, executions, found)


def _count(runtime: Any, plans: Sequence[Plan], steps: int) -> tuple[int, int]:
    """How many fail, and the steps of the longest one; stops at one longer than ``steps``."""
    at = 0
    if hasattr(runtime, "foresee"):
        runtime.foresee(lambda most: plans[at : at + most])
    found = longest = 0
    try:
        for at, plan in enumerate(plans):  # noqa: B007
            trace = runtime.execute(plan, learn=False).trace
            found += trace.outcome.is_failure
            longest = max(longest, len(trace))
            if longest > steps:
                break
    finally:
        if hasattr(runtime, "foresee"):
            runtime.foresee(None)
    return found, longest


# -- tables --------------------------------------------------------------------------------


def tight_table(measured: Iterable[Measured]) -> str:
    """Where the bound is all there is: a row for each program."""
    lines = [
        "| language | d | n | k | executions | found | share | bound | share / bound |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in measured:
        low, high = one.share.interval()
        ratio = f"{one.share.value / one.bound:.2f}"
        ratio += f" ({low / one.bound:.2f} to {high / one.bound:.2f})"
        lines.append(
            f"| {one.language} | {one.depth} | {one.tasks} | {one.steps} | {one.executions:,}"
            f" | {one.found:,} | {short(one.share.value)} | {short(one.bound)} | {ratio} |"
        )
    return "\n".join(lines)


def pooled(measured: Iterable[Measured]) -> str:
    """All tight programs of a language and depth together: found, over what the bound promises."""
    lines = []
    sums: dict[tuple[str, int], list[float]] = {}
    for one in measured:
        total = sums.setdefault((one.language, one.depth), [0.0, 0.0])
        total[0] += one.found
        total[1] += one.executions * one.bound
    for (language, depth), (found, promised) in sorted(sums.items()):
        spread = 1.96 * found**0.5 / promised
        counts = f"{found:,.0f} found, {promised:,.0f} promised"
        ratio = f"{found / promised:.2f} +- {spread:.2f}"
        lines.append(f"{language}, depth {depth}: {counts}: {ratio}")
    return "\n".join(lines)


def usual_table(measured: Iterable[Measured]) -> str:
    """Usual programs: a row for each, with the share for each depth."""
    by_program: dict[tuple[str, str], list[Measured]] = {}
    for one in measured:
        by_program.setdefault((one.language, one.program), []).append(one)
    lines = [
        "| language | program | n | k | share, d=1 | d=2 | d=3 | depth | bound | share / bound |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (language, program), group in by_program.items():
        shares = " | ".join(short(one.share.value) for one in group)
        least = next((one for one in group if one.reaches_bound), None)
        last = "- | - | -"
        if least is not None:
            ratio = short(least.share.value / least.bound)
            last = f"{least.depth} | {short(least.bound)} | {ratio}"
        steps = max(one.steps for one in group)
        name = program.removesuffix(".c")
        lines.append(f"| {language} | `{name}` | {group[0].tasks} | {steps} | {shares} | {last} |")
    return "\n".join(lines)


def below_bound(measured: Iterable[Measured]) -> list[Measured]:
    """Where less was found than promised, beyond what chance explains: an error in Bohrbug."""
    wrong = []
    for one in measured:
        _, high = one.share.interval()
        if one.is_tight and high < one.bound * 0.95:
            wrong.append(one)
    return wrong


def plot(measured: Sequence[Measured], path: Path) -> None:
    """Share found against the bound, as a picture."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "bohrbug"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 5))
    least = min(one.bound for one in measured) / 2
    axes.plot([least, 1], [least, 1], color="black", linewidth=1, label="the bound")
    colours = {1: "tab:green", 2: "tab:blue", 3: "tab:red"}
    for depth in DEPTHS:
        for language, marker in (("Python", "o"), ("C", "^")):
            for is_tight in (True, False):
                points = [
                    one
                    for one in _shown(measured)
                    if (one.depth, one.language, one.is_tight) == (depth, language, is_tight)
                ]
                if not points:
                    continue
                axes.plot(
                    [one.bound for one in points],
                    [one.share.value for one in points],
                    marker,
                    color=colours[depth],
                    markersize=7 if is_tight else 5,
                    fillstyle="full" if is_tight else "none",
                    label=f"depth {depth}, {language}, {'tight' if is_tight else 'usual'}",
                )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("bound: 1 / (n k^(d-1))")
    axes.set_ylabel("share of executions that found the bug")
    axes.grid(True, which="major", linewidth=0.3)
    axes.legend(fontsize=7, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _shown(measured: Iterable[Measured]) -> Iterator[Measured]:
    """Tight programs, and usual ones at the least depth whose bound they reach."""
    seen = set()
    for one in measured:
        key = one.language, one.program
        if one.is_tight:
            yield one
        elif one.reaches_bound and key not in seen:
            seen.add(key)
            yield one


# -- the command line ----------------------------------------------------------------------


def run(arguments: argparse.Namespace) -> list[Measured]:
    """Measure what the command line asks for, and what is not in its file yet."""
    measured = _read(arguments.json)
    known = {(one.program, one.language, one.depth) for one in measured}
    with tempfile.TemporaryDirectory() as folder:
        for subject in subjects(Path(folder), arguments.language, arguments.tight_only):
            depths = DEPTHS if subject.depth is None else (subject.depth,)
            for depth in depths:
                if (subject.name, subject.language, depth) in known:
                    continue
                executions = arguments.executions
                if executions is None and subject.depth is None:
                    executions = USUAL_EXECUTIONS[subject.language]
                one = measure(subject, depth, executions)
                print(one, flush=True)
                measured.append(one)
                if arguments.json is not None:
                    with arguments.json.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(one)) + "\n")
    return measured


def _read(path: Path | None) -> list[Measured]:
    if path is None or not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Measured(**json.loads(line)) for line in lines]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure or read, print the tables, and draw; 1 if less was found than promised."""
    parser = argparse.ArgumentParser(
        prog="python -m texts.pct", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--language", nargs="*", choices=("Python", "C"), default=("Python", "C"))
    parser.add_argument("--tight-only", action="store_true", help="leave out the usual programs")
    parser.add_argument("--executions", type=int, help="of each program and depth")
    parser.add_argument("--json", type=Path, help="append what was measured to this file")
    parser.add_argument("--read", type=Path, help="measure nothing; take what is in such a file")
    parser.add_argument("--plot", type=Path, help="draw into this file (SVG)")
    arguments = parser.parse_args(argv)
    measured = run(arguments) if arguments.read is None else _read(arguments.read)
    print("\n## Tight\n")
    tight_ones = [one for one in measured if one.is_tight]
    print(f"{tight_table(tight_ones)}\n\n{pooled(tight_ones)}")
    print("\n## Usual\n")
    print(usual_table(one for one in measured if not one.is_tight))
    if arguments.plot is not None:
        plot(measured, arguments.plot)
    wrong = below_bound(measured)
    for one in wrong:
        print(f"(!) less than promised: {one}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
