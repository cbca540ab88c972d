"""Figures of the POSIX runtime: ``python benchmarks/native/run.py``.

Everything is measured in one run and as the median of several; compare the figures with each
other, not with those of another machine.
"""

from __future__ import annotations

import itertools
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.platforms.posix.outcomes import Expectation, NativeExplainer
from bohrbug.runtime.posix.build import compiler
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.runtime import NativeRuntime, NativeSettings

HERE = Path(__file__).parent
PROGRAMS = HERE.parent.parent / "tests" / "native" / "programs"

_NO_PREEMPTION = Plan()


def built(folder: Path, source: Path, *flags: str) -> Path:
    target = folder / source.stem
    cc = compiler()
    assert cc is not None
    words = [cc, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-pthread", *flags]
    subprocess.run([*words, "-o", str(target), str(source)], check=True)
    return target


def runtime(words: list[str], **settings: object) -> NativeRuntime:
    return NativeRuntime(words, NativeSettings(**settings), NativeExplainer(Expectation()))  # type: ignore[arg-type]


def printed(words: list[str], plan: Plan = _NO_PREEMPTION, *, fibers: bool) -> list[str]:
    """What the first execution prints, whose trace takes new memory, and what a later one does."""
    settings = {"max_steps": 1_000_000, "after_release": False, "engine": "anew"}
    with runtime(words, fibers=fibers, **settings) as program:
        lines = []
        for number in range(6):
            program.execute(plan if number else _NO_PREEMPTION)
            lines.append(program.printed.stdout.decode().strip())
        return [lines[0], sorted(lines[1:], key=lambda line: float(line.split()[0]))[2]]


def in_turns(rounds: int) -> Plan:
    """Of `points turns`: each operation of the main task is followed by one of the other."""
    return Plan(("0", *("0.1", "0") * (2 * rounds)))


def executions_per_second(
    words: list[str], engine: str, *, fibers: bool, times: int = 200
) -> float:
    with runtime(words, engine=engine, fibers=fibers) as program:
        for _ in range(3):
            program.execute(Plan())
        assert program.engine.value == engine, program.engine_note
        rates = []
        for part in range(5):
            began = time.perf_counter()
            for seed in range(times // 5):
                program.execute(Plan((), UniformRandom(part * times + seed)))
            rates.append(times / 5 / (time.perf_counter() - began))
        return statistics.median(rates)


def explored_per_second(program: str, strategy: str, engine: str, executions: int = 2000) -> float:
    """Of a whole ``bohrbug run``, by what it says itself."""
    words = ["--strategy", strategy, "--executions", str(executions), "--engine", engine]
    rates = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-m", "bohrbug", "run", *words, "--", program],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(program).parent,
        )
        found = re.search(r"\(([\d,]+) per\s+second\)", done.stdout)
        assert found is not None, done.stdout
        rates.append(float(found[1].replace(",", "")))
    return statistics.median(rates)


def print_large(folder: Path) -> None:
    """What 167,924 operations of 25 threads cost in one execution, and how much memory."""
    program = str(built(folder, HERE / "large.c"))
    for work in ("0", "2000"):
        command = [program, work]
        natively = statistics.median(seconds_of(command) for _ in range(7))
        what = "25 threads, 167,924 operations" + (", working" if work != "0" else "")
        print(f"{what}, natively: {1000 * natively:.1f} ms")
        for engine, fibers in ((Engine.ANEW, False), (Engine.ANEW, True), (Engine.SNAPSHOT, True)):
            taken = statistics.median(seconds_controlled(command, engine, fibers=fibers))
            threads = "fibers" if fibers else "kernel threads"
            ratio = taken / natively
            print(f"{what}, {engine.value}, {threads}: {1000 * taken:.1f} ms, {ratio:.1f} times")
        command.append("memory")
        natively = max(
            int(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(7)
        )
        with runtime(command, engine="anew", max_steps=1_000_000) as controlled:
            controlled.execute(_NO_PREEMPTION)
            controlled.execute(_NO_PREEMPTION)
            under_control = int(controlled.printed.stdout)
        ratio = under_control / natively
        print(f"{what}, memory: {natively:,} kB natively, {under_control:,} kB, {ratio:.1f} times")


def seconds_of(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def seconds_controlled(command: list[str], engine: Engine, *, fibers: bool) -> list[float]:
    """Of later executions with random plans, from order to outcome."""
    taken = []
    with runtime(command, engine=engine.value, fibers=fibers, max_steps=1_000_000) as program:
        for seed in range(8):
            began = time.perf_counter()
            program.execute(Plan((), UniformRandom(seed)))
            taken.append(time.perf_counter() - began)
        assert program.engine is engine, program.engine_note
    return taken[3:]


def natively_per_second(words: list[str], times: int = 100) -> float:
    rates = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times // 5):
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        rates.append(times / 5 / (time.perf_counter() - began))
    return statistics.median(rates)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        points = built(folder, HERE / "points.c")
        for mode, rounds, words in (
            ("same", 400_000, "same thread goes on"),
            ("among", 400_000, "one of three goes on"),
            ("hand", 20_000, "other thread goes on"),
            ("turns", 20_000, "other thread goes on after each operation"),
        ):
            command = [str(points), mode, str(rounds)]
            native = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            print(f"{words}, natively:        {native.strip()}")
            plan = in_turns(rounds) if mode == "turns" else _NO_PREEMPTION
            for fibers in (False, True):
                engine = "fibers" if fibers else "kernel threads"
                first, later = printed(command, plan, fibers=fibers)
                if not fibers and mode != "turns":
                    print(f"{words}, first execution: {first}")
                print(f"{words}, later execution, {engine}: {later}")
        print_large(folder)
        program = [str(built(folder, PROGRAMS / "lock_order.c", "-DFIXED"))]
        print(f"executions per second, natively:      {natively_per_second(program):,.0f}")
        for engine, fibers in itertools.product(Engine, (False, True)):
            threads = "fibers" if fibers else "kernel threads"
            rate = executions_per_second(program, engine.value, fibers=fibers)
            print(f"executions per second, {engine.value}, {threads}: {rate:,.0f}")
        for strategy in ("random", "dfs"):
            for engine in (Engine.FORK_SERVER, Engine.SNAPSHOT):
                rate = explored_per_second(program[0], strategy, engine.value)
                words = f"bohrbug run --strategy {strategy} --engine {engine.value}"
                print(f"executions per second of {words}: {rate:,.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
